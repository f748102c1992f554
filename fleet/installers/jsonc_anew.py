"""Setting other values than before: what was set then, and is not wanted now, goes."""

import hashlib
from collections.abc import Mapping, Sequence

from fleet.installers.jsonc import Edit, Merged, applied, canonical, find, leaves, merge, remove
from fleet.installers.jsonc_read import Node, read_jsonc
from fleet.installers.ledger import Entry


def digest(value: object) -> str:
    """Name a value as the ledger does."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()


def below(pointer: str, other: str) -> bool:
    """Tell whether a JSON pointer is another, or leads below it."""
    return pointer == other or pointer.startswith(f"{other}/")


def no_longer_set(text: str, values: Mapping[str, object], entry: Entry) -> list[str]:
    """Return pointers of what an entry set, nobody changed since, and is not to be set now.

    An object that fleet brought and that would be left empty is named in place of its members.

    Raises:
        BrokenJson: the text is not JSON, even with comments.
    """
    root = read_jsonc(text)
    wanted = [pointer for pointer, _ in leaves(values)]
    stale = {
        pointer
        for pointer, was in entry.about.items()
        if not any(below(pointer, want) or below(want, pointer) for want in wanted)
        and _is_still(root, pointer, was)
    }
    return list(dict.fromkeys(_topmost(root, pointer, stale, entry) for pointer in sorted(stale)))


def _is_still(root: Node | None, pointer: str, was: str) -> bool:
    found = find(root, pointer)
    return found is not None and digest(found[1].node.plain()) == was


def _topmost(root: Node | None, pointer: str, stale: set[str], entry: Entry) -> str:
    parent = pointer.rpartition("/")[0]
    found = find(root, parent) if parent else None
    held = found[1].node.plain() if found else None
    ours = entry.created or any(below(parent, member) for member in entry.members if member)
    if not ours or not isinstance(held, Mapping):
        return pointer
    if not {under for under, _ in leaves(held, parent)} <= stale:
        return pointer
    return _topmost(root, parent, stale, entry)


def merge_anew(text: str, values: Mapping[str, object], gone: Sequence[str]) -> Merged:
    """Work out how to take members out and set values, as one edit.

    Raises:
        BrokenJson: the text is not JSON, even with comments.
        ValueError: its value is no object.
    """
    without = applied(text, remove(text, gone) or [])
    merged = merge(without, values)
    new = applied(without, merged.edits)
    start = _same(text, new)
    end = _same(text[start:][::-1], new[start:][::-1])
    edit = Edit(start, len(text) - end, new[start : len(new) - end])
    return Merged(edits=[edit], inserted=merged.inserted, replaced=merged.replaced)


def _same(one: str, other: str) -> int:
    """Return how many characters two texts have in common at their start."""
    pairs = zip(one, other, strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
