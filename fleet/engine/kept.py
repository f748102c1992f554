"""What a run leaves behind for the history: its facts, and which artifacts lay where."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from fleet.engine.context import Context
from fleet.engine.facts import Looked
from fleet.errors import FleetError
from fleet.facts.model import Facts, git_blob
from fleet.facts.paths import PathFact
from fleet.history.model import Piece
from fleet.history.split import Laid, split
from fleet.systems.model import Artifact, Package
from fleet.systems.resolve import Resolved, resolve
from fleet.verifier.run import Run
from fleet.verifier.toolkit import Toolkit

LONGEST_VERSION = 60

#: The facts of one target, laid out to be kept, and the artifacts that lay there.
Seen: TypeAlias = tuple[Laid, tuple[Piece, ...]]


class Keeper:
    """Lays out for the history what was seen of each target, as soon as it is judged.

    Then its facts need not be held until the last target is judged.

    Attributes:
        laid: the facts, by target.
        pieces: the artifacts that lay there, by target.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self.laid: dict[str, Laid] = {}
        self.pieces: dict[str, tuple[Piece, ...]] = {}

    def lay(self, looked: Looked) -> Seen | None:
        """Lay out what one look brought; None where it brought no facts."""
        if looked.facts is None:
            return None
        toolkit = self._context.toolkit(looked.target)
        return split(looked.facts), _pieces(looked.resolved, looked.facts, toolkit)

    def put(self, target: str, seen: Seen | None) -> None:
        """Hold what was laid out of a target."""
        if seen is not None:
            self.laid[target], self.pieces[target] = seen


def pieces(run: Run, context: Context) -> Mapping[str, tuple[Piece, ...]]:
    """Return the artifacts that lay on each target that answered, by its name."""
    found = {}
    for result in run.results:
        if result.facts is None:
            continue
        try:
            resolved = resolve(context.systems(result.target), result.target)
        except FleetError:
            continue  # the audit told it
        toolkit = context.toolkit(result.target)
        found[result.target.name] = _pieces(resolved, result.facts, toolkit)
    return found


def _pieces(
    resolved: Sequence[Resolved], facts: Facts, toolkit: Toolkit | None
) -> tuple[Piece, ...]:
    return tuple(
        piece
        for r in resolved
        for name, artifact in r.artifacts.items()
        for piece in _piece(f"{r.system.system}.{name}", artifact, facts, toolkit)
    )


def _piece(name: str, artifact: Artifact, facts: Facts, toolkit: Toolkit | None) -> Iterator[Piece]:
    fact = facts.paths.get(artifact.path) if artifact.path else None
    version = _version(artifact, facts) if isinstance(artifact, Package) else ""
    if fact is None:
        if version:
            yield Piece(name, "present", version=version)
        return
    commit, date = _commit(fact, facts, toolkit)
    yield Piece(
        name=name,
        state=fact.state.value,
        where=fact.final or "",
        content=fact.sha256 or "",
        commit=commit,
        date=date,
        version=version,
    )


def _commit(fact: PathFact, facts: Facts, toolkit: Toolkit | None) -> tuple[str, str]:
    content = facts.content(fact)
    if toolkit is None or content is None:
        return "", ""
    named = toolkit.name(git_blob(content))
    return (named[1].id, named[1].date) if named else ("", "")


def _version(package: Package, facts: Facts) -> str:
    """Return the version of a package: as its program says, or its manifest."""
    command = package.command or package.package
    for launch in facts.launches.values():
        seen = launch.commands.get(command)
        if seen is None:
            continue
        if seen.version:
            return seen.version[:LONGEST_VERSION]
        told = _manifest(facts.content(seen.manifest))
        if told:
            return told
    return ""


def _manifest(content: bytes | None) -> str:
    try:
        told = json.loads(content or b"{}")
    except (ValueError, RecursionError):
        return ""
    version = told.get("version") if isinstance(told, dict) else None
    return version[:LONGEST_VERSION] if isinstance(version, str) else ""
