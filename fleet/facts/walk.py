r"""Following a path through a tree that answers about physical paths only.

* Links are followed one at a time as the kernel does, ``..`` physically, absolute hops from the
  tree's root, which nothing leaves. More than 40 hops, or the same link met twice with the same
  way still to go, is a loop.
* ``absent`` means that a name that was asked for is missing; ``dangling`` that a name that a link
  told is missing. ``at`` is the missing component, the looping link, or what cannot be read.
* Names that are not UTF-8 are shown with ``\xNN`` in place of the bytes.
"""

import posixpath
from collections.abc import Collection, Sequence
from typing import Literal, NamedTuple, Protocol

from fleet.dataclass import dataclass
from fleet.facts.paths import NOT_A_FOLDER, Hop, State

MAX_HOPS = 40
_FOLDER = ""  # what a slash at the end leaves: no name, but what is before it must be a folder


@dataclass(frozen=True, slots=True)
class Node:
    """What is at a physical path, the link itself where it is one.

    Attributes:
        mode: permission bits.
        mtime: seconds since 1970.
        target: what a link says, as it says it.
    """

    kind: Literal["file", "directory", "link", "other"]
    mode: int = 0o755
    uid: int = 0
    gid: int = 0
    size: int = 0
    mtime: int = 0
    target: str = ""


class Unreadable(Exception):
    """Something is there, or may be, and cannot be seen.

    Attributes:
        component: the path at which reading stopped.
        why: the reason in one line.
    """

    def __init__(self, component: str, why: str) -> None:
        self.component = component
        self.why = why
        super().__init__(f"{component}: {why}")


class Tree(Protocol):
    """A root and what is under it, by absolute physical paths (no parent is a link).

    Names that are not UTF-8 hold surrogate escapes. Every method may raise :class:`Unreadable`.
    """

    def lstat(self, path: str) -> Node | None:
        """Return what is at ``path``, not following it; None when nothing is."""
        ...

    def listdir(self, path: str) -> Sequence[str]:
        """Return the names in a directory, in any order."""
        ...

    def read(self, path: str, limit: int) -> bytes:
        """Return a file's content; a file of more than ``limit`` bytes is Unreadable."""
        ...

    def prefetch(self, paths: Collection[str]) -> None:
        """Hear which files will be read next, where fetching them together is cheaper."""
        ...


class Walk(NamedTuple):
    """Where a path leads.

    Attributes:
        link: whether the last component that was asked for is a link.
        final: the physical path it ends at; None for every state but ``present``.
    """

    state: State
    hops: tuple[Hop, ...] = ()
    link: bool = False
    final: str | None = None
    node: Node | None = None
    at: str | None = None
    why: str | None = None


class _Step(NamedTuple):
    name: str
    told: bool  # by a link


class _Walker:
    """One walk; lives for one call of :func:`resolve`."""

    def __init__(self, tree: Tree, path: str) -> None:
        self.tree = tree
        self.pending = _steps(path, told=False)
        self.hops: list[Hop] = []
        self.link = False
        self.met: set[tuple[str, tuple[_Step, ...]]] = set()

    def walk(self) -> Walk:
        here, step = "/", _Step("", told=False)
        node = self.tree.lstat(here)
        while self.pending:
            if node is None or node.kind != "directory":
                return self._ended(State.ABSENT, here, step, NOT_A_FOLDER)
            step = self.pending.pop()
            here, node = self._enter(here, node, step)
            if node is None:
                return self._ended(State.ABSENT, here, step, None)
            if node.kind == "link":
                if self._met_before(here):
                    return self._ended(State.LOOP, here, step, None)
                if len(self.hops) >= MAX_HOPS:
                    return self._ended(State.LOOP, here, step, f"more than {MAX_HOPS} links")
                self._follow(here, node.target, step)
                if not node.target:
                    return self._ended(State.DANGLING, here, step, "the link says nothing")
                here = "/" if node.target.startswith("/") else posixpath.dirname(here)
                node = self.tree.lstat(here)
        return Walk(State.PRESENT, tuple(self.hops), self.link, here, node)

    def _enter(self, here: str, node: Node, step: _Step) -> tuple[str, Node | None]:
        if step.name in (".", _FOLDER):
            return here, node
        if step.name == "..":
            here = posixpath.dirname(here)
            return here, self.tree.lstat(here)
        here = posixpath.join(here, step.name)
        return here, self.tree.lstat(here)

    def _met_before(self, where: str) -> bool:
        mark = (where, tuple(self.pending))
        known = mark in self.met
        self.met.add(mark)
        return known

    def _follow(self, where: str, target: str, step: _Step) -> None:
        self.hops.append(Hop(path=shown(where), target=shown(target)))
        self.link = self.link or not (step.told or self._more_is_asked())
        self.pending += _steps(target, told=True)

    def _more_is_asked(self) -> bool:
        return any(not step.told and step.name != _FOLDER for step in self.pending)

    def _ended(self, state: State, at: str, step: _Step, why: str | None) -> Walk:
        if state is State.ABSENT and step.told:
            state = State.DANGLING
        return Walk(state, tuple(self.hops), self.link, at=shown(at), why=why)


def resolve(tree: Tree, path: str) -> Walk:
    """Follow an absolute path to its end, inside the tree's root."""
    walker = _Walker(tree, path)
    try:
        return walker.walk()
    except Unreadable as error:
        return Walk(
            State.UNREADABLE,
            tuple(walker.hops),
            walker.link,
            at=shown(error.component),
            why=error.why,
        )


def _steps(path: str, *, told: bool) -> list[_Step]:
    names = [name for name in path.split("/") if name]
    if path.endswith("/"):
        names.append(_FOLDER)
    return [_Step(name, told) for name in reversed(names)]


def shown(text: str) -> str:
    r"""Return a name as text that every encoder takes: bytes that are no UTF-8 as ``\xNN``."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
