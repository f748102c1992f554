"""The one YAML loader: YAML 1.2 scalars, no duplicate keys, bounded, with places.

PyYAML's parser (libyaml where it is built in) supplies events; what they mean is decided here, so
none of its YAML 1.1 readings take part. Bounds hold before anything is expanded: a text of more
than :data:`MAX_BYTES`, more than :data:`MAX_DEPTH` levels or more than :data:`MAX_NODES` nodes
(aliases counted as often as they are used) is refused.
"""

import re
from collections.abc import Iterator
from dataclasses import field
from typing import Final

import yaml as pyyaml
from yaml.events import (
    AliasEvent,
    CollectionStartEvent,
    DocumentStartEvent,
    Event,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from fleet.dataclass import dataclass
from fleet.errors import InventoryError, Place
from fleet.inventory.model import Value
from fleet.inventory.nodes import ListNode, MapNode, Node, Pair, ScalarNode
from fleet.inventory.scalars import plain_scalar
from fleet.inventory.tags import tagged_scalar, unknown_tag
from fleet.inventory.yaml_errors import LAST_CHARACTER, NO_CHARACTER, syntax_error

MAX_BYTES: Final = 4 * 1024 * 1024
MAX_DEPTH: Final = 40
MAX_NODES: Final = 200_000
MAX_KEY: Final = 1024  # YAML's own limit on a key without a `?` before it
_SHOWN = 60

# What YAML lets stand by itself, turned about: a class of its few characters is compiled ten times
# as fast as one of all the others, and this is a hundredth of a short command.
_UNPRINTABLE = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufeff\ufffe\uffff]"
)
_LOADER = getattr(pyyaml, "CSafeLoader", pyyaml.SafeLoader)
# JSON writes a character beyond U+FFFF as a pair of escapes, and YAML 1.2 takes all of JSON.
# libyaml refuses the pair; PyYAML's own parser leaves its halves, which are joined here.
_HALF_ESCAPE = re.compile(r"\\(?:u|U0000)[dD][89a-fA-F]")
_HALF = re.compile("[\ud800-\udfff]")
_LONE_HALF = re.compile("[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]")


def load(text: str | bytes, file: str) -> Value:
    """Read a YAML text as plain data; ``file`` is the name that errors carry.

    Raises:
        InventoryError: it is no YAML, or one that this loader refuses; carries the place.
    """
    return parse(text, file).data()


def parse(text: str | bytes, file: str) -> Node:
    """Read a YAML text as a tree that knows where everything stands. An empty text is null.

    Raises:
        InventoryError: it is no YAML, or one that this loader refuses; carries the place.
    """
    clean = _clean(text, file)
    composer = _Composer(file)
    try:
        loader = pyyaml.SafeLoader if _HALF_ESCAPE.search(clean) else _LOADER
        for event in pyyaml.parse(clean, Loader=loader):
            composer.take(event)
    except pyyaml.MarkedYAMLError as error:
        raise syntax_error(error, clean, file) from None
    except InventoryError:
        raise
    except (ValueError, OverflowError):  # what PyYAML's own parser makes of "\\UFFFFFFFF"
        raise InventoryError(NO_CHARACTER, place=Place(file), hint=LAST_CHARACTER) from None
    except pyyaml.YAMLError as error:
        raise InventoryError(f"this is not YAML: {error}", place=Place(file)) from None
    return composer.root or ScalarNode(None, "", Place(file, 1, 1))


def _joined(text: str, place: Place) -> str:
    """Join the halves of characters that were written as a pair of escapes."""
    if not _HALF.search(text):
        return text
    lone = _LONE_HALF.search(text)
    if lone:
        raise InventoryError(
            f"\\u{ord(lone.group()):04x} is half of a character, and the other half is missing",
            place=place,
            hint='a pair is one character, as in "\\ud83d\\ude00"; or write the character itself',
        )
    return text.encode("utf-16", "surrogatepass").decode("utf-16")


def decoded(raw: bytes, file: str) -> str:
    """Return a file's bytes as text.

    Raises:
        InventoryError: they are not UTF-8; carries the place of the first wrong byte.
    """
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        before = raw[: error.start].decode("utf-8")
        raise InventoryError(
            f"byte 0x{raw[error.start]:02x} is not UTF-8 text",
            place=_spot(before, len(before), file),
            hint="save the file as UTF-8",
        ) from None


def _clean(text: str | bytes, file: str) -> str:
    if len(text) > MAX_BYTES:
        limit = f"{MAX_BYTES // 1024**2} MiB"
        raise InventoryError(f"the file is larger than {limit}", place=Place(file))
    text = (decoded(text, file) if isinstance(text, bytes) else text).removeprefix("\ufeff")
    bad = _UNPRINTABLE.search(text)
    if bad:
        raise InventoryError(
            f"the character U+{ord(bad.group()):04X} cannot stand in YAML",
            place=_spot(text, bad.start(), file),
            hint='write it inside double quotes as an escape, such as "\\x07"',
        )
    return text


def _spot(text: str, index: int, file: str) -> Place:
    line_start = text.rfind("\n", 0, index) + 1
    return Place(file, text.count("\n", 0, index) + 1, index - line_start + 1)


@dataclass(slots=True)
class _Frame:
    """A list or mapping whose end has not been read."""

    place: Place
    anchor: str | None
    is_map: bool
    items: list[Node] = field(default_factory=list)
    pairs: dict[str, Pair] = field(default_factory=dict)
    merged: dict[str, Pair] = field(default_factory=dict)
    key: ScalarNode | None = None
    key_end: tuple[int, int] = (0, 0)
    key_length: int = 0  # as it is written


class _Composer:
    """Builds the tree, event by event, without recursion."""

    def __init__(self, file: str) -> None:
        self.root: Node | None = None
        self._file = file
        self._stack: list[_Frame] = []
        self._anchors: dict[str, Node] = {}

    def take(self, event: Event) -> None:
        """Take the next event of the stream."""
        if isinstance(event, ScalarEvent):
            self._refuse_missing_colon(event)
            self._add(self._scalar(event), event.anchor)
        elif isinstance(event, CollectionStartEvent):
            self._open(event)
        elif isinstance(event, AliasEvent):
            self._add(self._alias(event), None)
        elif isinstance(event, DocumentStartEvent) and self.root is not None:
            raise InventoryError(
                "a second document begins here",
                place=self._place(event),
                hint="one file holds one document: remove the `---` or use two files",
            )
        elif isinstance(event, SequenceEndEvent | pyyaml.MappingEndEvent):
            self._close()

    def _place(self, event: Event) -> Place:
        mark = event.start_mark
        return Place(self._file, mark.line + 1, mark.column + 1) if mark else Place(self._file)

    def _scalar(self, event: ScalarEvent) -> ScalarNode:
        place = self._place(event)
        text = _joined(event.value, place)
        if event.tag not in (None, "!"):
            key = self._stack[-1].key if self._stack else None
            return tagged_scalar(event.tag, text, place, key.text if key else "")
        is_plain = event.implicit[0] and event.tag is None
        return ScalarNode(plain_scalar(text) if is_plain else text, text, place)

    def _open(self, event: CollectionStartEvent) -> None:
        place = self._place(event)
        expected = "map" if isinstance(event, MappingStartEvent) else "seq"
        if event.tag not in (None, "!", f"tag:yaml.org,2002:{expected}"):
            raise unknown_tag(event.tag, place)
        if len(self._stack) >= MAX_DEPTH:
            raise InventoryError(f"this is nested deeper than {MAX_DEPTH} levels", place=place)
        is_map = not isinstance(event, SequenceStartEvent)
        self._refuse_key(is_scalar=False, place=place)
        self._stack.append(_Frame(place, event.anchor, is_map))

    def _alias(self, event: NodeEvent) -> Node:
        place, name = self._place(event), str(event.anchor)
        if name in self._anchors:
            return self._anchors[name]
        inside = any(frame.anchor == name for frame in self._stack)
        what = f"`*{name}` stands inside of what it names" if inside else f"no anchor `&{name}`"
        raise InventoryError(what if inside else f"{what} stands above this", place=place)

    def _close(self) -> None:
        frame = self._stack.pop()
        if frame.is_map:
            pairs = {**frame.merged, **frame.pairs}
            values: list[Node] = [pair.value for pair in pairs.values()]
        else:
            values = frame.items
        weight = 1 + sum(v.weight for v in values)
        height = 1 + max((v.height for v in values), default=0)
        if frame.is_map:
            node: Node = MapNode(pairs, frame.place, weight, height)
        else:
            node = ListNode(tuple(values), frame.place, weight, height)
        self._add(node, frame.anchor)

    def _add(self, node: Node, anchor: str | None) -> None:
        self._bound(node)
        if anchor is not None:
            self._anchors[anchor] = node
        if not self._stack:
            self.root = node
            return
        frame = self._stack[-1]
        if not frame.is_map:
            frame.items.append(node)
        elif frame.key is None:
            frame.key = self._key(node)
        else:
            self._pair(frame, frame.key, node)
            frame.key = None

    def _bound(self, node: Node) -> None:
        place = self._stack[-1].place if self._stack else node.place
        if node.weight > MAX_NODES:
            raise InventoryError(
                f"its aliases come to more than {MAX_NODES} parts when written out", place=place
            )
        if len(self._stack) + node.height > MAX_DEPTH + 1:
            raise InventoryError(f"this is nested deeper than {MAX_DEPTH} levels", place=place)

    def _refuse_key(self, *, is_scalar: bool, place: Place) -> None:
        awaits_key = bool(self._stack) and self._stack[-1].is_map and self._stack[-1].key is None
        if awaits_key and not is_scalar:
            raise InventoryError(
                "a list or mapping cannot be a key",
                place=place,
                hint='quote text that holds `{{ … }}`: "{{ name }}"',
            )

    def _refuse_missing_colon(self, event: ScalarEvent) -> None:
        """Refuse ``{a: one, two}``, which YAML reads as a key ``two`` without a value."""
        frame = self._stack[-1] if self._stack else None
        if frame is None or not frame.is_map or event.end_mark is None:
            return
        if frame.key is None:
            frame.key_end = (event.end_mark.line, event.end_mark.column)
            start = event.start_mark.index if event.start_mark else 0
            frame.key_length = event.end_mark.index - start
        elif not event.value and frame.key_end == (event.end_mark.line, event.end_mark.column):
            if frame.key_length > MAX_KEY:
                raise InventoryError(
                    f"a key of {frame.key_length} characters; YAML takes at most {MAX_KEY}",
                    place=frame.key.place,
                )
            shown = frame.key.text[:_SHOWN] + "…" * (len(frame.key.text) > _SHOWN)
            raise InventoryError(
                f"`{shown}` has no `:` after it",
                place=frame.key.place,
                hint="after a `:` a space follows; a text that holds a comma needs quotes",
            )

    def _key(self, node: Node) -> ScalarNode:
        self._refuse_key(is_scalar=isinstance(node, ScalarNode), place=node.place)
        if not isinstance(node, ScalarNode) or not node.text:
            raise InventoryError("a key is missing before the `:`", place=node.place)
        return node

    def _pair(self, frame: _Frame, key: ScalarNode, value: Node) -> None:
        if key.text == "<<":
            for name, pair in _to_merge(key, value):
                frame.merged.setdefault(name, pair)
            return
        held = frame.pairs.get(key.text)
        if held:
            raise InventoryError(
                f"duplicate key `{key.text}`: first in line {held.place.line}, "
                f"again in line {key.place.line}",
                place=key.place,
                hint="keep one of the two; YAML itself would silently drop the first",
            )
        frame.pairs[key.text] = Pair(key.place, value)


def _to_merge(key: ScalarNode, value: Node) -> Iterator[tuple[str, Pair]]:
    for node in value.items if isinstance(value, ListNode) else (value,):
        if not isinstance(node, MapNode):
            raise InventoryError(f"`<<` merges mappings, and this is {node.kind}", place=key.place)
        yield from node.pairs.items()
