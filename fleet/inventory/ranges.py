"""Names that stand for many: Ansible's ``web[01:03].example.net`` and ``db-[a:c]``."""

import re
from itertools import product

from fleet.errors import InventoryError, Place

MOST = 10_000

_RANGE = re.compile(r"\[(\w{1,6}):(\w{1,6})(?::(\d{1,4}))?\]", re.ASCII)


def expanded(name: str, place: Place) -> list[str]:
    """Return the names that one stands for: itself where it holds no range.

    Raises:
        InventoryError: a range runs backwards, mixes letters and digits, or names more than
            :data:`MOST` hosts.
    """
    pieces = _RANGE.split(name)
    if len(pieces) == 1:
        return [name]
    fixed = pieces[::4]
    starts = range(1, len(pieces), 4)
    choices = [_range(pieces[i], pieces[i + 1], pieces[i + 2], place) for i in starts]
    count = 1
    for choice in choices:
        count *= len(choice)
    if count > MOST:
        raise InventoryError(f"`{name}` stands for more than {MOST} hosts", place=place)
    return [
        "".join(part for pair in zip(fixed, (*chosen, ""), strict=True) for part in pair)
        for chosen in product(*choices)
    ]


def _range(first: str, last: str, step: str | None, place: Place) -> list[str]:
    stride = int(step or 1)
    if first.isdigit() and last.isdigit():
        width = len(first) if first.startswith("0") and len(first) > 1 else 0
        found = [str(n).zfill(width) for n in range(int(first), int(last) + 1, stride or 1)]
    elif first.isalpha() and last.isalpha() and len(first) == len(last) == 1:
        found = [chr(n) for n in range(ord(first), ord(last) + 1, stride or 1)]
    else:
        found = []
    if not found or not stride:
        raise InventoryError(
            f"the range [{first}:{last}] names nothing",
            place=place,
            hint="a range runs upwards, as in [01:20] or [a:f]",
        )
    return found
