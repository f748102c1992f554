"""What names lead to, in one layer or in all of them together, and one layer put on another."""

from collections.abc import Iterator, Sequence
from dataclasses import field, replace

from fleet.connectors.oci.tar import Sparse
from fleet.dataclass import dataclass
from fleet.facts.walk import Node


@dataclass(slots=True)
class Item:
    """What one name leads to; a million of them may be kept, so it holds little.

    Attributes:
        layer: the number of the layer that holds the content, -1 for none.
        offset: where the content begins in the decompressed layer.
        sparse: offset and length of the stretches that are stored, of a sparse file.
        flaw: why it cannot be told whether this is here, or what it holds.
    """

    node: Node
    layer: int = -1
    offset: int = 0
    sparse: Sparse | None = None
    flaw: str = ""


@dataclass(slots=True)
class HardLink(Item):
    """A hard link to what was not there yet, or is not kept.

    Attributes:
        target: what it links to, relative to the root; empty once that was found.
        lacks: the last component of a target that may be there and is not kept.
    """

    target: str = ""
    lacks: str = ""


@dataclass(slots=True)
class Folder(Item):
    """A folder, and what it does to lower layers.

    Attributes:
        implied: no member speaks of it.
        hides: names this folder hides in lower layers.
        opaque: it hides all of them.
        unnamed: it hides one, and the layer does not say which.
        partial: it may hold more than its children, which are those that are kept.
    """

    children: dict[str, Item] = field(default_factory=dict)
    implied: bool = False
    hides: set[str] | None = None
    opaque: bool = False
    unnamed: str = ""
    partial: bool = False

    def hide(self, name: str) -> None:
        """Hide a name in lower layers."""
        if self.hides is None:
            self.hides = set()
        self.hides.add(name)


_IMPLIED = Node("directory", 0o755)


def folder() -> Folder:
    """Return an empty folder that is only implied."""
    return Folder(_IMPLIED, implied=True)


def child_of(parent: Item | None, name: str) -> Item | None:
    """Return what a folder holds under a name; nothing for what is no folder."""
    return parent.children.get(name) if isinstance(parent, Folder) else None


def at(root: Item, names: Sequence[str]) -> Item | None:
    """Return what is at a path, following nothing."""
    item: Item | None = root
    for name in names:
        item = child_of(item, name)
    return item


def below(root: Folder) -> Iterator[tuple[str, Item]]:
    """Yield all that is under a folder, by its name."""
    pending = [root]
    while pending:
        for name, item in pending.pop().children.items():
            yield name, item
            if isinstance(item, Folder):
                pending.append(item)


def merge(lower: Folder, upper: Folder) -> None:
    """Put a layer on top of all below it; ``lower`` becomes the result.

    What both hide is kept too, so that the result may go on top of layers further below.
    """
    pending = [(lower, upper)]
    while pending:
        under, above = pending.pop()
        _hide(under, above)
        if not above.implied:
            under.node, under.implied = above.node, False
        for name, item in above.children.items():
            existing = under.children.get(name)
            if isinstance(existing, Folder) and isinstance(item, Folder):
                pending.append((existing, item))
                continue
            if existing and isinstance(item, Folder):
                # In a file's place: no folder further below has a part in it.
                item.opaque, item.implied = True, False
            under.children[name] = item
        _hide_further(under, above)


def _hide(under: Folder, above: Folder) -> None:
    children = under.children
    if above.opaque:
        children.clear()
        under.partial = False
    for name in above.hides or ():
        children.pop(name, None)
    if above.unnamed:
        for name, item in children.items():
            children[name] = replace(item, flaw=above.unnamed)  # a hard link's other name is sound


def _hide_further(under: Folder, above: Folder) -> None:
    under.opaque = under.opaque or above.opaque
    under.partial = under.partial or above.partial
    under.unnamed = above.unnamed or under.unnamed
    if above.hides:
        under.hides = (under.hides or set()) | above.hides
