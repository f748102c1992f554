"""Drift as a table for a terminal: a row a side, and below it what to do.

A side's name stands in its row where there is room, else on the line below.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from rich.cells import cell_len
from rich.text import Text

from fleet.reports.console import line, paragraph
from fleet.reports.text import count, printable, shorten
from fleet.reports.view import Detail, View
from fleet.verifier.fleetwide.member import Copy
from fleet.verifier.fleetwide.table import Side, Standing, Table, What
from fleet.verifier.run import Run
from fleet.verifier.toolkit import Commit

#: The mark, its spelling in ASCII, its style and its meaning.
MARKS = {
    Standing.SAME: ("=", "=", "green", "as it should be"),
    Standing.BEHIND: ("<", "<", "yellow", "older than the newest commit known"),
    Standing.DIFFERS: ("≠", "!", "bold red", "differs"),
    Standing.UNSEEN: ("?", "?", "magenta", "not seen, or not wholly"),
}
HEADS = ("image", "bridge", "behind", "from", "created")
WIDTHS = (7, 18, 6, 7, 10)
#: Gates of a target whose findings the table tells.
TOLD = frozenset({"bridge.commit"})
GAP = "  "
NARROWEST = 12  # cells that the side's own column takes at least
DAY = 10  # characters of a day, as ISO 8601 begins
SHORT = 7  # of an image's id


def lines(tables: Sequence[Table], view: View) -> Iterator[Text]:
    """Draw tables, each with what to do, and one legend for all of them."""
    if not tables:
        yield line("Nothing here is an image or a container, so nothing has several sides.")
        yield line()
    for table in tables:
        yield from _table(table, view)
        yield line()
    if tables:
        yield from _legend(tables, view)
        yield line()


def beside(run: Run, view: View) -> Run:
    """Return a run with the findings that its tables do not tell; all of them with ``verbose``."""
    if view.detail is Detail.VERBOSE:
        return run
    told = {side.target for table in run.drift for side in table.sides}
    results = tuple(
        replace(r, findings=tuple(f for f in r.findings if f.gate not in TOLD))
        for r in run.results
        if r.facts is not None or r.target.name not in told
    )
    return replace(run, results=results, fleetwide=())


def _table(table: Table, view: View) -> Iterator[Text]:
    yield line((printable(table.name), "bold underline"))
    yield from paragraph(summary(table), view.cells, indent=0)
    yield line()
    room = view.cells - 2 - sum(WIDTHS) - len(GAP) * len(WIDTHS)
    if room >= NARROWEST:
        heads = "".join(GAP + h.ljust(w) for h, w in zip(HEADS, WIDTHS, strict=True))
        yield line((f"  {'side'.ljust(room)}{heads}".rstrip(), "bold"))
    for side in table.sides:
        yield from _row(side, room, view) if room >= NARROWEST else _item(side, view)
        yield from _notes(side, view)
    for note in table.notes:
        yield from paragraph(f"not looked at: {printable(note)}", view.cells, style="dim")
    if table.elsewhere:
        away = ", ".join(printable(name) for name in table.elsewhere)
        yield from paragraph(f"belongs to it, and was not asked: {away}", view.cells, style="dim")
    yield from _remedies(table, view)


def summary(table: Table) -> str:
    """Say how many sides were seen, whether one differs, and what is the newest known."""
    seen = f"{table.seen} of {count(len(table.sides), 'side')} seen"
    if len(table.sides) == 1:
        seen += ", so there is nothing to compare"
    elif not table.drifted:
        seen += ", none of them differs"
    return f"{seen}; {_newest(table)}"


def _newest(table: Table) -> str:
    if table.newest is None:
        return "no toolkit clone names the bytes (toolkit_clone)"
    return f"newest commit known: {_commit(table.newest)}"


def _row(side: Side, room: int, view: View) -> Iterator[Text]:
    name = printable(side.name)
    label = f"{side.what} {name}"
    fits = cell_len(label) <= room
    shown = label if fits else str(side.what)
    told = "".join(
        GAP + shorten(cell, width).ljust(width)
        for cell, width in zip(cells(side), WIDTHS, strict=True)
    )
    yield line(_mark(side, view), " ", shown + " " * (room - cell_len(shown)), told)
    if not fits:
        yield from paragraph(name, view.cells, indent=4)


def _item(side: Side, view: View) -> Iterator[Text]:
    """Tell a row where there is no room for columns."""
    yield line(_mark(side, view), " ", str(side.what))
    yield from paragraph(printable(side.name), view.cells, indent=4)
    told = [f"{h} {c.strip()}" for h, c in zip(HEADS, cells(side), strict=True) if c.strip()]
    yield from paragraph(", ".join(told), view.cells, indent=4)


def _notes(side: Side, view: View) -> Iterator[Text]:
    for note in notes(side):
        yield from paragraph(note, view.cells, indent=4)


def notes(side: Side) -> Iterator[str]:
    """Tell what a side is mounted from, and what else is known of it."""
    if side.origin == "mounted":
        volume = "" if side.source.startswith("/") else "the volume "
        yield f"from {volume}{printable(side.source)}"
    yield from map(printable, side.notes)


def _mark(side: Side, view: View) -> tuple[str, str]:
    mark, ascii_mark, style, _ = MARKS[side.standing]
    return mark if view.unicode else ascii_mark, style


def cells(side: Side) -> tuple[str, ...]:
    """Return what stands below ``HEADS`` in a side's row."""
    return (
        printable(side.image.removeprefix("sha256:"))[:SHORT],
        _bridge(side),
        _behind(side.bridge),
        side.origin,
        printable(side.created)[:DAY],
    )


def _bridge(side: Side) -> str:
    copy = side.bridge
    if copy is None:
        return "" if side.what is What.COMPOSE or side.standing is Standing.UNSEEN else "-"
    if not copy.sha256:
        return "none"
    return _commit(copy.commit) if copy.commit else f"bytes {copy.sha256[:12]}"


def _commit(commit: Commit) -> str:
    return f"{commit.short} {commit.date[:DAY]}"


def _behind(copy: Copy | None) -> str:
    if copy is None or copy.commit is None:
        return ""
    return str(copy.commit.behind).rjust(4)


def _remedies(table: Table, view: View) -> Iterator[Text]:
    found = list(remedies(table))
    if found:
        yield line()
        yield line("What to do")
    for who, what in found:
        yield from paragraph(f"{who}: {what}", view.cells, style="bold")


def remedies(table: Table) -> Iterator[tuple[str, str]]:
    """Tell what to do and about which side; one remedy of several sides is told once."""
    whose: dict[str, list[str]] = {}
    clones = {s.target for s in table.sides if s.what is What.CLONE and s.remedy}
    for side in table.sides:
        # What is mounted into a container is updated where it lies.
        followed = side.what is What.CONTAINER and side.target in clones and not side.notes
        if side.remedy and not followed:
            whose.setdefault(side.remedy, []).append(f"{side.what} {side.name}")
    for remedy, sides in whose.items():
        more = f" and {len(sides) - 1} more" if len(sides) > 1 else ""
        yield printable(sides[0]) + more, printable(remedy)


def _legend(tables: Sequence[Table], view: View) -> Iterator[Text]:
    met = {side.standing for table in tables for side in table.sides}
    told = [
        f"{mark if view.unicode else ascii_mark} {meaning}"
        for standing, (mark, ascii_mark, _, meaning) in MARKS.items()
        if standing in met
    ]
    yield from paragraph("   ".join(told), view.cells, indent=0, style="dim")
