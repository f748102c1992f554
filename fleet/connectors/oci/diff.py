"""One layer as a tree of its own, and how a layer goes on top of those below it.

The rules are the OCI layer specification's, where it speaks, and the engines' overlay drivers',
where it does not:

* A whiteout hides what lower layers hold, never what its own layer brings, whatever their order.
* Only a member named exactly ``.wh..wh..opq`` makes its folder opaque; a longer name hides what
  no layer can bring, a name that begins with ``.wh.``, and so hides nothing.
* A member's parent that is a link in the same layer is followed; one that is a link in a lower
  layer is replaced by a folder, because each layer is unpacked into a folder of its own.
* A name that comes twice in a layer means the last one; folders merge, all else is replaced.
"""

import posixpath
import tarfile
from dataclasses import dataclass, replace

from fleet.connectors.oci.streams import Damaged
from fleet.connectors.oci.tar import kind_of, node_of
from fleet.connectors.scan.watch import Read, Watch
from fleet.connectors.text import one_line
from fleet.facts.walk import MAX_HOPS, Node

WHITEOUT = ".wh."
OPAQUE = ".wh..wh..opq"

Sparse = tuple[tuple[int, int], ...]


@dataclass(slots=True)
class Item:
    """What one name leads to, in one layer or in all of them together.

    Attributes:
        children: a folder's; None for all else.
        layer: the number of the layer that holds the content, -1 for none.
        offset: where the content begins in the decompressed layer.
        sparse: offset and length of the stretches that are stored, of a sparse file.
        implied: a folder no member speaks of.
        hides: names this folder hides in lower layers.
        opaque: it hides all of them.
        unnamed: it hides one, and the layer does not say which.
        flaw: why it cannot be told whether this is here, or what it holds.
        lower: of a layer's root: a hard link in it may lead to what only lower layers hold.
    """

    node: Node
    children: "dict[str, Item] | None" = None
    layer: int = -1
    offset: int = 0
    sparse: Sparse | None = None
    implied: bool = False
    hides: set[str] | None = None
    opaque: bool = False
    unnamed: str = ""
    flaw: str = ""
    lower: bool = False

    def hide(self, name: str) -> None:
        """Hide a name in lower layers."""
        if self.hides is None:
            self.hides = set()
        self.hides.add(name)


def folder() -> Item:
    """Return an empty folder that is only implied."""
    return Item(Node("directory", 0o755), children={}, implied=True)


class Diff:
    """Collects one layer's members.

    Attributes:
        flaws: members that mean nothing, told for the report.
    """

    def __init__(self, number: int, name: str, lower: Item) -> None:
        self.root = folder()
        self.flaws: list[str] = []
        self._number = number
        self._name = name
        self._lower = lower
        self._waiting: list[tuple[list[str], list[str]]] = []
        self._last: tuple[list[str], Item] | None = None  # members of one folder follow each other

    def add(self, member: tarfile.TarInfo) -> Item | None:
        """Take one member; return its item where it holds content."""
        parts = _parts(member.name)
        if not parts:
            if member.isdir():
                self._place_root(member)
            return None
        if any(part.startswith(WHITEOUT) for part in parts):
            self._mark(parts)
            return None
        if member.islnk():
            self._link(parts, _parts(member.linkname))
            return None
        item = self._item(member)
        self._place(parts, item)
        return item if item.node.kind == "file" else None

    def finish(self) -> Item:
        """Settle hard links to later members, and return the layer's root."""
        for parts, target in self._waiting:
            found = _find(self.root, target)
            why = f"a hard link to /{'/'.join(target)}, which is in no layer up to {self._name}"
            self._place(parts, found or Item(Node("file"), flaw=one_line(why)))
        self.root.lower = bool(self._waiting)
        return self.root

    def _item(self, member: tarfile.TarInfo) -> Item:
        node = node_of(member)
        item = Item(node, children={} if node.kind == "directory" else None)
        if node.kind == "file":
            item.layer, item.offset = self._number, member.offset_data
            item.sparse = _stored(member)
        return item

    def _place_root(self, member: tarfile.TarInfo) -> None:
        self.root.node, self.root.implied = self._item(member).node, False

    def _place(self, parts: list[str], item: Item) -> None:
        parent = self._folder(parts[:-1])
        existing = child_of(parent, parts[-1])
        if existing and existing.children is not None and item.children is not None:
            existing.node, existing.implied = item.node, False
        else:
            if existing:
                self._last = None  # it may have been on the way
            _adopt(parent, parts[-1], item)

    def _mark(self, parts: list[str]) -> None:
        above, name = parts[:-1], parts[-1]
        if any(part.startswith(WHITEOUT) for part in above):
            return
        if name == OPAQUE:
            self._folder(above).opaque = True
        elif name == WHITEOUT:
            where = one_line("/" + "/".join(above))
            flaw = f"{self._name} holds a whiteout without a name in {where}"
            self._folder(above).unnamed = flaw
            self.flaws.append(flaw)
        else:
            self._folder(above).hide(name[len(WHITEOUT) :])

    def _link(self, parts: list[str], target: list[str]) -> None:
        found = _find(self.root, target) or _find(self._lower, target)
        if found is None:
            self._waiting.append((parts, target))
        elif found.children is None:
            self._place(parts, found)
        else:
            self._place(parts, Item(Node("other"), flaw="a hard link to a folder"))

    def _folder(self, parts: list[str]) -> Item:
        """Return a folder of this layer, implied where no member told of it."""
        if self._last is None or self._last[0] != parts:
            self._last = (parts, self._walked(parts))
        return self._last[1]

    def _walked(self, parts: list[str]) -> Item:
        trail, pending, hops = [self.root], list(reversed(parts)), 0
        while pending:
            part = pending.pop()
            if part == "..":
                trail = trail[:-1] or trail
                continue
            child = child_of(trail[-1], part)
            if child and child.node.kind == "link":
                hops += 1
                if hops > MAX_HOPS:
                    raise Damaged(f"a link loop holds a member: {one_line('/'.join(parts))}")
                trail = trail[:1] if child.node.target.startswith("/") else trail
                pending += [p for p in reversed(child.node.target.split("/")) if p not in ("", ".")]
                continue
            if child is None or child.children is None:
                child = folder()
                _adopt(trail[-1], part, child)
            trail.append(child)
        return trail[-1]


def merge(lower: Item, upper: Item) -> None:
    """Put a layer on top of all below it; ``lower`` becomes the result.

    What both hide is kept too, so that the result may go on top of layers further below.
    """
    pending = [(lower, upper)]
    while pending:
        below, above = pending.pop()
        _hide(below, above)
        if not above.implied:
            below.node, below.implied = above.node, False
        for name, item in (above.children or {}).items():
            existing = child_of(below, name)
            if existing and existing.children is not None and item.children is not None:
                pending.append((existing, item))
            else:
                if existing and item.children is not None:
                    # In a file's place: no folder further below has a part in it.
                    item.opaque, item.implied = True, False
                _adopt(below, name, item)
        _hide_further(below, above)


def _hide_further(below: Item, above: Item) -> None:
    below.opaque = below.opaque or above.opaque
    below.unnamed = above.unnamed or below.unnamed
    if above.hides:
        below.hides = (below.hides or set()) | above.hides


def tell(watch: Watch, member: tarfile.TarInfo, size: int, read: Read) -> None:
    """Tell a watch what a member says; one that means nothing is left out.

    Args:
        watch: is told.
        member: of the layer that the watch was told of.
        size: bytes of a file's content.
        read: returns that content.
    """
    name = member.name.rstrip("/")
    plain = name and not name.startswith("/") and "./" not in name and "//" not in name
    path = f"/{name}" if plain else posixpath.normpath("/" + member.name.lstrip("/"))
    folder_of, _, last = path.rpartition("/")
    if f"/{WHITEOUT}" in path:
        if f"/{WHITEOUT}" in folder_of or last == WHITEOUT:
            return
        if last == OPAQUE:
            watch.whiteout(folder_of or "/", opaque=True)
        else:
            watch.whiteout(f"{folder_of}/{last[len(WHITEOUT) :]}")
        return
    watch.entry(path, kind_of(member), size, read)


def _hide(below: Item, above: Item) -> None:
    children = below.children
    if children is None:
        return
    if above.opaque:
        children.clear()
    for name in above.hides or ():
        children.pop(name, None)
    if above.unnamed:
        for name, item in children.items():
            children[name] = replace(item, flaw=above.unnamed)  # a hard link's other name is sound


def _adopt(parent: Item, name: str, child: Item) -> None:
    if parent.children is not None:
        parent.children[name] = child


def child_of(parent: Item, name: str) -> Item | None:
    """Return what a folder holds under a name; nothing for what is no folder."""
    return parent.children.get(name) if parent.children else None


def _find(root: Item, parts: list[str]) -> Item | None:
    item: Item | None = root
    for part in parts:
        item = child_of(item, part) if item else None
    return item


def _parts(name: str) -> list[str]:
    """Return a member's name as components: relative to the root, and never out of it."""
    clean = posixpath.normpath("/" + name.lstrip("/"))
    return [part for part in clean.split("/") if part]


def _stored(member: tarfile.TarInfo) -> Sparse | None:
    stretches: list[tuple[int, int]] | None = getattr(member, "sparse", None)
    return tuple(stretches) if stretches is not None else None
