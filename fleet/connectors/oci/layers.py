"""Layers, read once each from the lowest up, as one tree.

Only what a tar header says is kept in memory, of very large images not even that of every file (see
:mod:`fleet.connectors.oci.kept`), and the content of small files whose names the request speaks of.
All other content is fetched when it is asked for: straight from a plain layer, by one more pass
over a compressed one, for all wanted files of that layer together.
"""

from collections.abc import Collection, Iterable, Sequence
from functools import partial
from typing import NamedTuple

from fleet.connectors.oci.diff import Diff, tell
from fleet.connectors.oci.items import Folder, HardLink, Item, child_of, folder, merge
from fleet.connectors.oci.kept import Kept, TooMany
from fleet.connectors.oci.plain import Hashes, Windowed
from fleet.connectors.oci.streams import (
    Blob,
    Budget,
    Damaged,
    Forward,
    Hashing,
    Stretch,
    Unpacked,
    compression,
)
from fleet.connectors.oci.tar import Seekable, Sparse, TarMember, members
from fleet.connectors.scan.watch import Watch
from fleet.connectors.text import one_line
from fleet.dataclass import dataclass
from fleet.errors import ProbeError, TargetError
from fleet.facts.request import TEXT_LIMIT
from fleet.facts.walk import Node, Unreadable

KEPT_LIMIT = 16 * 1024 * 1024
MOST_READINGS = 6
_HEAD = 512
_DAMAGED = "the image is damaged, or was copied only in part: fetch it again"
_NOT_TO_TRUST = "an image of so many folders and links is not one to trust"
_OFTEN = 1024  # members between two looks at the clock


@dataclass(frozen=True, slots=True)
class Layer:
    """A layer's blob, and what its bytes must hash to once decompressed (empty: nobody says)."""

    blob: Blob
    diff_id: str = ""


class _Key(NamedTuple):
    layer: int
    offset: int


class _Lacking(Exception):
    """Something may be there, and is not kept; the text is its name."""


class LayeredTree:
    """A :class:`fleet.facts.walk.Tree` over layers.

    Attributes:
        flaws: members of layers that mean nothing, one line each.
        passes: how often a layer was read from its start.
    """

    def __init__(
        self,
        layers: Sequence[Layer],
        budget: Budget,
        names: Collection[str],
        watch: Watch | None = None,
        kept: Kept | None = None,
    ) -> None:
        """Read all layers.

        Args:
            layers: the lowest first.
            budget: bounds bytes and time, later fetches included.
            names: last components of files whose content is likely to be wanted.
            watch: told of all that the layers hold, in the same pass.
            kept: decides what of the layers stays in memory; by default for ``names``.

        Raises:
            ProbeError: a layer is missing, cut, forged, no tar archive, or without end.
            Unsupported: a layer is compressed in an unknown way.
            Unreachable: no time was left.
        """
        self.flaws: list[str] = []
        self.passes = 0
        self._layers = tuple(layers)
        self._budget = budget
        self._names = frozenset(names)
        self._watch = watch
        self._kinds: dict[int, str] = {}
        self._kept: dict[_Key, bytes] = {}
        self._kept_size = 0
        self._held = kept or Kept(names)
        self._readings = 0
        self._root = folder()
        self._begin()

    def _begin(self) -> None:
        self._read_all()

    def _read_all(self) -> None:
        """Read all layers from the lowest up."""
        self._readings += 1
        self._root = folder()
        self._held.begin()
        with Hashes(self._budget.deadline) as hashes:
            for number in range(len(self._layers)):
                merge(self._root, self._scan(number, self._root, hashes).root)
                self._held.recount(self._root)
            self._verify(hashes)

    def lstat(self, path: str) -> Node | None:
        """Return what is at a physical path."""
        item = self._item(path)
        return item.node if item else None

    def listdir(self, path: str) -> list[str]:
        """Return the names in a folder."""
        while isinstance(item := self._item(path), Folder) and self._lacks(item, path):
            del item  # with its folder, before as much is read again
            self._read_again(path)
        children = item.children if isinstance(item, Folder) else {}
        for child in children.values():
            if child.flaw:
                raise Unreadable(path, child.flaw)
        return list(children)

    def _lacks(self, folder: Folder, path: str) -> bool:
        """Tell whether more must be kept before a folder can be listed; ask for it to be."""
        clean = "/" + "/".join(_names(path))
        if folder.partial and self._held.lists(clean):
            raise Unreadable(path, "it holds more names than are kept")
        lacking = [c.lacks for c in folder.children.values() if isinstance(c, HardLink) and c.lacks]
        for name in lacking:
            self._held.seek(name)
        if folder.partial:
            self._held.seek_in(clean)
        return folder.partial or bool(lacking)

    def read(self, path: str, limit: int) -> bytes:
        """Return a file's content."""
        item = self._item(path)
        if item is None or item.node.kind != "file":
            raise Unreadable(path, "not a file")
        if item.node.size > limit:
            raise Unreadable(path, f"larger than {limit} bytes")
        key = _Key(item.layer, item.offset)
        if key not in self._kept:
            self._fetch([item])
        return self._kept[key]

    def prefetch(self, paths: Collection[str]) -> None:
        """Fetch files' contents, each layer once."""
        items = []
        for path in paths:
            try:
                item = self._item(path)
            except Unreadable:
                continue  # whoever reads it is told
            if item and item.node.kind == "file" and item.node.size <= TEXT_LIMIT:
                items.append(item)
        self._fetch(items)

    def _item(self, path: str) -> Item | None:
        while True:
            try:
                return self._looked(path)
            except _Lacking as lacking:
                name = str(lacking)
            self._held.seek(name)
            self._read_again(path)

    def _looked(self, path: str) -> Item | None:
        """Look a path up among what is kept.

        Raises:
            _Lacking: there may be more.
        """
        item: Item | None = self._root
        seen = ""
        for name in _names(path):
            above, item = item, child_of(item, name)
            if item is None:
                if isinstance(above, Folder) and self._held.may_hold(seen or "/", name):
                    raise _Lacking(name)
                return None
            seen = f"{seen}/{name}"
            if item.flaw:
                raise Unreadable(seen, item.flaw)
            if isinstance(item, HardLink) and item.lacks:
                raise _Lacking(item.lacks)
        return item

    def _read_again(self, path: str) -> None:
        """Read all layers once more, now that more is known of what is asked for."""
        if self._readings >= MOST_READINGS:
            raise Unreadable(path, f"not found in {MOST_READINGS} readings of very large layers")
        self._watch = None  # it was told
        self.flaws.clear()
        self._budget.spent = 0
        self._read_all()

    def _verify(self, hashes: Hashes) -> None:
        for blob, why in hashes.compare():
            self._budget.spend(0)  # without time nothing was hashed to its end
            raise self._damaged(blob, why)

    def _scan(self, number: int, lower: Folder, hashes: Hashes) -> Diff:
        layer = self._layers[number]
        diff = Diff(number, layer.blob.name, lower, self._held)
        self.passes += 1
        if self._watch:
            self._watch.layer(layer.diff_id or layer.blob.digest)
        try:
            with layer.blob.open() as stored:
                kind = self._kind(stored, layer.blob)
                marked = not (layer.blob.digest or layer.diff_id)
                if kind == "plain":
                    self._budget.spend(layer.blob.size)
                    hashes.begin(layer.blob, (layer.blob.digest, layer.diff_id))
                    source = Windowed(stored, layer.blob.size)
                    self._collect(diff, source, marked=marked)
                else:
                    outer = Hashing(stored, layer.blob.digest)
                    inner = Hashing(Unpacked(outer, kind, self._budget), layer.diff_id)
                    self._collect(diff, Forward(inner), marked=marked)
                    inner.verify()
                    outer.verify()
        except TooMany as error:
            raise self._damaged(layer.blob, str(error), _NOT_TO_TRUST) from error
        except Damaged as error:
            raise self._damaged(layer.blob, str(error)) from error
        except TargetError:
            raise  # one of them is an OSError too
        except OSError as error:
            raise self._damaged(layer.blob, error.strerror or str(error)) from error
        self._kinds[number] = kind
        self.flaws += diff.flaws
        diff.finish()
        return diff

    def _kind(self, stored: Stretch, blob: Blob) -> str:
        kind = compression(stored.read(_HEAD), blob.media, f"{self._budget.where}, {blob.name}")
        stored.seek(0)
        return kind

    def _collect(self, diff: Diff, source: Seekable, *, marked: bool) -> None:
        for count, member in enumerate(members(source, marked=marked)):
            if count % _OFTEN == 0:
                self._budget.spend(0)
            key = _Key(diff.number, member.offset_data)
            if diff.add(member) and self._likely(member):
                self._kept[key] = _content(member.size, member.offset_data, member.sparse, source)
                self._kept_size += member.size
            if self._watch:
                tell(self._watch, member, partial(self._passing, key, member, source))

    def _passing(self, key: _Key, member: TarMember, source: Seekable, limit: int) -> bytes:
        """Return the content of the member that the source stands at."""
        if member.size > limit:
            raise Unreadable("", f"larger than {limit} bytes")
        if key in self._kept:
            return self._kept[key]
        return _content(member.size, member.offset_data, member.sparse, source)

    def _likely(self, member: TarMember) -> bool:
        if member.name.rpartition("/")[2] not in self._names:
            return False
        return member.size <= min(TEXT_LIMIT, KEPT_LIMIT - self._kept_size)

    def _fetch(self, items: Iterable[Item]) -> None:
        wanted = {_Key(item.layer, item.offset): item for item in items}
        missing = sorted(wanted.keys() - self._kept.keys())
        for number in sorted({key.layer for key in missing}):
            keys = [key for key in missing if key.layer == number]
            self._fetch_from(number, [wanted[key] for key in keys])

    def _fetch_from(self, number: int, items: list[Item]) -> None:
        layer, kind = self._layers[number], self._kinds[number]
        self.passes += kind != "plain"
        try:
            with layer.blob.open() as stored:
                plain = kind == "plain"
                source = stored if plain else Forward(Unpacked(stored, kind, self._budget))
                for item in items:
                    key = _Key(number, item.offset)
                    self._kept[key] = _content(item.node.size, item.offset, item.sparse, source)
        except TargetError:
            raise
        except (Damaged, OSError) as error:
            raise self._damaged(layer.blob, str(error)) from error

    def _damaged(self, blob: Blob, why: str, hint: str = _DAMAGED) -> ProbeError:
        return ProbeError(
            f"{blob.name} cannot be read: {one_line(why)}",
            where=self._budget.where,
            hint=hint,
        )


def _names(path: str) -> list[str]:
    return [part for part in path.split("/") if part]


def _content(size: int, position: int, sparse: Sparse | None, source: Seekable) -> bytes:
    content = bytearray(size)
    for offset, length in sparse if sparse is not None else ((0, size),):
        source.seek(position)
        part = source.read(length)
        if len(part) != length or not 0 <= offset <= len(content) - length:
            raise Damaged("it ends in the middle of a file")
        content[offset : offset + length] = part
        position += length
    return bytes(content)
