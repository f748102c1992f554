"""Text of a target in Markdown: it is shown, and it is never markup.

Words that are plain stay as they are. Whatever else (a path, an address, anything that Markdown,
HTML or a code host could read as more than words: ``@somebody``, ``#12``, ``https://…``, ``<b>``)
stands in a code span, where none of that means anything.
"""

import html
import re
from collections.abc import Iterator

from fleet.reports.text import clip, printable

LONGEST = 600  # characters of one text
_AROUND = re.compile(r"(\(?)(.*?)([.,;:!?)]*)", re.DOTALL)
_PLAIN = re.compile(r"[^\W_](?:[^\W_]|['/-](?=[^\W_]))*")
_NUMBERED = re.compile(r"\d+[.)].*")  # begins a list where it begins a line
_LINKED = re.compile(r"gh-\d+|[0-9a-f]{7,}", re.IGNORECASE)  # what code hosts turn into links
_QUOTED = re.compile(r"`([^`]+)`")


def prose(text: str) -> str:
    """Return a text as Markdown that renders as the text, on one line and within a table."""
    parts = _QUOTED.split(printable(clip(text, LONGEST)))
    told = ""
    for number, part in enumerate(parts):
        piece = code(part) if number % 2 else _words(part)
        beside = told.endswith("`") and piece.startswith("`")
        told += f" {piece}" if beside else piece
    return told.strip()


def code(text: str) -> str:
    """Return a text as a code span, within a table or outside."""
    shown = " ".join(printable(clip(text, LONGEST)).split(" ")).strip() or " "
    if "|" in shown:  # inside a table it ends the cell, and what escapes it is shown outside
        return f"<code>{''.join(map(_entity, shown))}</code>"
    fence = "`" * (max((len(run) for run in re.findall("`+", shown)), default=0) + 1)
    room = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{fence}{room}{shown}{room}{fence}"


def _words(text: str) -> str:
    """Write the words of a text, and a blank on each side where it has one."""
    words = " ".join(_written(word for word in text.split(" ") if word))
    if not words:
        return " " if text else ""
    return f"{' ' if text[0] == ' ' else ''}{words}{' ' if text[-1] == ' ' else ''}"


def _written(words: Iterator[str]) -> Iterator[str]:
    """Write words; those beside each other that need a code span share one."""
    waiting: list[str] = []
    for word in words:
        before, inner, after = _parted(word)
        if waiting and (before or not inner):
            yield code(" ".join(waiting))
            waiting.clear()
        if not inner:
            yield word
            continue
        if after or before:
            yield f"{before}{code(' '.join([*waiting, inner]))}{after}"
            waiting.clear()
        else:
            waiting.append(inner)
    if waiting:
        yield code(" ".join(waiting))


def _parted(word: str) -> tuple[str, str, str]:
    """Part a word into what may stand before, what needs a code span, and what may stand after.

    A plain word has nothing that needs one.
    """
    matched = _AROUND.fullmatch(word)
    before, inner, after = matched.groups() if matched else ("", word, "")
    linked = _LINKED.fullmatch(inner) or _NUMBERED.fullmatch(word)
    if not inner or (_PLAIN.fullmatch(inner) and not linked):
        return "", "", ""
    return before, inner, after


def _entity(character: str) -> str:
    if character.isalnum() or character == " ":
        return html.escape(character)
    return f"&#{ord(character)};"
