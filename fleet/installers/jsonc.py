"""Set values in JSON with comments without touching a byte of anything else.

The edits are computed here, from the bytes that were read, and carried out on the target as
splices. Setting what is already set gives no edit.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field

from fleet.dataclass import dataclass
from fleet.installers.jsonc_read import Member, Node, read_jsonc


@dataclass(frozen=True, slots=True)
class Edit:
    """Characters of the text that are replaced: ``text[start:end]`` becomes ``new``."""

    start: int
    end: int
    new: str


@dataclass(frozen=True, slots=True)
class Replaced:
    """A value that stands there and is another than the wanted one."""

    pointer: str
    was: object


@dataclass(slots=True)
class Merged:
    """What setting values comes to.

    Attributes:
        edits: in the order of the text, not overlapping.
        inserted: JSON pointers of members that were not there.
        replaced: values that would be changed.
    """

    edits: list[Edit] = field(default_factory=list)
    inserted: list[str] = field(default_factory=list)
    replaced: list[Replaced] = field(default_factory=list)


def merge(text: str, values: Mapping[str, object]) -> Merged:
    """Work out how to set values: mappings are merged member by member, all else is set.

    Raises:
        BrokenJson: the text is not JSON, even with comments.
        ValueError: its value is no object.
    """
    root = read_jsonc(text)
    style = _Style.of(text, root)
    merged = Merged()
    if root is None:
        lead = "" if not text or text.endswith(("\n", "\ufeff")) else style.newline
        whole = style.render(values, "") + style.newline
        merged.edits.append(Edit(len(text), len(text), lead + whole))
        merged.inserted.append("")
        return merged
    if root.members is None:
        raise ValueError("the file's value is no object")
    _merge_object(text, style, root, values, "", merged)
    merged.edits.sort(key=lambda edit: (edit.start, edit.end))
    return merged


def _merge_object(
    text: str, style: "_Style", node: Node, values: Mapping[str, object], at: str, merged: Merged
) -> None:
    missing: dict[str, object] = {}
    for key, value in values.items():
        pointer = f"{at}/{escaped(key)}"
        member = node.member(key)
        if member is None:
            missing[key] = value
            merged.inserted.append(pointer)
        elif isinstance(value, Mapping) and member.node.members is not None:
            _merge_object(text, style, member.node, value, pointer, merged)
        elif canonical(member.node.plain()) != canonical(value):
            merged.replaced.append(Replaced(pointer, member.node.plain()))
            indent = style.indent_at(text, member.start)
            new = (
                style.render(value, indent) if _own_line(text, member.start) else style.flat(value)
            )
            merged.edits.append(Edit(member.node.start, member.node.end, new))
    if missing:
        merged.edits.extend(_insertions(text, style, node, missing))


def _insertions(
    text: str, style: "_Style", node: Node, missing: Mapping[str, object]
) -> Iterator[Edit]:
    members = node.members or []
    inside = text[node.start + 1 : members[0].start if members else node.end]
    if members and "\n" not in inside and "\n" not in text[node.tail : node.end]:
        flat = ", ".join(
            f"{json.dumps(k, ensure_ascii=False)}: {style.flat(v)}" for k, v in missing.items()
        )
        last = members[-1]
        place = last.comma or last.node.end
        yield Edit(place, place, f" {flat}," if last.comma else f", {flat}")
        return
    own = style.indent_at(text, node.start)
    child = own + style.unit
    if members and _own_line(text, members[0].start):
        child = style.indent_at(text, members[0].start)
    if members and not node.comma:
        end = members[-1].node.end
        yield Edit(end, end, ",")
    lines = [
        f"{style.newline}{child}{json.dumps(key, ensure_ascii=False)}: {style.render(value, child)}"
        for key, value in missing.items()
    ]
    new = ",".join(lines) + ("," if node.comma else "")
    if "\n" not in text[node.tail : node.end]:
        new += style.newline + own
    yield Edit(node.tail, node.tail, new)


def remove(text: str, pointers: Sequence[str]) -> list[Edit] | None:
    """Work out how to take members out again; None when one of them is not there.

    Raises:
        BrokenJson: the text is not JSON, even with comments.
    """
    root = read_jsonc(text)
    doomed: dict[int, tuple[Node, list[Member]]] = {}
    for pointer in pointers:
        found = find(root, pointer)
        if found is None:
            return None
        parent, member = found
        doomed.setdefault(parent.start, (parent, []))[1].append(member)
    edits = [edit for parent, gone in doomed.values() for edit in _removals(parent, gone)]
    return sorted(edits, key=lambda edit: (edit.start, edit.end))


def find(root: Node | None, pointer: str) -> tuple[Node, Member] | None:
    """Return a member and the object it is in, by JSON pointer."""
    node, member, parent = root, None, None
    for key in pointer.split("/")[1:]:
        if node is None:
            return None
        parent, member = node, node.member(key.replace("~1", "/").replace("~0", "~"))
        if member is None:
            return None
        node = member.node
    return (parent, member) if parent is not None and member is not None else None


def _removals(parent: Node, gone: Sequence[Member]) -> Iterator[Edit]:
    """Take members out, and the comma that only stood before them."""
    for member in gone:
        yield Edit(member.before, member.comma or member.node.end, "")
    members = parent.members or []
    kept = [member for member in members if member not in gone]
    if kept and members[-1] in gone and not parent.comma and kept[-1].comma is not None:
        yield Edit(kept[-1].comma - 1, kept[-1].comma, "")


def applied(text: str, edits: Sequence[Edit]) -> str:
    """Return the text with the edits made."""
    parts, at = [], 0
    for edit in edits:
        parts += [text[at : edit.start], edit.new]
        at = edit.end
    return "".join([*parts, text[at:]])


def leaves(values: Mapping[str, object], at: str = "") -> Iterator[tuple[str, object]]:
    """Yield every value that is no mapping, by JSON pointer."""
    for key, value in values.items():
        pointer = f"{at}/{escaped(key)}"
        if isinstance(value, Mapping) and value:
            yield from leaves(value, pointer)
        else:
            yield pointer, value


def escaped(key: str) -> str:
    """Spell a key as a part of a JSON pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")


def canonical(value: object) -> str:
    """Return one spelling for equal values; 1 and true differ."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class _Style:
    """How a text is laid out, so that what is put in looks like the rest."""

    newline: str
    unit: str

    @classmethod
    def of(cls, text: str, root: Node | None) -> "_Style":
        first = text.find("\n")
        newline = "\r\n" if first > 0 and text[first - 1] == "\r" else "\n"
        members = root.members if root and root.members else []
        unit = cls.indent_at(text, members[0].start) if members else ""
        return cls(newline, unit if members and _own_line(text, members[0].start) else "  ")

    @staticmethod
    def indent_at(text: str, offset: int) -> str:
        start = text.rfind("\n", 0, offset) + 1
        found = re.match(r"\ufeff?([ \t]*)", text[start:offset])
        return found[1] if found else ""

    def render(self, value: object, indent: str) -> str:
        made = json.dumps(value, indent=self.unit or "  ", ensure_ascii=False)
        return made.replace("\n", self.newline + indent)

    def flat(self, value: object) -> str:
        return json.dumps(value, ensure_ascii=False)


def _own_line(text: str, offset: int) -> bool:
    return not text[text.rfind("\n", 0, offset) + 1 : offset].strip(" \t")
