"""What is told where, and once."""

from dataclasses import replace
from datetime import UTC, datetime

from support.crafted import craft

from fleet.facts.model import Facts, Platform
from fleet.inventory.model import Address, Scheme, Target
from fleet.reports.findings import chapters
from fleet.verifier.model import Finding, Severity, Verdict
from fleet.verifier.run import Run, TargetResult

NOW = datetime(2026, 9, 1, tzinfo=UTC)


def one(*findings: Finding, strict: bool = False) -> Run:
    target = Target("t", Address(Scheme.LOCAL, ""))
    facts = Facts(
        target="t",
        address="local:",
        kind="host",
        taken_at=NOW,
        nonce="n",
        platform=Platform(home="/home/me", rule="HOME"),
    )
    return Run("r", "audit", NOW, NOW, (TargetResult(target, facts, findings),), strict)


def told(gate: str, verdict: Verdict, *, required: bool = True, follows: str = "") -> Finding:
    return Finding("t", "s", gate, verdict, Severity.MAJOR, required, "m", follows=follows or None)


def test_what_follows_is_told_with_its_cause() -> None:
    run = one(
        told("s.placed", Verdict.FAIL),
        told("s.whole", Verdict.NOT_CHECKED, follows="s.placed"),
        told("s.feed", Verdict.NOT_CHECKED, follows="s.whole"),
    )
    found = chapters(run)
    assert [g.finding.gate for g in found.deciding] == ["s.placed"]
    assert found.deciding[0].followers == ("s.whole", "s.feed")
    assert found.unchecked == ()


def test_a_required_gate_never_hides_behind_an_advisory_cause() -> None:
    run = one(
        told("s.placed", Verdict.FAIL, required=False),
        told("s.feed", Verdict.NOT_CHECKED, follows="s.placed"),
    )
    found = chapters(run)
    assert found.advisory[0].followers == ()
    assert found.unchecked[0].gates == ("s.feed",)
    assert found.unchecked[0].required


def test_a_circle_of_followers_ends() -> None:
    run = one(
        told("s.a", Verdict.FAIL, follows="s.b"),
        told("s.b", Verdict.FAIL, follows="s.a"),
    )
    found = chapters(run)
    gates = [g.finding.gate for g in found.deciding] + [
        f for g in found.deciding for f in g.followers
    ]
    assert set(gates) == {"s.a", "s.b"}


def test_the_worst_comes_first() -> None:
    found = chapters(craft("mixed"))
    assert [g.finding.severity for g in found.deciding] == ["critical", "critical", "major"]
    assert found.deciding[-1].targets == ("pi-devbox:2026-08-10", "pi-devbox:2026-08-11")
    assert [g.finding.gate for g in found.unseen] == ["serve.health"]
    assert [g.finding.gate for g in found.waived] == ["serve.token"]


def test_what_differs_in_one_fact_is_not_merged() -> None:
    run = one(told("s.a", Verdict.FAIL))
    other = run.results[0].findings[0]._replace(target="u", evidence=("another",))
    results = (*run.results, replace(run.results[0], findings=(other,)))
    assert len(chapters(replace(run, results=results)).deciding) == 2


def test_targets_that_are_silent_for_one_reason_are_told_once() -> None:
    found = chapters(craft("crowd")).silent
    assert len(found) == 1
    assert found[0].hint.startswith("if the machine was rebuilt: ssh-keygen -R TARGET,")
    assert (len(found[0].targets), found[0].gates) == (6, 12)
    single = chapters(craft("silent")).silent[0]
    assert "ssh-keygen -R attic," in single.hint


def test_strict_decides_by_warnings_and_advisory_failures() -> None:
    run = one(
        told("s.a", Verdict.WARN, required=False),
        told("s.b", Verdict.FAIL, required=False),
        strict=True,
    )
    assert [g.finding.gate for g in chapters(run).deciding] == ["s.b", "s.a"]


def test_no_finding_is_lost() -> None:
    for name in ("mixed", "crowd", "wide", "hostile", "image"):
        run = craft(name)
        found = chapters(run)
        groups = (*found.deciding, *found.unseen, *found.advisory, *found.waived, *found.passed)
        total = sum(len(g.targets) * (1 + len(g.followers)) for g in groups)
        total += sum(s.gates for s in found.silent)
        total += sum(len(u.gates) * len(u.targets) for u in found.unchecked)
        assert total == len(run.findings), name
