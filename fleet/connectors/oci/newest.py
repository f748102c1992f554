"""Layers read from the newest down, and no further than the questions go.

A file in a layer hides whatever is below it, and so does a whiteout; a name that no layer has shown
yet may still be in the next one. So a file takes the layers down to its own. A path that is in no
layer, a folder's whole content, and the owner of a folder that no member tells of take them all;
so do layers that hold more than is kept.
"""

from fleet.connectors.oci.diff import Diff
from fleet.connectors.oci.items import Folder, Item, folder, merge
from fleet.connectors.oci.layers import LayeredTree
from fleet.connectors.oci.plain import Hashes

NOT_NEEDED = "not downloaded: every answer lies above; --scan all takes them all"


class NewestFirst(LayeredTree):
    """A :class:`LayeredTree` whose layers are opened one by one, when an answer needs them.

    Of the root folder it tells that it is there, and its owner only when all layers were read:
    every walk begins there.
    """

    def _begin(self) -> None:
        self._unread = len(self._layers)
        self._later, self._watch = self._watch, None

    def listdir(self, path: str) -> list[str]:
        """Return the names in a folder."""
        while self._unread and not self._settled(path, listing=True):
            self._go_down()
        return super().listdir(path)

    def tell_watch(self) -> None:
        """Tell the watch of the layers that were read, once more and the lowest first."""
        self._watch, self._later = self._later, None
        if self._watch is None:
            return
        flaws = list(self.flaws)
        root = self._root = folder()  # whoever asks again has it read again
        self._held.begin()
        for number, layer in enumerate(self._layers):
            if number < self._unread:
                self._watch.unseen(layer.diff_id or layer.blob.digest, NOT_NEEDED)
            else:
                merge(root, self._alone(number, root).root)
                self._held.recount(root)
        self.flaws[:] = flaws
        self._unread = len(self._layers)
        self._held.begin()

    def _item(self, path: str) -> Item | None:
        while self._unread and not self._settled(path, listing=False):
            self._go_down()
        return super()._item(path)

    def _go_down(self) -> None:
        self._unread -= 1
        diff = self._alone(self._unread, folder())
        if diff.lower or self._held.dropped:
            del diff  # before as much is read again
            self._from_below()
        else:
            merge(diff.root, self._root)
            self._root = diff.root
            self._held.recount(self._root)

    def _alone(self, number: int, lower: Folder) -> Diff:
        with Hashes(self._budget.deadline) as hashes:
            layer = self._scan(number, lower, hashes)
            self._verify(hashes)
        return layer

    def _from_below(self) -> None:
        """Read all layers the usual way round.

        A hard link leads out of its own layer, or there is more in them than is kept.
        """
        self.flaws.clear()
        self._unread = 0
        self._read_all()

    def _settled(self, path: str, *, listing: bool) -> bool:
        """Tell whether no layer further below can change the answer about a path."""
        item, hidden, closed = self._root, False, self._root.opaque
        names = [name for name in path.split("/") if name]
        for name in names:
            if item.unnamed and not closed:
                return False
            hidden = closed or name in (item.hides or ())
            child = item.children.get(name)
            if child is None:
                return hidden
            if not isinstance(child, Folder):
                return True
            item, closed = child, hidden or child.opaque
        return closed if listing else hidden or not item.implied or not names
