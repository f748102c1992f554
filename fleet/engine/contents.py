"""Contents already held by the controller, so that each travels once a run."""

from collections.abc import Iterable
from threading import Lock

from fleet.facts.model import CommandFact, Facts, PathFact


class ContentStore:
    """Bytes by sha256, shared by all targets of a run. Safe to use from many threads."""

    def __init__(self) -> None:
        self._held: dict[str, bytes] = {}
        self._lock = Lock()

    def known(self) -> frozenset[str]:
        """Return the hashes whose bytes need not be sent."""
        with self._lock:
            return frozenset(self._held)

    def complete(self, facts: Facts) -> Facts:
        """Remember what these facts brought, and fill in what was not sent again.

        The result stands by itself: it can be saved and judged on another machine.
        """
        with self._lock:
            self._held.update(facts.contents)
            wanted = {fact.sha256 for fact in _paths(facts) if fact.sha256}
            lacking = {s: self._held[s] for s in wanted - facts.contents.keys() if s in self._held}
        if not lacking:
            return facts
        return facts.model_copy(update={"contents": {**facts.contents, **lacking}})


def _paths(facts: Facts) -> Iterable[PathFact]:
    yield from facts.paths.values()
    for launch in facts.launches.values():
        for command in launch.commands.values():
            yield from _of_command(command)


def _of_command(command: CommandFact) -> Iterable[PathFact]:
    yield from (fact for fact in (command.file, command.manifest) if fact)
    yield from command.beside.values()
    for other in command.others or ():
        yield from _of_command(other)
