"""Contents already held by the controller, so that each travels once a run."""

from collections import Counter
from collections.abc import Iterable
from threading import Lock

from fleet.facts.model import Facts
from fleet.facts.paths import PathFact
from fleet.facts.running import CommandFact

#: What a request names at most, so that it does not grow with the fleet.
MOST_KNOWN = 256


class ContentStore:
    """Bytes by sha256, shared by all targets of a run. Safe to use from many threads.

    Two targets that have the same bytes share one copy of them here.
    """

    def __init__(self) -> None:
        self._held: dict[str, bytes] = {}
        self._seen: Counter[str] = Counter()
        self._offered: set[str] = set()
        self._of: dict[str, frozenset[str]] = {}
        self._lock = Lock()

    def known(self, target: str = "") -> frozenset[str]:
        """Return the hashes whose bytes a target need not send.

        They are those that it had itself when it was last asked, and a bounded number of others;
        what one single target has is of little use there, and gives way to what several have.
        """
        with self._lock:
            own = self._of.get(target, frozenset())
            return own | self._offered

    def settle(self) -> None:
        """Let go of what nobody has any more; called while nobody is being asked."""
        with self._lock:
            for name in [name for name in self._held if not self._seen[name]]:
                del self._seen[name], self._held[name]
                self._offered.discard(name)

    def complete(self, facts: Facts) -> Facts:
        """Remember what these facts brought, and fill in what was not sent again.

        The result stands by itself: it can be saved and judged on another machine.
        """
        wanted = {fact.sha256 for fact in _paths(facts) if fact.sha256} | facts.contents.keys()
        with self._lock:
            for name, content in facts.contents.items():
                self._held.setdefault(name, content)
            had = frozenset(name for name in wanted if name in self._held)
            before = self._of.get(facts.target, frozenset())
            self._of[facts.target] = had
            for name in had - before:
                self._seen[name] += 1
                self._offer(name)
            for name in before - had:
                self._seen[name] -= 1
            contents = {name: self._held[name] for name in sorted(had)}
        return facts.model_copy(update={"contents": contents}) if contents else facts

    def _offer(self, name: str) -> None:
        if name in self._offered:
            return
        if len(self._offered) >= MOST_KNOWN:
            single = next((n for n in self._offered if self._seen[n] == 1), None)
            if single is None or self._seen[name] == 1:
                return
            self._offered.discard(single)
        self._offered.add(name)


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
