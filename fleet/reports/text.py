"""Text for people: safe to print, folded by what it takes on a screen, counted in words."""

import unicodedata
from collections.abc import Iterable, Sequence

from rich.cells import cell_len, chop_cells

BLANK = "Zs"
ELLIPSIS = "…"
NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def printable(text: str) -> str:
    r"""Escape what could move a cursor, reorder or hide text (``\x1b``, ``\u202e``).

    All that Unicode calls not printable is escaped, blanks excepted, so the result is one line and
    encodes in UTF-8. Backslashes stay, so escaping twice changes nothing.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if _safe(c) else _escaped(c) for c in text)


def _safe(character: str) -> bool:
    return character.isprintable() or unicodedata.category(character) == BLANK


def _escaped(character: str) -> str:
    if character in NAMED:
        return NAMED[character]
    code = ord(character)
    if code < 0x100:  # noqa: PLR2004 - one byte
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"  # noqa: PLR2004 - the BMP


def fold(text: str, width: int, first: str = "", rest: str = "") -> list[str]:
    """Break text into lines of at most ``width`` cells, at blanks where there are any.

    Args:
        text: one line, printable.
        width: screen cells, indents included.
        first: what the first line begins with.
        rest: what every other line begins with.
    """
    lines: list[str] = []
    line, empty = first, True
    for word in text.split(" ") if text else ():
        pieces = _chopped(word, width - max(cell_len(first), cell_len(rest)))
        for number, piece in enumerate(pieces):
            gap = "" if empty or number else " "
            if not empty and (number or cell_len(line) + len(gap) + cell_len(piece) > width):
                lines.append(line)
                line, gap = rest, ""
            line, empty = line + gap + piece, False
    return lines if empty else [*lines, line]


def _chopped(word: str, width: int) -> list[str]:
    """Cut a word that takes more than a line, after a slash in the line's second half if any."""
    pieces, start, width = [], 0, max(width, 8)
    window = 4 * width  # characters looked at for one piece; some take no cell, none takes three
    while start + window < len(word) or cell_len(word[start:]) > width:
        head = chop_cells(word[start : start + window], width)[0]
        cut = head.rfind("/") + 1
        head = head[:cut] if cut > len(head) // 2 else head
        pieces.append(head)
        start += len(head)
    return [*pieces, word[start:]]


def shorten(text: str, width: int) -> str:
    """Cut the middle out of a text that takes more than ``width`` cells; both ends stay."""
    if cell_len(text) <= width:
        return text
    tail = (width - 1) // 2
    head = width - 1 - tail
    return _head(text, head) + ELLIPSIS + _head(text[::-1], tail)[::-1]


def _head(text: str, width: int) -> str:
    taken, kept = 0, 0
    for character in text:
        taken += cell_len(character)
        if taken > width:
            break
        kept += 1
    return text[:kept]


def clip(text: str, limit: int) -> str:
    """Cut a text after ``limit`` characters and say how many were cut."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]}{ELLIPSIS} ({len(text) - limit} more characters)"


def count(number: int, one: str, many: str = "") -> str:
    """Tell a number of things: ``1 gate``, ``3 gates``."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def names(texts: Sequence[str], width: int) -> str:
    """List names in at most ``width`` cells; those that do not fit are counted.

    At least one is named, whatever it takes.
    """
    shown = list(texts[:1])
    for position, text in enumerate(texts[1:], start=2):
        left = len(texts) - position
        more = f" and {left} more" if left else ""
        if cell_len(", ".join([*shown, text])) + len(more) > width:
            return f"{', '.join(shown)} and {len(texts) - len(shown)} more"
        shown.append(text)
    return ", ".join(shown)


def unique(texts: Iterable[str]) -> tuple[str, ...]:
    """Drop repeats, keep the order."""
    return tuple(dict.fromkeys(texts))
