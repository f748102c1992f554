"""Which of an image's names stay in memory, and what is remembered of all others.

An ordinary image is kept whole. Of a very large one folders, links, and the files whose names may
be asked for are kept; of all other files only marks in a table of fixed size, which tells of a name
that it was there or may have been, and of no other. So a name without a mark is truly absent, and
one with a mark is looked for in one more reading, with its name added to those that are kept.
"""

from collections.abc import Collection

from fleet.connectors.oci.items import Folder, Item, below
from fleet.connectors.oci.streams import Damaged

SPARE = 300_000
MOST = 500_000
MOST_LISTED = 20_000
_FILE, _FOLDER = 2, 3  # what they cost in memory, in parts of about 150 bytes
_TEXT = 6  # 64 characters of a name cost one part more
_MOST_NAMES = 10_000
_BITS = 26
_MASK = (1 << _BITS) - 1


class TooMany(Damaged):
    """Layers hold more that must be kept than can be."""


class Kept:
    """Decides what stays in memory.

    Attributes:
        names: last components of what is kept whatever its folder.
        dropped: something was not kept, in the present reading.
    """

    def __init__(
        self,
        names: Collection[str],
        folders: Collection[str] = (),
        *,
        spare: int = SPARE,
        most: int = MOST,
    ) -> None:
        """Keep nothing yet.

        Args:
            names: last components of what may be asked for.
            folders: that may be listed: absolute, or ``~/`` and a path from any home.
            spare: parts of memory up to which everything is kept.
            most: parts of memory above which an image is refused.
        """
        self.names = set(names)
        self._whole = frozenset(self.names)  # those that were kept since the reading began
        self.dropped = False
        self._listed = {path for path in folders if path.startswith("/")}
        self._homely = tuple(path[1:] for path in folders if path.startswith("~/"))
        self._spare = spare
        self._most = most
        self._parts = 0
        self._marks = bytearray()

    def begin(self) -> None:
        """Begin a reading of all layers."""
        self.dropped, self._parts, self._marks = False, 0, bytearray()
        self._whole = frozenset(self.names)

    def seek(self, name: str) -> None:
        """Keep what has this name from now on."""
        if len(self.names) < _MOST_NAMES:
            self.names.add(name)

    def seek_in(self, folder: str) -> None:
        """Keep what a folder holds from now on."""
        self._listed.add(folder)

    def lists(self, folder: str) -> bool:
        """Tell whether all is kept that a folder holds, up to a bound."""
        return folder in self._listed or folder.endswith(self._homely)

    @property
    def full(self) -> bool:
        """Tell whether no more is kept than must be."""
        return self._parts >= self._spare

    @property
    def roomy(self) -> bool:
        """Tell whether folders that are listed still have a place."""
        return self._parts < (self._spare + self._most) // 2

    def add(self, name: str, item: Item | None) -> None:
        """Count what is kept; None is a name that is hidden.

        Raises:
            TooMany: it is more than can be.
        """
        self._parts += _cost(name, item)
        if self._parts > self._most:
            most = f"{self._most // _FOLDER} folders or {self._most // _FILE} links"
            raise TooMany(f"with it more than {most} would have to be kept; stopped reading")

    def recount(self, root: Folder) -> None:
        """Count anew what is kept of all layers so far."""
        if self._parts * 2 > self._spare:
            self._parts = sum(_cost(name, item) for name, item in below(root))

    def drop(self, folder: str, name: str) -> None:
        """Remember that a folder may hold this name."""
        self.dropped = True
        self._marks = self._marks or bytearray((_MASK + 1) >> 3)
        mark = hash((folder, name))
        self._marks[(mark & _MASK) >> 3] |= 1 << (mark & 7)
        mark >>= _BITS
        self._marks[(mark & _MASK) >> 3] |= 1 << (mark & 7)

    def may_hold(self, folder: str, name: str) -> bool:
        """Tell whether a folder may hold a name that is not kept."""
        if not self._marks or name in self._whole:
            return False
        mark = hash((folder, name))
        other = mark >> _BITS
        return bool(
            self._marks[(mark & _MASK) >> 3] & 1 << (mark & 7)
            and self._marks[(other & _MASK) >> 3] & 1 << (other & 7)
        )


def _cost(name: str, item: Item | None) -> int:
    parts = _FOLDER if isinstance(item, Folder) else _FILE
    return parts + ((len(name) + (len(item.node.target) if item else 0)) >> _TEXT)
