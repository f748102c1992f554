"""Layers, read once each from the lowest up, as one tree.

Only what a tar header says is kept in memory, and the content of small files whose names the
request speaks of. All other content is fetched when it is asked for: straight from a plain layer,
by one more pass over a compressed one, for all wanted files of that layer together.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from fleet.connectors.oci.diff import Diff, Item, child_of, folder, merge, tell
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
from fleet.connectors.oci.tar import Seekable, members
from fleet.connectors.scan.watch import Watch
from fleet.connectors.text import one_line
from fleet.errors import ProbeError, TargetError
from fleet.facts.request import TEXT_LIMIT
from fleet.facts.walk import Node, Unreadable

KEPT_LIMIT = 32 * 1024 * 1024
_HEAD = 512
_OFTEN = 1024  # members between two looks at the clock


@dataclass(frozen=True, slots=True)
class Layer:
    """A layer's blob, and what its bytes must hash to once decompressed (empty: nobody says)."""

    blob: Blob
    diff_id: str = ""


class _Key(NamedTuple):
    layer: int
    offset: int


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
    ) -> None:
        """Read all layers.

        Args:
            layers: the lowest first.
            budget: bounds bytes and time, later fetches included.
            names: last components of files whose content is likely to be wanted.
            watch: told of all that the layers hold, in the same pass.

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
        self._root = folder()
        self._begin()

    def _begin(self) -> None:
        with Hashes(self._budget.deadline) as hashes:
            for number in range(len(self._layers)):
                merge(self._root, self._scan(number, self._root, hashes))
            self._verify(hashes)

    def lstat(self, path: str) -> Node | None:
        """Return what is at a physical path."""
        item = self._item(path)
        return item.node if item else None

    def listdir(self, path: str) -> list[str]:
        """Return the names in a folder."""
        item = self._item(path)
        children = item.children or {} if item else {}
        for child in children.values():
            if child.flaw:
                raise Unreadable(path, child.flaw)
        return list(children)

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
        item: Item | None = self._root
        seen = ""
        for name in (part for part in path.split("/") if part):
            item = child_of(item, name) if item else None
            if item is None:
                return None
            seen = f"{seen}/{name}"
            if item.flaw:
                raise Unreadable(seen, item.flaw)
        return item

    def _verify(self, hashes: Hashes) -> None:
        for blob, why in hashes.compare():
            self._budget.spend(0)  # without time nothing was hashed to its end
            raise self._damaged(blob, why)

    def _scan(self, number: int, lower: Item, hashes: Hashes) -> Item:
        layer = self._layers[number]
        diff = Diff(number, layer.blob.name, lower)
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
        except Damaged as error:
            raise self._damaged(layer.blob, str(error)) from error
        except TargetError:
            raise  # one of them is an OSError too
        except OSError as error:
            raise self._damaged(layer.blob, error.strerror or str(error)) from error
        self._kinds[number] = kind
        self.flaws += diff.flaws
        return diff.finish()

    def _kind(self, stored: Stretch, blob: Blob) -> str:
        kind = compression(stored.read(_HEAD), blob.media, f"{self._budget.where}, {blob.name}")
        stored.seek(0)
        return kind

    def _collect(self, diff: Diff, source: Seekable, *, marked: bool) -> None:
        for count, member in enumerate(members(source, marked=marked)):
            if count % _OFTEN == 0:
                self._budget.spend(0)
            item = diff.add(member)
            if item and self._likely(member.name, item):
                self._keep(item, source)
            if self._watch:
                read = partial(self._passing, item, source)
                tell(self._watch, member, item.node.size if item else 0, read)

    def _passing(self, item: Item | None, source: Seekable, limit: int) -> bytes:
        """Return the content of the member that the source stands at."""
        if item is None or item.node.size > limit:
            raise Unreadable("", f"larger than {limit} bytes")
        kept = self._kept.get(_Key(item.layer, item.offset))
        return _content(item, source) if kept is None else kept

    def _likely(self, name: str, item: Item) -> bool:
        named = name.rpartition("/")[2] in self._names
        room = min(TEXT_LIMIT, KEPT_LIMIT - self._kept_size)
        return named and item.node.size <= room

    def _keep(self, item: Item, source: Seekable) -> None:
        self._kept[_Key(item.layer, item.offset)] = _content(item, source)
        self._kept_size += item.node.size

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
                    self._kept[_Key(number, item.offset)] = _content(item, source)
        except TargetError:
            raise
        except (Damaged, OSError) as error:
            raise self._damaged(layer.blob, str(error)) from error

    def _damaged(self, blob: Blob, why: str) -> ProbeError:
        return ProbeError(
            f"{blob.name} cannot be read: {one_line(why)}",
            where=self._budget.where,
            hint="the image is damaged, or was copied only in part: fetch it again",
        )


def _content(item: Item, source: Seekable) -> bytes:
    stretches = item.sparse if item.sparse is not None else ((0, item.node.size),)
    content = bytearray(item.node.size)
    position = item.offset
    for offset, length in stretches:
        source.seek(position)
        part = source.read(length)
        if len(part) != length or not 0 <= offset <= len(content) - length:
            raise Damaged("it ends in the middle of a file")
        content[offset : offset + length] = part
        position += length
    return bytes(content)
