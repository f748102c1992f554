"""Fixing: what to deploy again to put failing gates right, and what is left to a person."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import field, replace

from fleet.dataclass import dataclass
from fleet.engine.deploy import TargetPlan
from fleet.verifier.model import Finding, Verdict
from fleet.verifier.run import Run


@dataclass(frozen=True, slots=True)
class Fixes:
    """What fails in a run, sorted by who can put it right.

    Attributes:
        artifacts: what to deploy again, as ``system.artifact``, by target.
        fixable: the findings that hold for.
        by_hand: failures that only a person can put right; each says what to do.
    """

    artifacts: Mapping[str, frozenset[str]] = field(default_factory=dict)
    fixable: tuple[Finding, ...] = ()
    by_hand: tuple[Finding, ...] = ()


def fixes(run: Run, gate: str | None = None) -> Fixes:
    """Sort the failures of a run, or those of one gate, and its warnings. Waived ones are left.

    A warning is put right where its gate is named: what it warns of may be meant.
    """
    wrong = {Verdict.FAIL} if gate is None else {Verdict.FAIL, Verdict.WARN}
    failed = [f for f in run.findings if f.verdict in wrong and gate in (None, f.gate)]
    artifacts: dict[str, set[str]] = defaultdict(set)
    for finding in failed:
        for artifact in finding.fixed_by:
            artifacts[finding.target].add(_key(finding, artifact))
    return Fixes(
        {target: frozenset(keys) for target, keys in artifacts.items()},
        tuple(f for f in failed if f.fixed_by),
        tuple(f for f in failed if not f.fixed_by),
    )


def _key(finding: Finding, artifact: str) -> str:
    """Return an artifact as ``system.artifact``; its own system's are named without it."""
    return artifact if "." in artifact else f"{finding.system}.{artifact}"


def unchanged(found: Fixes, plans: Sequence[TargetPlan]) -> tuple[Finding, ...]:
    """Return the failures for which the plan changes nothing: they are a person's after all."""
    changing: dict[str, set[str]] = {}
    for planned in plans:
        if planned.plan is None or planned.plan.recover:
            changing[planned.target.name] = set(found.artifacts[planned.target.name])
        else:
            changing[planned.target.name] = {
                *(step.key for step in planned.plan.steps),
                *(conflict.key for conflict in planned.plan.conflicts),
            }
    return tuple(
        f
        for f in found.fixable
        if not any(_key(f, a) in changing.get(f.target, ()) for a in f.fixed_by)
    )


def judged_by(run: Run, gate: str | None) -> Run:
    """Return a run whose exit code is that of one gate, whether it is required or not."""
    if gate is None:
        return run
    results = tuple(
        replace(result, findings=tuple(f for f in result.findings if f.gate == gate))
        for result in run.results
    )
    fleetwide = tuple(f for f in run.fleetwide if f.gate == gate)
    return replace(run, results=results, fleetwide=fleetwide, strict=True)
