"""A run as a list of test points, for the formats that only know tests: JUnit and TAP.

One point for each gate on each target; one for a target that could not be asked, whatever the
number of its gates. A point fails or errs exactly where its finding makes the exit code 2 or 3, so
that the view of a CI and the exit code cannot disagree.
"""

from collections.abc import Iterator, Sequence
from enum import Enum, auto

from fleet.dataclass import dataclass
from fleet.errors import Unreachable
from fleet.reports.text import clip, count, printable
from fleet.verifier.model import Finding, Verdict
from fleet.verifier.run import UNSEEN, Run, TargetResult, conclude, deciding, failing

REACHED = "reached"  # the point of a target that could not be asked
CONCLUSION = "conclusion"  # the point of a run that checked nothing
FLEET = "fleet"
LONGEST = 4000  # characters of one line; the JSON document holds all of it


class Outcome(Enum):
    """What a point comes to."""

    HELD = auto()
    WARNED = auto()  # holds, and something about it should be known
    FAILED = auto()  # makes the exit code 2
    UNSEEN = auto()  # makes the exit code 3
    ADVISORY = auto()  # fails, and decides nothing
    UNCHECKED = auto()  # could not be seen, and decides nothing
    WAIVED = auto()
    NOT_APPLICABLE = auto()

    @property
    def decides(self) -> bool:
        """Whether it makes the exit code other than 0."""
        return self in (Outcome.FAILED, Outcome.UNSEEN)


@dataclass(frozen=True, slots=True)
class Point:
    """One test point; every text is printable and on one line.

    Attributes:
        name: the gate, ``reached`` or ``conclusion``.
        word: the verdict, as shown; of a target that could not be asked the stage.
        message: what the finding says, with why it does not decide where it does not.
        details: evidence, what is needed and what to do, one line each.
    """

    target: str
    system: str
    name: str
    outcome: Outcome
    word: str
    message: str
    details: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Suite:
    """The points of one target, or of what several targets tell together (``result`` is None)."""

    name: str
    points: tuple[Point, ...]
    result: TargetResult | None = None


def suites(run: Run) -> tuple[Suite, ...]:
    """Return a run's points by target, targets in order of their names, the fleet last."""
    decide = {(f.target, f.system, f.gate) for f in deciding(run)}
    found = [
        Suite(_text(result.target.name), _points(result, decide, run), result)
        for result in sorted(run.results, key=lambda r: r.target.name)
    ]
    for name in dict.fromkeys(f.target for f in run.fleetwide):
        own = (_point(f, decide, run) for f in run.fleetwide if f.target == name)
        found.append(Suite(_text(name), tuple(own)))
    conclusion = conclude(run)
    if conclusion.code and not any(p.outcome.decides for s in found for p in s.points):
        outcome = Outcome.FAILED if conclusion.code == 2 else Outcome.UNSEEN  # noqa: PLR2004 - the exit code
        told = Point(FLEET, FLEET, CONCLUSION, outcome, "not-checked", _text(conclusion.reason))
        found.append(Suite(FLEET, (told,)))
    return tuple(found)


def details(finding: Finding) -> Iterator[str]:
    """Tell what decided a finding and what to do about it, one printable line each."""
    yield from (_text(line) for line in finding.evidence if line.strip())
    if finding.waiver is not None:
        yield _text(str(finding.waiver))
    if finding.verdict in (Verdict.PASS, Verdict.NOT_APPLICABLE):
        return
    if finding.since:
        yield f"needs {_text(finding.since)} or later"
    if finding.remedy:
        yield f"what to do: {_text(finding.remedy)}"


def _text(text: str) -> str:
    return printable(clip(text, LONGEST))


def _points(result: TargetResult, decide: set[tuple[str, str, str]], run: Run) -> tuple[Point, ...]:
    if result.facts is None and result.trouble is not None:
        return (_silent(result, decide),)
    return tuple(_point(f, decide, run) for f in result.findings)


def _silent(result: TargetResult, decide: set[tuple[str, str, str]]) -> Point:
    trouble = result.trouble
    assert trouble is not None  # noqa: S101 - the caller has looked
    required = any((f.target, f.system, f.gate) in decide for f in result.findings)
    lines = [_text(trouble.hint), f"{count(len(result.findings), 'gate')} not judged"]
    word = "unreachable" if isinstance(trouble, Unreachable) else "error"
    return Point(
        _text(result.target.name),
        FLEET,
        REACHED,
        Outcome.UNSEEN if required else Outcome.UNCHECKED,
        f"{word}: {trouble.stage}",
        _text(trouble.what),
        tuple(filter(None, lines)),
    )


def _point(finding: Finding, decide: set[tuple[str, str, str]], run: Run) -> Point:
    required = (finding.target, finding.system, finding.gate) in decide
    return Point(
        _text(finding.target),
        finding.system,
        finding.gate,
        _outcome(finding.verdict, required=required, strict=run.strict),
        finding.verdict.value,
        _text(finding.message),
        tuple(details(finding)),
    )


def _outcome(verdict: Verdict, *, required: bool, strict: bool) -> Outcome:
    if required and failing(verdict, strict=strict):
        return Outcome.FAILED
    if verdict in UNSEEN:
        return Outcome.UNSEEN if required else Outcome.UNCHECKED
    return {
        Verdict.PASS: Outcome.HELD,
        Verdict.WARN: Outcome.WARNED,
        Verdict.FAIL: Outcome.ADVISORY,
        Verdict.WAIVED: Outcome.WAIVED,
        Verdict.NOT_APPLICABLE: Outcome.NOT_APPLICABLE,
    }[verdict]


def numbered(points: Sequence[Suite]) -> Iterator[tuple[int, Point]]:
    """Count all points from 1."""
    return enumerate((point for suite in points for point in suite.points), start=1)
