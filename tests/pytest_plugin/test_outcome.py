"""Both exit with 0 for the same fleets: pytest by its tests, fleet by its conclusion."""

import itertools
from datetime import UTC, date, datetime

import pytest
from support.facts import target

from fleet.pytest_plugin.outcome import Outcome, outcome
from fleet.verifier.model import Accepted, Finding, Severity, Verdict
from fleet.verifier.run import NOTHING, Run, TargetResult, conclude

WAIVER = Accepted("until the next image", date(2027, 1, 1), expired=False)


def finding(verdict: Verdict, *, required: bool, gate: str = "a.b", follows: str = "") -> Finding:
    waiver = WAIVER if verdict is Verdict.WAIVED else None
    return Finding(
        "laptop", "notes", gate, verdict, Severity.MAJOR, required, "so it is", waiver=waiver,
        follows=follows or None,
    )  # fmt: skip


def of_pytest(findings: list[Finding], *, strict: bool) -> bool:
    """Tell whether no test fails: none of a gate, and not the one of whether any was checked."""
    of = {f.gate: f for f in findings}
    came = [outcome(f, of.get(f.follows or ""), strict=strict).outcome for f in findings]
    held = conclude(run(findings, strict=strict)).reason != NOTHING
    return held and Outcome.FAILED not in came


def run(findings: list[Finding], *, strict: bool) -> Run:
    moment = datetime(2026, 12, 1, tzinfo=UTC)
    results = (TargetResult(target("env"), None, tuple(findings)),)
    return Run("r", "pytest", moment, moment, results, strict=strict)


JUDGED = [v for v in Verdict if v is not Verdict.UNREACHABLE]


@pytest.mark.parametrize("strict", [False, True])
def test_both_are_a_success_or_neither(strict: bool) -> None:
    wins = 0
    kinds = list(itertools.product(JUDGED, [False, True]))
    for (one, of_one), (two, of_two) in itertools.product(kinds, kinds):
        for follows in ("", "a.b"):
            if follows and two is not Verdict.NOT_CHECKED:
                continue
            found = [
                finding(one, required=of_one),
                finding(two, required=of_two, gate="a.c", follows=follows),
            ]
            wanted = conclude(run(found, strict=strict)).code == 0
            assert of_pytest(found, strict=strict) is wanted, found
            wins += wanted
    assert 0 < wins < len(kinds) ** 2


@pytest.mark.parametrize(
    ("verdict", "required", "wanted"),
    [
        (Verdict.PASS, True, "passed"),
        (Verdict.FAIL, True, "failed"),
        (Verdict.FAIL, False, "xfailed"),
        (Verdict.WARN, True, "xfailed"),
        (Verdict.NOT_CHECKED, True, "failed"),
        (Verdict.NOT_CHECKED, False, "skipped"),
        (Verdict.ERROR, True, "failed"),
        (Verdict.ERROR, False, "xfailed"),
        (Verdict.WAIVED, True, "xfailed"),
        (Verdict.NOT_APPLICABLE, True, "skipped"),
    ],
)
def test_what_a_verdict_is_called(verdict: Verdict, required: bool, wanted: str) -> None:
    told = outcome(finding(verdict, required=required), None, strict=False)
    assert told.outcome == wanted
    assert ("so it is" in told.reason) == (wanted in ("xfailed", "skipped"))


def test_a_waiver_is_told_with_its_reason_and_its_last_day() -> None:
    told = outcome(finding(Verdict.WAIVED, required=True), None, strict=False)
    assert told.reason == "so it is; waived until 2027-01-01: until the next image"


def test_what_is_required_and_only_follows_fails_unless_the_cause_is_waived() -> None:
    other = finding(Verdict.NOT_CHECKED, required=True, gate="a.c", follows="a.b")
    causes = [finding(v, required=True) for v in (Verdict.FAIL, Verdict.WAIVED)]
    told = [outcome(other, cause, strict=False) for cause in causes]
    assert [one.outcome for one in told] == [Outcome.FAILED, Outcome.SKIPPED]
