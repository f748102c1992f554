"""The drift tables of the page: a row a side, told as in the terminal's table. Pure."""

from collections.abc import Iterator, Sequence

from fleet.dataclass import dataclass
from fleet.reports.drift import HEADS, MARKS, cells, notes, remedies, summary
from fleet.reports.text import printable
from fleet.verifier.fleetwide.table import Side, Standing, Table

WORDS = {
    Standing.SAME: "same",
    Standing.BEHIND: "behind",
    Standing.DIFFERS: "DIFFERS",
    Standing.UNSEEN: "not seen",
}


@dataclass(frozen=True, slots=True)
class Row:
    """One side."""

    look: str
    mark: str
    word: str
    what: str
    name: str
    cells: tuple[str, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Drift:
    """One table; every text is printable.

    Attributes:
        beside: what was found and not looked at, and what was not asked.
        remedies: which side, and what to do about it.
    """

    name: str
    summary: str
    heads: tuple[str, ...]
    rows: tuple[Row, ...]
    beside: tuple[str, ...]
    remedies: tuple[tuple[str, str], ...]


def drifts(tables: Sequence[Table]) -> tuple[Drift, ...]:
    """Lay out all tables, those with a side that differs first."""
    ordered = sorted(tables, key=lambda table: not table.drifted)
    return tuple(
        Drift(
            name=printable(table.name),
            summary=summary(table),
            heads=HEADS,
            rows=tuple(_row(side) for side in table.sides),
            beside=tuple(_beside(table)),
            remedies=tuple(remedies(table)),
        )
        for table in ordered
    )


def _row(side: Side) -> Row:
    return Row(
        look=side.standing.value,
        mark=MARKS[side.standing][0],
        word=WORDS[side.standing],
        what=side.what.value,
        name=printable(side.name),
        cells=tuple(text.strip() for text in cells(side)),
        notes=tuple(notes(side)),
    )


def _beside(table: Table) -> Iterator[str]:
    yield from (f"not looked at: {printable(note)}" for note in table.notes)
    if table.elsewhere:
        away = ", ".join(printable(name) for name in table.elsewhere)
        yield f"belongs to it, and was not asked: {away}"
