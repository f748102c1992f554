"""What a planner sees of one target: the facts, the ledger, and what this plan has decided so far.

Paths are absolute, with the home of the facts filled in. Nothing here reads a target.
"""

import hashlib
import posixpath
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field

from fleet.dataclass import dataclass
from fleet.errors import SecretError
from fleet.facts.envfile import assignment, read_env_file
from fleet.facts.model import Facts
from fleet.facts.paths import EnvFile, PathFact
from fleet.facts.paths import State as Seen
from fleet.installers.content import filled, references
from fleet.installers.ledger import Entry, Ledger
from fleet.installers.model import (
    ABSENT,
    AS_LEFT,
    FOLDER,
    Action,
    Content,
    EditFile,
    MakeFolder,
    PutBack,
    PutFile,
    State,
    TakePath,
)
from fleet.inventory.model import SecretRef
from fleet.secrets import Secret, keyed_digest


@dataclass(frozen=True, slots=True)
class Trail:
    """How an asked path lies in the file system.

    Attributes:
        text: what the path itself says where it is a link.
        parent: the folder it lies in, links resolved.
        missing: folders that must be made first, outermost first.
    """

    text: str | None
    parent: str
    missing: tuple[str, ...] = ()


def trail(fact: PathFact) -> Trail:
    """Replay the hops of a fact."""
    pending = [(name, True) for name in reversed(_names(fact.absolute))]
    left = len(pending)
    here, hops = "", list(fact.hops)
    while pending:
        name, asked = pending.pop()
        left -= asked
        if name == "..":
            here = posixpath.dirname(here).rstrip("/")
            continue
        there = f"{here}/{name}"
        if hops and hops[0].path == there:
            hop = hops.pop(0)
            if asked and not left:
                return Trail(hop.target, here or "/")
            pending += [(step, False) for step in reversed(_names(hop.target))]
            here = "" if hop.target.startswith("/") else here
            continue
        if asked and there == fact.at and left and fact.state is Seen.ABSENT:
            return _missing(there, [step for step, _ in reversed(pending)])
        if asked and not left:
            break
        here = there
    return Trail(None, here or "/")


def _missing(first: str, rest: Sequence[str]) -> Trail:
    made = [first]
    for name in rest[:-1]:
        made.append(f"{made[-1]}/{name}")
    return Trail(None, made[-1], tuple(made))


def _names(path: str) -> list[str]:
    return [name for name in path.split("/") if name not in ("", ".")]


def file_state(content: bytes) -> State:
    """Return the state of a path that is a file with these bytes."""
    return "f" + hashlib.sha256(content).hexdigest()


def link_state(text: str) -> State:
    """Return the state of a path that is a link with this text."""
    return "l" + hashlib.sha256(f"{text}\n".encode("utf-8", "surrogateescape")).hexdigest()


@dataclass(slots=True)
class Site:
    """One target while a plan is made.

    Attributes:
        secrets: values at hand; they decide what is unchanged and stand in no plan.
        blobs: contents the controller held before, by sha256.
        folders: folders this plan makes.
        touched: paths this plan changes; a later action on one expects it as this plan left it.
        provided: folders this plan fills, so that a link may lead into them.
        closed: folders that were seen in which the user who was asked may not write.
        left: by the path of a file that this plan edits, what facts will say of it then.
    """

    facts: Facts
    ledger: Ledger
    adopt: bool = False
    secrets: Mapping[SecretRef, Secret] = field(default_factory=dict)
    blobs: Mapping[str, bytes] = field(default_factory=dict)
    folders: dict[str, None] = field(default_factory=dict)
    touched: set[str] = field(default_factory=set)
    provided: set[str] = field(default_factory=set)
    closed: frozenset[str] = field(init=False)
    left: dict[str, dict[str, object]] = field(default_factory=dict)
    _written: dict[str, bytes] = field(default_factory=dict)
    _absolute: dict[str, PathFact] = field(init=False)

    def __post_init__(self) -> None:
        paths = self.facts.paths.values()
        self.closed = frozenset(folder for fact in paths for folder in fact.closed)
        self._absolute = {self.absolute(path): fact for path, fact in self.facts.paths.items()}

    @property
    def home(self) -> str:
        """Return the home that ``~`` stands for."""
        return self.facts.platform.home

    @property
    def now(self) -> int:
        """Return the moment of the facts, seconds since 1970: the plan's only clock."""
        return int(self.facts.taken_at.timestamp())

    def absolute(self, path: str) -> str:
        """Fill the home in, and drop needless slashes."""
        if path == "~" or path.startswith("~/"):
            path = self.home.rstrip("/") + path[1:]
        return posixpath.normpath(path) if path.startswith("/") else path

    def shown(self, path: str) -> str:
        """Return a path the short way, for a reader."""
        home = self.home.rstrip("/")
        return "~" + path[len(home) :] if home and path.startswith(f"{home}/") else path

    def seen(self, path: str) -> PathFact | None:
        """Return what was read at a path, or what this plan's edits leave there.

        It does not matter how the path was spelt when it was asked.
        """
        fact = self.facts.paths.get(path) or self._absolute.get(self.absolute(path))
        if fact is None:
            return None
        left = self.left.get(fact.final or fact.absolute)
        return fact if left is None else fact.model_copy(update=left)

    def first_there(self, others: Sequence[str], path: str) -> str:
        """Return the first of other paths at which something is, else the path."""
        for other in others:
            fact = self.seen(other)
            if fact is not None and fact.state is not Seen.ABSENT:
                return other
        return path

    def content(self, fact: PathFact | None) -> bytes | None:
        """Return a path's bytes, or None when they were not read."""
        held = self.facts.content(fact)
        if held is None and fact is not None and fact.sha256 is not None:
            held = self._written.get(fact.sha256, self.blobs.get(fact.sha256))
        return held

    def leave(self, actions: Iterable[Action]) -> None:
        """Remember what edits leave behind: a later one in the same file begins there."""
        for action in actions:
            if isinstance(action, PutFile | EditFile | PutBack | TakePath):
                self.touched.add(action.path)
                self.left[action.path] = self._left(action)

    def _left(self, action: PutFile | EditFile | PutBack | TakePath) -> dict[str, object]:
        if isinstance(action, TakePath):
            return {"state": Seen.ABSENT, "kind": None, "final": None, "sha256": None}
        if isinstance(action, PutBack):
            return {"sha256": None, "why": "what was kept of it is put back first"}
        data = action.content.data if isinstance(action, PutFile) else self._edited(action)
        digest = hashlib.sha256(data).hexdigest()
        self._written[digest] = data
        told = {"state": Seen.PRESENT, "kind": "file", "final": action.path, "why": None}
        return {**told, "sha256": digest, "size": len(data)}

    def _edited(self, action: EditFile) -> bytes:
        # It may have been asked for by several spellings, and read whole by one of them only.
        spelt = (path for path, fact in self.facts.paths.items() if fact.final == action.path)
        read = (self.content(self.seen(path)) for path in (action.path, *spelt))
        data = next((content for content in read if content is not None), b"")
        parts, end = [], 0
        for splice in action.splices:
            parts += [data[end : splice.offset], splice.insert.data]
            end = splice.offset + splice.removed
        return b"".join([*parts, data[end:]])

    def state(self, path: str) -> State | None:
        """Return what lies at a path; None when that was not, or could not be, seen."""
        fact = self.seen(path)
        return None if fact is None else state_of(fact)

    def expect(self, path: str, state: State) -> State:
        """Return what an action must find at a path: ``state``, unless this plan changes it."""
        return AS_LEFT if path in self.touched else state

    def entry(self, key: str, kind: str, path: str = "") -> Entry | None:
        """Return what the ledger says of an artifact."""
        for entry in self.ledger.entries:
            if entry.key == key and entry.kind == kind and path in ("", entry.path):
                return entry
        return None

    def make_way(self, fact: PathFact, mode: int = 0o755) -> tuple[MakeFolder, ...]:
        """Return actions for the folders that a path still needs, each made once a plan."""
        needed = [folder for folder in trail(fact).missing if folder not in self.folders]
        self.folders.update(dict.fromkeys(needed))
        return tuple(MakeFolder(path=folder, mode=mode) for folder in needed)

    def fill(self, content: Content) -> bytes:
        """Return a content's bytes with the secrets at hand.

        Raises:
            SecretError: one of them is not at hand.
        """
        return filled(content, self.reveal)

    def reveal(self, reference: SecretRef) -> Secret:
        """Return a secret at hand.

        Raises:
            SecretError: it is not.
        """
        secret = self.secrets.get(reference)
        if secret is None:
            raise SecretError(
                f"{reference} has no value",
                where=str(reference.place) if reference.place else "",
                hint="give it a value, or change the reference in the inventory",
            )
        return secret

    def holds(self, fact: PathFact, content: Content) -> bool | None:
        """Tell whether a file has this content; None when that cannot be seen."""
        if fact.kind != "file" or fact.link:
            return False
        if fact.sha256 is not None:
            return "f" + fact.sha256 == file_state(self.fill(content))
        if fact.env is not None and not (fact.env.binary or fact.env.truncated):
            data = self.fill(content)
            return fact.size == len(data) and self.env_shape(data, fact.env) == fact.env
        return None

    def env_shape(self, data: bytes, like: EnvFile) -> EnvFile:
        """Return what the probe would tell of an env file; what ``like`` shows is public."""
        told = (assignment(line.text.encode()) for line in like.lines if not line.masked)
        public = {found.name for found in told if found}
        return read_env_file(data, nonce=self.facts.nonce, public=public)

    def told_secrets(self, content: Content, fact: PathFact) -> tuple[str, ...]:
        """Say of each secret of a content whether what lies there has the same value."""
        if fact.env is None:
            return ()
        there = {d for line in fact.env.lines for d in (line.raw, line.unquoted, line.trimmed)}
        return tuple(
            f"{reference}: {'unchanged' if self._digest(reference) in there else 'changed'}"
            for reference in references(content)
        )

    def _digest(self, reference: SecretRef) -> str:
        return keyed_digest(self.facts.nonce, self.reveal(reference).reveal())


def state_of(fact: PathFact) -> State | None:
    """Return what a fact says of a path in one word; None when it could not be seen."""
    if fact.link:
        text = trail(fact).text
        return None if text is None else link_state(text)
    if fact.state is Seen.ABSENT:
        return ABSENT
    if fact.state is not Seen.PRESENT:
        return None
    if fact.kind == "directory":
        return FOLDER
    if fact.kind != "file":
        return None
    if fact.sha256 is not None:
        return "f" + fact.sha256
    return None if fact.mtime is None or fact.size is None else f"m{fact.mtime}.{fact.size}"
