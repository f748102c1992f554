"""Drawing the matrix: column names across where they fit, else as stairs, else in blocks."""

from collections.abc import Iterator, Sequence
from itertools import accumulate

from rich.cells import cell_len
from rich.text import Text

from fleet.reports.console import line
from fleet.reports.matrix import Mark, Matrix, Row, merged
from fleet.reports.text import printable, shorten
from fleet.reports.view import Detail, View

MANY = 40  # targets; from here on rows with equal marks are told once
TALLEST = 60  # rows; the rest is counted
NARROW = 24  # cells a target's name may always take
GAP = 2


def draw(matrix: Matrix, view: View) -> Iterator[Text]:
    """Draw a matrix with its legend, at most ``view.cells`` wide."""
    if not matrix.columns:
        return
    rows = matrix.rows
    if len(rows) > MANY and view.detail < Detail.VERBOSE:
        rows = merged(rows)
    shown = rows if view.detail is Detail.VERBOSE else rows[:TALLEST]
    labels = [_label(row) for row in shown]
    longest = max((cell_len(label) for label in labels), default=0)
    across = _across(matrix.columns)
    if min(longest, NARROW) + across <= view.cells:
        room = min(longest, view.cells - across)
        yield from _flat(matrix, shown, [shorten(label, room) for label in labels], view)
    else:
        room = min(longest, max(NARROW, view.cells // 3))
        yield from _stairs(matrix, shown, [shorten(label, room) for label in labels], view)
    hidden = sum(len(row.targets) for row in rows[len(shown) :])
    if hidden:
        yield line((f"… and {hidden} more targets, none worse (--verbose shows all)", "dim"))
    yield from _legend(matrix, view)


def _label(row: Row) -> str:
    head = printable(row.targets[0])
    return f"{head} and {len(row.targets) - 1} more" if len(row.targets) > 1 else head


def _across(columns: Sequence[str]) -> int:
    return sum(GAP + cell_len(column) for column in columns)


def _flat(matrix: Matrix, rows: Sequence[Row], labels: list[str], view: View) -> Iterator[Text]:
    room = max(cell_len(label) for label in labels)
    gap = " " * GAP
    yield line(" " * room, *((gap + column, "bold") for column in matrix.columns))
    for row, label in zip(rows, labels, strict=True):
        parts: list[tuple[str, str] | str] = [_padded(label, room)]
        for column, mark in zip(matrix.columns, row.marks, strict=True):
            text, style = _glyph(mark, view)
            left = (cell_len(column) - 1) // 2
            parts += [gap + " " * left, (text, style), " " * (cell_len(column) - 1 - left)]
        yield line(*parts)


def _stairs(matrix: Matrix, rows: Sequence[Row], labels: list[str], view: View) -> Iterator[Text]:
    room = max(cell_len(label) for label in labels)
    for number, (start, stop) in enumerate(_blocks(matrix, room, view.cells)):
        if number:
            yield line()
        yield from _block(matrix, rows, labels, (start, stop), view)


def _steps(matrix: Matrix, start: int, stop: int) -> list[int]:
    """Return the cell at which each column of a block stands; systems stand apart."""
    widths = [4 if column == matrix.systems > start else 2 for column in range(start, stop)]
    return list(accumulate(widths))


def _blocks(matrix: Matrix, room: int, width: int) -> Iterator[tuple[int, int]]:
    """Cut the columns into ranges whose names all end within the width."""
    start, total = 0, len(matrix.columns)
    while start < total:
        stop = start + 1
        while stop < total and _fits(matrix, (start, stop + 1), room, width):
            stop += 1
        yield start, stop
        start = stop


def _fits(matrix: Matrix, block: tuple[int, int], room: int, width: int) -> bool:
    steps = _steps(matrix, *block)
    return room + steps[-1] + cell_len(matrix.columns[block[1] - 1]) <= width


def _block(
    matrix: Matrix, rows: Sequence[Row], labels: list[str], block: tuple[int, int], view: View
) -> Iterator[Text]:
    start, stop = block
    room = max(cell_len(label) for label in labels)
    steps = _steps(matrix, start, stop)
    befores = [0, *(step + 1 for step in steps[:-1])]
    gaps = [step - before for step, before in zip(steps, befores, strict=True)]
    stem = "│" if view.unicode else "|"
    for position, column in enumerate(matrix.columns[start:stop]):
        stems = "".join(" " * gap + stem for gap in gaps[:position])
        name = shorten(column, view.cells - room - steps[position])
        yield line(" " * room, (stems, "dim"), " " * gaps[position], (name, "bold"))
    for row, label in zip(rows, labels, strict=True):
        marks = [_glyph(mark, view) for mark in row.marks[start:stop]]
        cells = [part for gap, mark in zip(gaps, marks, strict=True) for part in (" " * gap, mark)]
        yield line(_padded(label, room), *cells)


def _padded(label: str, room: int) -> str:
    return label + " " * (room - cell_len(label))


def _glyph(mark: Mark | None, view: View) -> tuple[str, str]:
    return (" ", "") if mark is None else (mark.shown(unicode=view.unicode), mark.style)


def _legend(matrix: Matrix, view: View) -> Iterator[Text]:
    marks = [(m.shown(unicode=view.unicode), m.style, m.meaning) for m in matrix.marks()]
    if any(mark is None for row in matrix.rows for mark in row.marks):
        marks.append(("blank", "dim", "not asked"))
    told = line()
    for glyph, style, meaning in marks:
        if told.cell_len and told.cell_len + cell_len(f"   {glyph} {meaning}") > view.cells:
            yield told
            told = line()
        told.append("   " if told.cell_len else "").append(glyph, style)
        told.append(f" {meaning}", "dim")
    yield told
