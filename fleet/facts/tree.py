r"""A file system read without running anything on it: the probe's answers, from data.

A :class:`fleet.facts.walk.Tree` answers about physical paths only, and what follows links is in
one place too, so an image's layers, an unpacked root and an engine's archives are all read by one
set of rules. Beside those of the walk:

* Content larger than the question's limit is not read: the fact is ``present``, ``why`` says so.
* The content of an env file does not travel, and neither does its plain hash.
"""

import hashlib
import posixpath
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field

from fleet.dataclass import dataclass
from fleet.facts.envfile import read_env_file
from fleet.facts.ini import sections_in
from fleet.facts.jsonshape import NOT_JSON, json_shape
from fleet.facts.notes_tree import read_notes
from fleet.facts.paths import Entry, EnvFile, PathFact, State
from fleet.facts.pem import certificates_in
from fleet.facts.request import CommandQuestion, PathQuestion, Read
from fleet.facts.running import CommandFact
from fleet.facts.walk import Node, Tree, Unreadable, Walk, resolve, shown

MAX_ENTRIES = 2_000
MAX_PROGRAMS = 20
SEARCH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_MANIFEST = "package.json"
_OF_FILES = (Read.HASH, Read.PEM, Read.WHOLE, Read.INI, Read.JSON, Read.ENV)


@dataclass(slots=True)
class _Draft:
    """A path's fact without content yet, and where the content is."""

    question: PathQuestion
    walk: Walk
    fact: PathFact

    def file(self) -> str | None:
        node = self.walk.node
        if node is None or node.kind != "file" or node.size > self.question.limit:
            return None
        return self.walk.final if self.question.read in _OF_FILES else None


@dataclass(slots=True)
class _Find:
    """A program on a PATH, its manifest, and what lies beside that."""

    draft: _Draft
    manifest: _Draft | None
    beside: dict[str, _Draft]

    def drafts(self) -> list[_Draft]:
        return [d for d in (self.draft, self.manifest, *self.beside.values()) if d]


@dataclass(slots=True)
class TreeReader:
    """Answers the questions of one request from one tree.

    Attributes:
        nonce: keys the digests of an env file's values.
        home: what ``~`` stands for.
        owners: user names by uid, as the tree's own passwd tells them.
        known: hashes of contents that need not be sent.
        contents: bytes by sha256, filled while answering.
    """

    tree: Tree
    nonce: str
    home: str
    owners: Mapping[int, str] = field(default_factory=dict)
    known: frozenset[str] = frozenset()
    contents: dict[str, bytes] = field(default_factory=dict)

    def paths(self, questions: Sequence[PathQuestion]) -> dict[str, PathFact]:
        """Answer path questions, by the path as it was asked for."""
        drafts = [self._draft(question) for question in questions]
        self.tree.prefetch([file for draft in drafts if (file := draft.file())])
        return {draft.question.path: self._filled(draft) for draft in drafts}

    def commands(
        self, questions: Sequence[CommandQuestion], *, search: str, uid: int | None, folder: str
    ) -> dict[str, CommandFact]:
        """Look programs up on a PATH, as a shell of user ``uid`` in ``folder`` would."""
        found = {q.name: self._finds(q, search, uid, folder) for q in questions}
        every = [draft for finds in found.values() for find in finds for draft in find.drafts()]
        self.tree.prefetch([file for draft in every if (file := draft.file())])
        return {q.name: self._command(q, found[q.name]) for q in questions}

    def _finds(
        self, question: CommandQuestion, search: str, uid: int | None, folder: str
    ) -> list["_Find"]:
        """Find a program, and where every one is wanted those that it hides."""
        finds: list[_Find] = []
        for draft in self._places(question, search, uid, folder):
            manifest = self._manifest(draft) if question.manifest else None
            below = posixpath.dirname(manifest.fact.absolute) if manifest and not finds else None
            beside = {
                path: self._draft(PathQuestion(posixpath.join(below, path), Read.WHOLE))
                for path in (question.beside if below else ())
                if below
            }
            finds.append(_Find(draft, manifest, beside))
            if not question.every or len(finds) == MAX_PROGRAMS:
                break
        return finds

    def _command(self, question: CommandQuestion, finds: Sequence["_Find"]) -> CommandFact:
        told = [
            CommandFact(
                name=question.name,
                file=self._filled(find.draft),
                manifest=self._filled(find.manifest) if find.manifest else None,
                beside={path: self._filled(draft) for path, draft in find.beside.items()},
            )
            for find in finds
        ]
        first = told[0] if told else CommandFact(name=question.name)
        others = tuple(told[1:]) if question.every else None
        return first.model_copy(update={"others": others})

    def _draft(self, question: PathQuestion) -> _Draft:
        absolute = expand(question.path, self.home)
        if not absolute.startswith("/"):
            why = "a relative path leads nowhere here"
            walk = Walk(State.UNSUPPORTED, at=absolute, why=why)
        else:
            walk = resolve(self.tree, absolute)
        fact = PathFact(
            path=question.path,
            absolute=absolute,
            state=walk.state,
            link=walk.link,
            hops=walk.hops,
            final=shown(walk.final) if walk.final else None,
            at=walk.at,
            why=walk.why,
        )
        if walk.node:
            fact = fact.model_copy(update=_metadata(walk.node, self.owners))
        return _Draft(question, walk, fact)

    def _filled(self, draft: _Draft) -> PathFact:
        node, final = draft.walk.node, draft.walk.final
        if node is None or final is None:
            return draft.fact
        try:
            if node.kind == "file" and draft.question.read in _OF_FILES:
                return draft.fact.model_copy(update=self._content(draft.question, node, final))
            if node.kind == "directory" and draft.question.read is Read.LIST:
                return draft.fact.model_copy(update=self._entries(final))
            if node.kind == "directory" and draft.question.read is Read.NOTES:
                notes, why = read_notes(self.tree, final, draft.question.limit)
                return draft.fact.model_copy(update={"notes": notes, "why": why})
        except Unreadable as error:
            update = {"state": State.UNREADABLE, "at": shown(error.component), "why": error.why}
            return draft.fact.model_copy(update=update)
        return draft.fact

    def _content(self, question: PathQuestion, node: Node, final: str) -> dict[str, object]:
        if node.size > question.limit:
            env = {"env": EnvFile(truncated=True)} if question.read is Read.ENV else {}
            return {"why": f"larger than {question.limit} bytes: not read", **env}
        content = self.tree.read(final, question.limit)
        if question.read is Read.ENV:
            return {"env": read_env_file(content, nonce=self.nonce, public=question.public)}
        if question.read is Read.INI:
            return {"sections": sections_in(content)}
        if question.read is Read.JSON:
            shape = json_shape(content, question.public)
            return {"shape": shape, "why": NOT_JSON if shape is None else None}
        digest = hashlib.sha256(content).hexdigest()
        if question.read is Read.PEM:
            return {"sha256": digest, "certificates": certificates_in(content)}
        if question.read is not Read.HASH and digest not in self.known:
            self.contents[digest] = content
        return {"sha256": digest}

    def _entries(self, folder: str) -> dict[str, object]:
        names = sorted(self.tree.listdir(folder))
        entries = [self._entry(folder, name) for name in names[:MAX_ENTRIES]]
        cut = {"why": f"more than {MAX_ENTRIES} entries: the rest was not read"}
        return {
            "entries": tuple(entry for entry in entries if entry),
            **(cut if len(names) > MAX_ENTRIES else {}),
        }

    def _entry(self, folder: str, name: str) -> Entry | None:
        path = posixpath.join(folder, name)
        node = self.tree.lstat(path)
        if node is None:
            return None
        if node.kind != "link":
            return Entry(name=shown(name), kind=node.kind)
        dangling = resolve(self.tree, path).state is not State.PRESENT
        target = shown(node.target)
        return Entry(name=shown(name), kind="link", target=target, dangling=dangling)

    def _places(
        self, question: CommandQuestion, search: str, uid: int | None, folder: str
    ) -> Iterator[_Draft]:
        """Yield the programs of a name in the order of the PATH; what is hidden, where none is."""
        hidden, none = None, True
        for place in _places(question.name, search):
            path = posixpath.join("/", folder, place)
            draft = self._draft(PathQuestion(path, question.read))
            node = draft.walk.node
            if node and node.kind == "file" and _may_run(node, uid):
                none = False
                yield draft
            elif draft.walk.state is State.UNREADABLE:
                hidden = hidden or draft
        if none and hidden:
            yield hidden

    def _manifest(self, draft: _Draft) -> _Draft | None:
        folder = posixpath.dirname(draft.walk.final or "/")
        while True:
            path = posixpath.join(folder, _MANIFEST)
            above = self._draft(PathQuestion(path, Read.WHOLE))
            if above.walk.state is not State.ABSENT:
                return above
            if folder == "/":
                return None
            folder = posixpath.dirname(folder)


def expand(path: str, home: str) -> str:
    """Fill the home in for a leading ``~``."""
    if path == "~" or path.startswith("~/"):
        return (home.rstrip("/") + path[1:]) or "/"
    return path


def _metadata(node: Node, owners: Mapping[int, str]) -> dict[str, object]:
    return {
        "kind": node.kind,
        "mode": node.mode,
        "uid": node.uid,
        "owner": owners.get(node.uid),
        "size": node.size,
        "mtime": node.mtime,
    }


def _places(name: str, search: str) -> list[str]:
    folders = search.split(":") if search else []
    return [posixpath.join(folder, name) for folder in folders]


def _may_run(node: Node, uid: int | None) -> bool:
    if uid == 0 or uid is None:
        return bool(node.mode & 0o111)
    return bool(node.mode & (0o100 if node.uid == uid else 0o011))
