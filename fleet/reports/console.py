"""Lines with styles, and how they become text: plain, or with the terminal's own colours."""

from collections.abc import Iterable
from io import StringIO
from typing import Literal

from rich.cells import cell_len
from rich.text import Text

from fleet.reports.text import fold

COLOURS: Literal["standard"] = "standard"


def line(*parts: tuple[str, str] | str) -> Text:
    """Join parts to a line; a part is a text, or a text and its style. Markup means nothing."""
    return Text.assemble(*parts, overflow="ignore", no_wrap=True, end="")


def paragraph(text: str, width: int, indent: int = 2, style: str = "") -> list[Text]:
    """Fold a text into indented lines; the second and later ones hang by two more cells."""
    first, rest = " " * indent, " " * (indent + 2)
    return [line((folded, style)) for folded in fold(text, width, first, rest)]


def labelled(label: str, text: str, room: int, width: int) -> list[Text]:
    """Fold a text beside its label, which takes ``room`` cells after an indent of two."""
    indent = " " * (room + 4)
    first, *rest = fold(text, width, indent, indent) or [indent]
    label += " " * (room - cell_len(label))
    return [line("  ", (label, "dim"), "  ", first[room + 4 :]), *(line(text) for text in rest)]


def rendered(lines: Iterable[Text], *, colour: bool) -> str:
    """Join lines to a text, with colours or without a single escape sequence."""
    if not colour:
        return "".join(f"{text.plain.rstrip()}\n" for text in lines)
    from rich.console import Console  # noqa: PLC0415 - half of the library, and only for colours

    stream = StringIO()
    console = Console(
        file=stream, force_terminal=True, color_system=COLOURS, highlight=False, width=10_000
    )
    for text in lines:
        text.rstrip()
        console.print(text, crop=False, overflow="ignore", no_wrap=True, soft_wrap=True)
    return stream.getvalue()
