"""Trees to ask in tests: in memory, and read off a real folder."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from fleet.facts.paths import PathFact
from fleet.facts.request import PathQuestion, Request
from fleet.facts.tree import TreeReader
from fleet.facts.walk import Node, Tree, Unreadable
from fleet.inventory.model import Address, Scheme, Target, Value


@dataclass
class DictTree:
    """A tree of texts: bytes are files, text is a link's target, None is a folder."""

    entries: Mapping[str, bytes | str | None]
    hidden: Collection[str] = ()
    reads: list[str] = field(default_factory=list)

    def lstat(self, path: str) -> Node | None:
        if path == "/" or any(name.startswith(path + "/") for name in self.entries):
            return Node("directory")
        if path not in self.entries:
            return None
        value = self.entries[path]
        if value is None:
            return Node("directory")
        if isinstance(value, str):
            return Node("link", target=value)
        return Node("file", size=len(value))

    def listdir(self, path: str) -> list[str]:
        top = path.rstrip("/") + "/"
        inside = [name.removeprefix(top) for name in self.entries if name.startswith(top)]
        return list(dict.fromkeys(name.split("/")[0] for name in inside))

    def read(self, path: str, limit: int) -> bytes:
        if path in self.hidden:
            raise Unreadable(path, "permission denied: this user may not read it")
        self.reads.append(path)
        value = self.entries[path]
        assert isinstance(value, bytes)
        return value

    def prefetch(self, paths: Collection[str]) -> None:
        pass


def image(scheme: str, name: str | Path, tag: str | None = None, **variables: Value) -> Target:
    """Return an image target."""
    return Target("img", Address(Scheme(scheme), str(name), tag=tag), variables=variables)


def asking(*questions: PathQuestion, nonce: str = "n0") -> Request:
    """Return a request of path questions only."""
    return Request(nonce=nonce, paths=questions)


class TreeAnswer(NamedTuple):
    """Facts about paths, and the bytes they name by sha256."""

    paths: dict[str, PathFact]
    contents: dict[str, bytes]


def paths_from_tree(
    tree: Tree, request: Request, *, home: str, owners: Mapping[int, str] | None = None
) -> TreeAnswer:
    """Answer a request's path questions from a tree, as the probe would on the same files."""
    reader = TreeReader(tree, request.nonce, home, owners or {}, request.known)
    return TreeAnswer(reader.paths(request.paths), reader.contents)
