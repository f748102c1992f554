"""What is accepted is told as waived until its day has passed, and nothing else is touched."""

from dataclasses import replace
from datetime import UTC, date, datetime

import pytest
from support.crafted import finding

from fleet.errors import Place
from fleet.inventory.address import parse_address
from fleet.inventory.model import Target, Waiver
from fleet.reports.document import document
from fleet.reports.terminal import render
from fleet.reports.view import View
from fleet.verifier.model import Finding, Verdict
from fleet.verifier.run import Run, TargetResult, conclude
from fleet.verifier.waivers import running_out, waived

DAY = date(2026, 12, 24)
WAIVER = Waiver("bridge.feed", ("box",), "rebuilt in January", DAY)
FAILED = finding("box", "bridge.feed", Verdict.FAIL, "cannot feed", required=True)
FOLLOWS = finding(
    "box",
    "bridge.feed-on",
    Verdict.NOT_CHECKED,
    "follows from bridge.feed",
    required=True,
    follows="bridge.feed",
)
HOLDS = finding("box", "bridge.whole", Verdict.PASS, "is whole", required=True)


def run(*findings: Finding) -> Run:
    noon = datetime(2026, 12, 1, 12, tzinfo=UTC)
    result = TargetResult(Target("box", parse_address("ssh://box")), None, findings)
    return Run("1", "audit", noon, noon, (result,))


def test_a_failure_is_waived_through_its_last_day() -> None:
    (found,) = waived([FAILED], [WAIVER], DAY)
    assert found.verdict is Verdict.WAIVED
    assert found.message == "cannot feed"
    assert str(found.waiver) == "waived until 2026-12-24: rebuilt in January"


def test_after_it_the_failure_counts_and_says_so() -> None:
    (found,) = waived([FAILED], [WAIVER], date(2026, 12, 25))
    assert found.verdict is Verdict.FAIL
    assert "the waiver ran out on 2026-12-24: rebuilt in January" in render(run(found), View())
    assert conclude(run(found, HOLDS)).code == 2
    part = document(run(found)).findings[0].waiver
    assert part is not None
    assert part.expired


@pytest.mark.parametrize("verdict", [v for v in Verdict if v is not Verdict.FAIL])
def test_nothing_but_a_failure_is_touched(verdict: Verdict) -> None:
    told = FAILED._replace(verdict=verdict)
    assert waived([told], [WAIVER], DAY) == (told,)


def test_another_gate_and_another_target_stay() -> None:
    others = (FAILED._replace(gate="bridge.stamp"), FAILED._replace(target="chest"))
    assert waived(others, [WAIVER], DAY) == others


def test_a_waived_failure_and_what_follows_from_it_decide_nothing() -> None:
    told = waived([FAILED, FOLLOWS, HOLDS], [WAIVER], DAY)
    assert [f.verdict for f in told] == [Verdict.WAIVED, Verdict.NOT_CHECKED, Verdict.PASS]
    conclusion = conclude(run(*told))
    assert (conclusion.code, conclusion.reason) == (0, "1 of 2 required gates hold, 1 waived")


def test_what_follows_from_a_failure_still_decides() -> None:
    other = FOLLOWS._replace(gate="bridge.seen", follows="bridge.placed")
    told = waived([FAILED, other, HOLDS], [WAIVER], DAY)
    assert conclude(run(*told)).code == 3


def test_what_fails_by_itself_decides_whatever_it_follows() -> None:
    own = FOLLOWS._replace(verdict=Verdict.FAIL)
    assert conclude(run(*waived([FAILED, own, HOLDS], [WAIVER], DAY))).code == 2


def test_it_is_shown_and_counted() -> None:
    shown = run(*waived([FAILED, FOLLOWS, HOLDS], [WAIVER], DAY))
    text = render(shown, View())
    assert "waived until 2026-12-24: rebuilt in January" in text
    assert "1 waived" in text
    told = document(shown)
    assert told.summary.verdicts[Verdict.WAIVED] == 1
    assert told.findings[0].waiver is not None
    assert told.findings[0].waiver.reason == "rebuilt in January"


@pytest.mark.parametrize(
    ("today", "told"),
    [
        (date(2026, 12, 9), None),
        (date(2026, 12, 10), "runs out on 2026-12-24, in 14 days"),
        (date(2026, 12, 23), "runs out on 2026-12-24, in 1 day "),
        (DAY, "runs out today"),
        (date(2026, 12, 25), "ran out on 2026-12-24: what it accepted fails again"),
    ],
)
def test_what_runs_out_soon_is_told_with_its_place(today: date, told: str | None) -> None:
    waiver = replace(WAIVER, place=Place("fleet.yml", 7, 5))
    lines = running_out([waiver], today)
    assert len(lines) == (told is not None)
    for line in lines:
        assert line.startswith("fleet.yml:7:5: the waiver of bridge.feed on box ")
        assert str(told) in line
        assert line.endswith("(rebuilt in January)")


def test_the_one_that_ran_out_first_is_told_first() -> None:
    later = replace(WAIVER, gate="bridge.stamp", until=date(2026, 12, 30))
    first, second = running_out([later, WAIVER], date(2027, 1, 1))
    assert "bridge.feed" in first
    assert "bridge.stamp" in second
