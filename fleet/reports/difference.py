"""What changed between two runs, for a person and as JSON."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from rich.text import Text

from fleet.history.compare import Difference, PieceChange, VerdictChange
from fleet.history.model import Piece
from fleet.reports.console import line, paragraph, rendered
from fleet.reports.history import as_json
from fleet.reports.text import count, names, printable
from fleet.reports.view import Detail, View
from fleet.verifier.model import Verdict

FORMAT = "fleet.diff/1"
NOT_ASKED = "not asked"


def difference_text(found: Difference, title: str, view: View) -> str:
    """Tell what changed: verdicts, artifacts, and targets."""
    return rendered(_told(found, title, view), colour=view.colour)


def _told(found: Difference, title: str, view: View) -> Iterator[Text]:
    yield line((title, "bold"))
    shown = [c for c in found.verdicts if view.detail is Detail.VERBOSE or _worth(c)]
    yield from _verdicts(shown, view)
    yield from _artifacts(found.pieces, view)
    for label, targets in (
        ("came", found.came),
        ("not looked at any more", found.went),
        ("do not answer any more", found.lost),
        ("answer again", found.found),
    ):
        if targets:
            yield line()
            room = view.cells - len(label) - 2
            listed = names([printable(t) for t in targets], room)
            yield line((f"{label}: ", "bold"), listed)
    yield line()
    yield from paragraph(_closing(found, shown), view.cells, 0)


def _worth(change: VerdictChange) -> bool:
    """Whether a change is told by itself: what only one run asked, or saw, is where it is bad."""
    if change.before is None or change.away:
        return change.after is Verdict.FAIL and (change.required or not change.away)
    return change.after is not None


def _verdicts(changes: Sequence[VerdictChange], view: View) -> Iterator[Text]:
    for target, own in groupby(changes, key=lambda change: change.target):
        yield line()
        yield line((printable(target), "bold"))
        for change in own:
            required = " (required)" if change.required else ""
            told = f"{change.gate}{required}: {_word(change.before)} -> {_word(change.after)}"
            message = f"; {printable(change.message)}" if change.message else ""
            style = "red" if change.worse else "green" if change.better else ""
            yield from paragraph(told + message, view.cells, 2, style)


def _word(verdict: Verdict | None) -> str:
    return NOT_ASKED if verdict is None else verdict.value


def _artifacts(changes: Sequence[PieceChange], view: View) -> Iterator[Text]:
    if not changes:
        return
    yield line()
    yield line(("artifacts", "bold"))
    for change in changes:
        told = f"{printable(change.target)}: {printable(change.name)}"
        yield from paragraph(f"{told}: {_piece(change)}", view.cells)


def _piece(change: PieceChange) -> str:
    before, after = change.before, change.after
    if before is None or after is None:
        return "came with this run" if before is None else "is not looked at any more"
    old, new = printable(before.told), printable(after.told)
    if old == new:
        old, new = f"{old}, {printable(before.where)}", f"{new}, {printable(after.where)}"
    return f"{old} -> {new}"


def _closing(found: Difference, shown: Sequence[VerdictChange]) -> str:
    worse = sum(change.worse for change in shown)
    changed = f"{count(len(shown), 'verdict')} changed, {worse} for the worse"
    told = [f"{changed}; {found.same} are as they were"]
    hidden = len(found.verdicts) - len(shown)
    if hidden:
        told.append(f"{hidden} were asked or seen in one of the two only (--verbose lists them)")
    told.append(f"{count(len(found.pieces), 'artifact')} changed")
    return "; ".join(told)


def difference_json(found: Difference) -> str:
    """Return what changed as JSON, format ``fleet.diff/1``."""
    return as_json(
        {
            "format": FORMAT,
            "before": found.before,
            "after": found.after,
            "verdicts": [
                {
                    "target": printable(change.target),
                    "gate": change.gate,
                    "before": change.before.value if change.before else None,
                    "after": change.after.value if change.after else None,
                    "required": change.required,
                    "worse": change.worse,
                    "message": printable(change.message),
                }
                for change in found.verdicts
            ],
            "artifacts": [
                {
                    "target": printable(change.target),
                    "artifact": printable(change.name),
                    "before": _laid(change.before),
                    "after": _laid(change.after),
                }
                for change in found.pieces
            ],
            "targets": {
                "came": [printable(t) for t in found.came],
                "went": [printable(t) for t in found.went],
                "lost": [printable(t) for t in found.lost],
                "found": [printable(t) for t in found.found],
            },
            "same": found.same,
        }
    )


def _laid(piece: Piece | None) -> dict[str, str | None] | None:
    if piece is None:
        return None
    return {
        "state": piece.state,
        "where": printable(piece.where) or None,
        "content": piece.content or None,
        "commit": piece.commit or None,
        "date": printable(piece.date) or None,
        "version": printable(piece.version) or None,
    }
