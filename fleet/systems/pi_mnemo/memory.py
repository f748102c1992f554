"""The notes that pi-mnemo keeps: whether its indexes name them, and whether they keep quiet.

The limits of an index, and what its lines look like, come from pi-mnemo's own prompts (0.1.0).
"""

import posixpath
from collections.abc import Iterable, Iterator, Sequence

from fleet.dataclass import dataclass
from fleet.facts.notes import NoteFact
from fleet.facts.paths import PathFact, State
from fleet.systems.pi_mnemo.ground import elsewhere
from fleet.verifier.look import Look
from fleet.verifier.model import (
    Judgement,
    failed,
    follows_from,
    not_applicable,
    not_checked,
    passed,
)
from fleet.verifier.paths import missing, way

INDEX = "MEMORY.md"
MOST_LINES = 200
MOST_BYTES = 25 * 1024
ROOT = "PI_MNEMO_ROOT"
#: Patterns that are no business of anybody's memory, by their name, as a reader is told of them.
SECRETS = {
    "private": "text marked <private>",
    "private-key": "a private key",
    "token": "a token",
    "bearer": "a bearer token",
    "assigned": "a password or key",
    "url-login": "a login in a URL",
}
_DEPRECATED = "deprecated"
_LOG = "dream_log.md"
_PROJECTS = "projects"


@dataclass(frozen=True, slots=True)
class Scope:
    """An index and the notes beside it.

    Attributes:
        folder: from the root of the memory; empty for what holds for all projects.
        index: None where there is none.
        topics: every other note, but the log of dreams.
    """

    folder: str
    index: NoteFact | None
    topics: tuple[NoteFact, ...]

    @property
    def name(self) -> str:
        """Return the path of the index."""
        return posixpath.join(self.folder, INDEX)


def looked_at(look: Look) -> Judgement | tuple[PathFact, tuple[NoteFact, ...]]:
    """Return the folder of the memory and its notes, or why there is nothing to judge."""
    fact = look.artifact("memory")
    if fact is None:
        return follows_from("mnemo.settings")
    if fact.state is State.ABSENT and not fact.blocked:
        return not_applicable("there is no memory yet; pi-mnemo makes its folder")
    nowhere = missing(fact)
    if nowhere:
        return nowhere
    if fact.kind != "directory":
        return failed(f"is a {fact.kind}, not a folder", way(fact))
    if fact.notes is None:
        return not_checked(fact.why or "its notes were not looked at", way(fact))
    return fact, fact.notes


def unseen(look: Look, fact: PathFact, notes: Iterable[NoteFact]) -> list[str]:
    """Return lines about what was not read, and about memories that nobody looked at."""
    lines = [f"{note.name}: {note.why}" for note in notes if note.why]
    cut = [f"{fact.path}: {fact.why}"] if fact.why else []
    return [*cut, *lines, *elsewhere(look, fact, ROOT, "mnemo_root")]


def scopes(notes: Sequence[NoteFact]) -> list[Scope]:
    """Sort notes into the scopes that pi-mnemo knows; what lies elsewhere it does not read."""
    folders: dict[str, list[NoteFact]] = {}
    for note in notes:
        folder = posixpath.dirname(note.name)
        if not folder or posixpath.dirname(folder) == _PROJECTS:
            folders.setdefault(folder, []).append(note)
    return [Scope(folder, *_parted(folder, held)) for folder, held in sorted(folders.items())]


def _parted(folder: str, held: Sequence[NoteFact]) -> tuple[NoteFact | None, tuple[NoteFact, ...]]:
    own = posixpath.join(folder, INDEX)
    log = _LOG if not folder else None
    topics = tuple(note for note in held if note.name not in (own, log))
    return next((note for note in held if note.name == own), None), topics


def private(look: Look) -> Judgement:
    """No note holds a secret, or what was marked as private."""
    found = looked_at(look)
    if isinstance(found, Judgement):
        return found
    fact, notes = found
    told = [(note, [SECRETS[m] for m in note.matches if m in SECRETS]) for note in notes]
    wrong = [f"{note.name}: {', '.join(what)}" for note, what in told if what]
    unread = unseen(look, fact, notes)
    if wrong:
        count = "one note holds" if len(wrong) == 1 else f"{len(wrong)} notes hold"
        return failed(f"{count} what must not stand there", *wrong, *unread)
    if unread:
        return not_checked(f"not everything could be seen: {unread[0]}", *unread)
    return passed(f"{_notes(len(notes))}, none with a secret", way(fact))


def index(look: Look) -> Judgement:
    """Each index is within its limits, and names each of its notes and no other."""
    found = looked_at(look)
    if isinstance(found, Judgement):
        return found
    fact, notes = found
    known = scopes(notes)
    named = {target for scope in known for target in _targets(scope)}
    there = {note.name for note in notes}
    lines: list[str] = []
    for scope in known:
        lines += _limits(scope)
        # Of notes that were not all looked at nobody knows which are not there.
        lines += [] if fact.why else _dangling(scope, there)
        lines += _orphans(scope, named)
    unread = unseen(look, fact, notes)
    if lines:
        return failed("indexes and notes do not agree", *lines, *unread)
    if unread:
        return not_checked(f"not everything could be seen: {unread[0]}", *unread)
    if not known:
        return not_applicable("there are no notes yet")
    topics = sum(len(scope.topics) for scope in known)
    return passed(f"every index names its notes: {_notes(topics)} in all", way(fact))


def _notes(count: int) -> str:
    return "one note" if count == 1 else f"{count} notes"


def _targets(scope: Scope) -> list[str]:
    links = scope.index.links if scope.index else ()
    return [posixpath.normpath(posixpath.join(scope.folder, link)) for link in links]


def _limits(scope: Scope) -> Iterator[str]:
    if scope.index is None:
        return
    lines, size = scope.index.lines or 0, scope.index.size or 0
    if lines > MOST_LINES:
        yield f"{scope.name} has {lines} lines, {MOST_LINES} are the most"
    if size > MOST_BYTES:
        yield f"{scope.name} has {size} bytes, {MOST_BYTES} are the most"


def _dangling(scope: Scope, there: set[str]) -> Iterator[str]:
    for target in _targets(scope):
        if target not in there:
            yield f"{scope.name} names {target}, which is not there"


def _orphans(scope: Scope, named: set[str]) -> Iterator[str]:
    if scope.index is not None and scope.index.why:
        return
    lost = [
        note.name
        for note in scope.topics
        if note.name not in named and _DEPRECATED not in note.matches and not note.why
    ]
    if scope.index is None and lost:
        what = "one note beside it is" if len(lost) == 1 else f"{len(lost)} notes beside it are"
        yield f"{scope.name} is not there: {what} never recalled"
        return
    for name in lost:
        yield f"{name} stands in no index: it is never recalled"
