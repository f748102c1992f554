"""One layer as a tree of its own.

The rules are the OCI layer specification's, where it speaks, and the engines' overlay drivers',
where it does not:

* A whiteout hides what lower layers hold, never what its own layer brings, whatever their order.
* Only a member named exactly ``.wh..wh..opq`` makes its folder opaque; a longer name hides what
  no layer can bring, a name that begins with ``.wh.``, and so hides nothing.
* A member's parent that is a link in the same layer is followed; one that is a link in a lower
  layer is replaced by a folder, because each layer is unpacked into a folder of its own.
* A name that comes twice in a layer means the last one; folders merge, all else is replaced.

What is not kept of a very large layer (see :mod:`fleet.connectors.oci.kept`) leaves a mark, and no
folder or link that it replaces.
"""

import posixpath

from fleet.connectors.oci.items import Folder, HardLink, Item, at, child_of, folder
from fleet.connectors.oci.kept import MOST_LISTED, Kept
from fleet.connectors.oci.streams import Damaged
from fleet.connectors.oci.tar import TarMember, kind_of, node_of
from fleet.connectors.scan.watch import Read, Watch
from fleet.connectors.text import one_line
from fleet.dataclass import dataclass
from fleet.facts.walk import MAX_HOPS, Node

WHITEOUT = ".wh."
OPAQUE = ".wh..wh..opq"
_MOST_FLAWS = 8
_NO_NAMES = ("", ".", "..")


@dataclass(frozen=True, slots=True)
class _Spot:
    """A folder that members go into.

    Attributes:
        head: the members' names up to their last slash; None where others mean this folder.
        path: where it is, absolute.
        lower: the folder of that path in the layers below.
        listed: all that it holds is kept.
    """

    head: str | None
    path: str
    folder: Folder
    lower: Folder | None
    listed: bool


class Diff:
    """Collects one layer's members.

    Attributes:
        number: of the layer.
        root: what it holds.
        flaws: members that mean nothing, told for the report; a few of them.
        lower: a hard link may lead to what only lower layers hold.
    """

    def __init__(self, number: int, name: str, lower: Folder, kept: Kept) -> None:
        """Take no member yet.

        Args:
            number: of the layer.
            name: of the layer, as an error calls it.
            lower: what the layers below hold. Of that, files are let go that this layer replaces
                with one that is not kept.
            kept: decides what is.
        """
        self.root = folder()
        self.flaws: list[str] = []
        self.lower = False
        self.number = number
        self._name = name
        self._lower = lower
        self._kept = kept
        self._waiting: list[HardLink] = []
        self._spot: _Spot | None = None  # members of one folder follow each other

    def add(self, member: TarMember) -> bool:
        """Take one member; tell whether it is a file that is kept, with content of its own."""
        head, _, last = member.name.rpartition("/")
        spot = self._spot
        if spot is None or head != spot.head or last in _NO_NAMES or last.startswith(WHITEOUT):
            parts = _parts(member.name)
            if not parts:
                self._place_root(member)
                return False
            if any(part.startswith(WHITEOUT) for part in parts):
                self._mark(parts)
                return False
            spot = self._spot_of(parts[:-1], None if last in _NO_NAMES else head)
            last = parts[-1]
        regular = member.isreg()
        hard = member.islnk()
        if (regular or hard) and self._kept.full and self._dropped(spot, last):
            return False
        self._place(spot, last, self._linked(member) if hard else self._item(member))
        return regular

    def finish(self) -> None:
        """Settle hard links to later members."""
        self.lower = bool(self._waiting)
        for link in self._waiting:
            names = link.target.split("/")
            found = self._target(names)
            link.target = ""
            if isinstance(found, Folder):
                link.node, link.flaw = _LINKS_FOLDER.node, _LINKS_FOLDER.flaw
            elif found and found is not link:
                link.node, link.flaw = found.node, found.flaw
                link.layer, link.offset, link.sparse = found.layer, found.offset, found.sparse
                link.lacks = found.lacks if isinstance(found, HardLink) else ""
            elif self._kept.may_hold("/" + "/".join(names[:-1]), names[-1]):
                link.lacks, link.flaw = names[-1], ""

    def _item(self, member: TarMember) -> Item:
        node = node_of(member)
        if node.kind == "directory":
            return Folder(node)
        if node.kind == "file":
            return Item(node, self.number, member.offset_data, member.sparse)
        return Item(node)

    def _place_root(self, member: TarMember) -> None:
        if member.isdir():
            self.root.node, self.root.implied = node_of(member), False

    def _place(self, spot: _Spot, name: str, item: Item) -> None:
        existing = spot.folder.children.get(name)
        if isinstance(existing, Folder) and isinstance(item, Folder):
            existing.node, existing.implied = item.node, False
            return
        if existing:
            self._spot = None  # it may have been on the way
        self._adopt(spot.folder, name, item)
        if item.node.target and name in self._kept.names:
            self._kept.seek(item.node.target.rpartition("/")[2])  # likely to be asked for next

    def _dropped(self, spot: _Spot, name: str) -> bool:
        """Drop a file, unless it may be asked for or replaces a folder."""
        children, kept = spot.folder.children, self._kept
        if name in kept.names:
            return False
        if spot.listed and len(children) < MOST_LISTED and kept.roomy:
            return False
        under = spot.lower.children if spot.lower else {}
        if isinstance(children.get(name), Folder) or isinstance(under.get(name), Folder):
            return False
        if children.pop(name, None):
            self._spot = None
        if spot.lower and under.pop(name, None):
            spot.lower.partial = True  # this layer's folder may still be replaced
        spot.folder.partial = True
        kept.drop(spot.path, name)
        return True

    def _mark(self, parts: list[str]) -> None:
        above, name = parts[:-1], parts[-1]
        if any(part.startswith(WHITEOUT) for part in above):
            return
        spot = self._spot_of(above, None)
        if name == OPAQUE:
            spot.folder.opaque = True
        elif name == WHITEOUT:
            where = one_line("/" + "/".join(above))
            flaw = f"{self._name} holds a whiteout without a name in {where}"
            spot.folder.unnamed = flaw
            if len(self.flaws) < _MOST_FLAWS:
                self.flaws.append(flaw)
        else:
            self._hide(spot, name[len(WHITEOUT) :])

    def _hide(self, spot: _Spot, name: str) -> None:
        kept = self._kept
        if kept.full and name not in kept.names and not child_of(spot.lower, name):
            kept.dropped = True  # it hides what is not kept either, or nothing
            return
        if name not in (spot.folder.hides or ()):
            kept.add(name, None)
            spot.folder.hide(name)

    def _linked(self, member: TarMember) -> Item:
        target = _parts(member.linkname)
        found = self._target(target)
        if isinstance(found, Folder):
            return _LINKS_FOLDER
        if found:
            return found
        why = f"a hard link to /{'/'.join(target)}, which is in no layer up to {self._name}"
        link = HardLink(Node("file"), flaw=one_line(why), target="/".join(target))
        self._waiting.append(link)
        return link

    def _target(self, names: list[str]) -> Item | None:
        return at(self.root, names) or at(self._lower, names)

    def _spot_of(self, parts: list[str], head: str | None) -> _Spot:
        """Return a folder of this layer, implied where no member told of it."""
        found, names = self._walked(parts)
        path = "/" + "/".join(names)
        lower = at(self._lower, names)
        self._spot = _Spot(
            head,
            path,
            found,
            lower if isinstance(lower, Folder) else None,
            self._kept.lists(path),
        )
        return self._spot

    def _walked(self, parts: list[str]) -> tuple[Folder, list[str]]:
        trail, names, pending, hops = [self.root], [""], list(reversed(parts)), 0
        while pending:
            part = pending.pop()
            if part == "..":
                trail, names = trail[:-1] or trail, names[:-1] or names
                continue
            child = trail[-1].children.get(part)
            if child and child.node.kind == "link":
                hops += 1
                if hops > MAX_HOPS:
                    raise Damaged(f"a link loop holds a member: {one_line('/'.join(parts))}")
                if child.node.target.startswith("/"):
                    trail, names = trail[:1], names[:1]
                pending += [p for p in reversed(child.node.target.split("/")) if p not in ("", ".")]
                continue
            if not isinstance(child, Folder):
                child = folder()
                self._adopt(trail[-1], part, child)
            trail.append(child)
            names.append(part)
        return trail[-1], names[1:]

    def _adopt(self, parent: Folder, name: str, child: Item) -> None:
        if name not in parent.children or isinstance(child, Folder):
            self._kept.add(name, child)
        parent.children[name] = child


_LINKS_FOLDER = Item(Node("other"), flaw="a hard link to a folder")


def tell(watch: Watch, member: TarMember, read: Read) -> None:
    """Tell a watch what a member says; one that means nothing is left out.

    Args:
        watch: is told.
        member: of the layer that the watch was told of.
        read: returns a file's content.
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
    if member.islnk():
        watch.hard_link(path, posixpath.normpath("/" + member.linkname.lstrip("/")))
        return
    kind = kind_of(member)
    watch.entry(path, kind, member.size if kind == "file" else 0, read)


def _parts(name: str) -> list[str]:
    """Return a member's name as components: relative to the root, and never out of it."""
    clean = posixpath.normpath("/" + name.lstrip("/"))
    return [part for part in clean.split("/") if part]
