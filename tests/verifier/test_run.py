"""What a run comes down to: the exit code, and the one line that says why."""

from datetime import UTC, datetime

import pytest
from support.crafted import finding

from fleet.inventory.address import parse_address
from fleet.inventory.model import Target
from fleet.verifier.model import Verdict
from fleet.verifier.run import Run, TargetResult, conclude

UNSEEN = (Verdict.NOT_CHECKED, Verdict.UNREACHABLE, Verdict.ERROR)
NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)


def run(*verdicts: Verdict, advisory: tuple[Verdict, ...] = (), strict: bool = False) -> Run:
    """Craft a run over one target, with required findings and advisory ones."""
    required = [finding("box", f"g.r{n}", v, "", required=True) for n, v in enumerate(verdicts)]
    others = [finding("box", f"g.a{n}", v, "") for n, v in enumerate(advisory)]
    result = TargetResult(Target("box", parse_address("ssh://box")), None, (*required, *others))
    return Run("1", "audit", NOON, NOON, (result,), strict=strict)


@pytest.mark.parametrize("unseen", UNSEEN)
def test_a_failure_outweighs_what_was_not_seen(unseen: Verdict) -> None:
    assert conclude(run(Verdict.PASS)).code == 0
    assert conclude(run(Verdict.PASS, unseen)).code == 3
    assert conclude(run(Verdict.PASS, unseen, Verdict.FAIL)).code == 2


@pytest.mark.parametrize("verdict", [v for v in Verdict if v is not Verdict.PASS])
def test_nothing_checked_is_no_success(verdict: Verdict) -> None:
    assert conclude(run()).code == 3
    assert conclude(run(verdict)).code == (2 if verdict is Verdict.FAIL else 3)


@pytest.mark.parametrize("verdict", [Verdict.WARN, Verdict.WAIVED, Verdict.NOT_APPLICABLE])
def test_what_was_seen_and_is_no_failure_leaves_a_success(verdict: Verdict) -> None:
    assert conclude(run(Verdict.PASS, verdict)).code == 0


@pytest.mark.parametrize("verdict", list(Verdict))
def test_advisory_findings_count_only_when_strict(verdict: Verdict) -> None:
    assert conclude(run(Verdict.PASS, advisory=(verdict,))).code == 0
    bad = (Verdict.FAIL, Verdict.WARN)
    expected = 2 if verdict in bad else 3 if verdict in UNSEEN else 0
    assert conclude(run(Verdict.PASS, advisory=(verdict,), strict=True)).code == expected


def test_the_reason_counts_gates_and_targets() -> None:
    assert conclude(run(Verdict.PASS)).reason == "the one required gate holds"
    assert conclude(run(Verdict.PASS, Verdict.PASS)).reason == "all 2 required gates hold"
    failed = conclude(run(Verdict.FAIL, Verdict.FAIL))
    assert failed.reason == "2 required gates failed on 1 target"
