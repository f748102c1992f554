"""The matrix at the head of a report: targets down, systems and capabilities across. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from enum import Enum

from fleet.dataclass import dataclass
from fleet.reports.text import unique
from fleet.verifier.model import Finding, Verdict
from fleet.verifier.run import Run


class Mark(Enum):
    """What one cell tells, best to worst; the glyph, its ASCII stand-in, and its meaning."""

    NOT_APPLICABLE = ("·", ".", "not applicable", "dim")
    PASS = ("✓", "+", "pass", "green")
    WAIVED = ("w", "w", "waived", "cyan")
    NOT_CHECKED = ("?", "?", "not checked", "magenta")
    WARN = ("!", "!", "warning", "yellow")
    ADVISORY = ("x", "x", "fail, not required", "yellow")
    UNREACHABLE = ("∅", "0", "unreachable", "bold magenta")
    ERROR = ("E", "E", "unreadable", "bold magenta")
    FAIL = ("✗", "X", "FAIL", "bold red")

    def __init__(self, glyph: str, ascii_glyph: str, meaning: str, style: str) -> None:
        self.glyph = glyph
        self.ascii_glyph = ascii_glyph
        self.meaning = meaning
        self.style = style

    def shown(self, *, unicode: bool) -> str:
        """Return the glyph for a screen."""
        return self.glyph if unicode else self.ascii_glyph


UNSEEN = {
    Verdict.ERROR: Mark.ERROR,
    Verdict.UNREACHABLE: Mark.UNREACHABLE,
    Verdict.NOT_CHECKED: Mark.NOT_CHECKED,
}
# The first row that finds something in a cell decides: what is required comes first, and what
# could not be seen never hides behind a pass of what was not required.
RULES: tuple[tuple[bool, Verdict, Mark], ...] = (
    (True, Verdict.FAIL, Mark.FAIL),
    *((True, verdict, mark) for verdict, mark in UNSEEN.items()),
    (False, Verdict.FAIL, Mark.ADVISORY),
    (False, Verdict.WARN, Mark.WARN),
    (False, Verdict.ERROR, Mark.ERROR),
    (False, Verdict.WAIVED, Mark.WAIVED),
    (True, Verdict.PASS, Mark.PASS),
    *((False, verdict, mark) for verdict, mark in UNSEEN.items()),
    (False, Verdict.PASS, Mark.PASS),
    (False, Verdict.NOT_APPLICABLE, Mark.NOT_APPLICABLE),
)


@dataclass(frozen=True, slots=True)
class Row:
    """Targets with the same marks; None where nothing was asked."""

    targets: tuple[str, ...]
    marks: tuple[Mark | None, ...]

    def rank(self) -> tuple[int, ...]:
        """Order rows: the worst mark first, then how often it occurs."""
        order = list(Mark)
        marks = sorted((order.index(m) for m in self.marks if m), reverse=True)
        return tuple(-mark for mark in marks) or (1,)


@dataclass(frozen=True, slots=True)
class Matrix:
    """Columns are systems first, then capabilities; ``systems`` counts the former."""

    columns: tuple[str, ...]
    systems: int
    rows: tuple[Row, ...]

    def marks(self) -> tuple[Mark, ...]:
        """Return the marks that occur, worst first."""
        seen = {mark for row in self.rows for mark in row.marks if mark}
        return tuple(mark for mark in reversed(Mark) if mark in seen)


def mark(findings: Iterable[Finding], *, strict: bool = False) -> Mark | None:
    """Bring findings down to one mark; None where there are none."""
    held = {(f.required or strict, f.verdict) for f in findings}
    for required, verdict, found in RULES:
        if (True, verdict) in held or (not required and (False, verdict) in held):
            return found
    return None


def matrix(run: Run) -> Matrix:
    """Lay out a run: one row a target, in the run's order.

    A system's cell leaves out capabilities that are not required there: they have their own column.
    Findings about the fleet as a whole belong to no row.
    """
    # Most targets of a fleet are in one of a few states; one stands for all that are in it.
    states = [tuple((f.gate, f.verdict, f.required) for f in r.findings) for r in run.results]
    first: dict[tuple[tuple[str, Verdict, bool], ...], tuple[Finding, ...]] = {}
    for state, result in zip(states, run.results, strict=True):
        first.setdefault(state, result.findings)
    systems = unique(f.system for found in first.values() for f in found)
    capabilities = unique(c for found in first.values() for f in found for c in f.capabilities)
    marks = {
        state: _cells(found, systems, capabilities, strict=run.strict)
        for state, found in first.items()
    }
    rows = (
        Row((result.target.name,), marks[state])
        for state, result in zip(states, run.results, strict=True)
    )
    return Matrix((*systems, *capabilities), len(systems), tuple(rows))


def merged(rows: Sequence[Row]) -> tuple[Row, ...]:
    """Merge rows with equal marks, worst first; within equals the order given."""
    together: dict[tuple[Mark | None, ...], list[str]] = defaultdict(list)
    for row in rows:
        together[row.marks].extend(row.targets)
    return tuple(
        sorted((Row(tuple(t), marks) for marks, t in together.items()), key=lambda row: row.rank())
    )


def _cells(
    findings: Sequence[Finding],
    systems: Sequence[str],
    capabilities: Sequence[str],
    *,
    strict: bool,
) -> tuple[Mark | None, ...]:
    by_system: dict[str, list[Finding]] = defaultdict(list)
    own: dict[str, list[Finding]] = defaultdict(list)
    by_capability: dict[str, list[Finding]] = defaultdict(list)
    for finding in findings:
        by_system[finding.system].append(finding)
        if finding.required or strict or not finding.capabilities:
            own[finding.system].append(finding)
        for capability in finding.capabilities:
            by_capability[capability].append(finding)
    of_systems = tuple(mark(own[s] or by_system[s], strict=strict) for s in systems)
    return of_systems + tuple(mark(by_capability[c], strict=strict) for c in capabilities)
