"""What the history knows beside a run: strips of earlier runs, since when, and what differed."""

from collections import defaultdict
from collections.abc import Mapping

from fleet.facts.model import Facts
from fleet.history.factdiff import fact_changes
from fleet.history.model import Point, Since
from fleet.history.store import History
from fleet.reports.history import fact_line
from fleet.reports.matrix import Mark
from fleet.reports.past import STRIP, Before, Past, Then
from fleet.verifier.model import Verdict
from fleet.verifier.run import Run

MARKS: Mapping[Verdict, Mark] = {
    Verdict.PASS: Mark.PASS,
    Verdict.FAIL: Mark.FAIL,
    Verdict.WARN: Mark.WARN,
    Verdict.NOT_CHECKED: Mark.NOT_CHECKED,
    Verdict.UNREACHABLE: Mark.UNREACHABLE,
}
#: Verdicts of which nobody asks since when.
SETTLED = frozenset({Verdict.PASS, Verdict.NOT_APPLICABLE})
COMPARED = 200  # pairs of facts that are held against each other for one report
SHOWN = 40  # lines of what differed


def past(history: History, run: Run) -> Past:
    """Return what a history knows of a run's targets, up to that run.

    Raises:
        HistoryError: it cannot be read, or the run is not in it.
    """
    names = [result.target.name for result in run.results]
    strips = history.strips(names, most=STRIP, until=run.id)
    open_gates: dict[str, list[str]] = defaultdict(list)
    for finding in run.findings:
        if finding.verdict not in SETTLED:
            open_gates[finding.target].append(finding.gate)
    compared = _Compared(history)
    before: dict[tuple[str, str], Before] = {}
    for target, gates in open_gates.items():
        for gate, since in history.sinces(target, gates, until=run.id).items():
            before[target, gate] = Before(
                since=since.first_at,
                last_pass=since.passed_at,
                failed=None if since.failed == since.first else since.failed_at,
                older=since.before is None,
                differed=compared.lines(since),
            )
    return Past({name: tuple(map(_then, points)) for name, points in strips.items()}, before)


def _then(point: Point) -> Then:
    return Then(point.run, point.moment, MARKS.get(point.verdict))


class _Compared:
    """Facts of two runs of a target, held against each other once for all gates that ask."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._told: dict[tuple[str, str, str], tuple[str, ...]] = {}
        self._left = COMPARED

    def lines(self, since: Since) -> tuple[str, ...]:
        """Return what differed between the last pass and the first failure after it."""
        if since.passed is None or since.passed == since.broke:
            return ()
        key = (since.target, since.passed, since.broke)
        if key not in self._told:
            self._left -= 1
            self._told[key] = self._differing(*key) if self._left >= 0 else ()
        return self._told[key]

    def _differing(self, target: str, passed: str, first: str) -> tuple[str, ...]:
        one, other = self._facts(passed, target), self._facts(first, target)
        if one is None or other is None:
            return ()
        changes = [fact_line(change) for change in fact_changes(one, other)]
        left = len(changes) - SHOWN
        return (*changes[:SHOWN], *([f"and {left} more"] if left > 0 else []))

    def _facts(self, run: str, target: str) -> Facts | None:
        return self._history.facts(run, target)
