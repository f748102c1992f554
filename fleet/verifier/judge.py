"""Judging: every gate of a target's systems over its facts. Pure.

A gate whose ``needs`` did not hold is not asked: it says which gate told the cause, so that one
cause is told once. Whatever a gate does not see stays ``not-checked``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import field
from datetime import date

from fleet.dataclass import dataclass
from fleet.errors import TargetError
from fleet.facts.model import Facts
from fleet.inventory.model import Kind, SecretRef, Target
from fleet.secrets import Secret
from fleet.systems.catalogue import Catalogue
from fleet.systems.model import Gate, System
from fleet.systems.resolve import Resolved
from fleet.verifier.look import Digests, Expected, Look
from fleet.verifier.marker_gate import judge_marker
from fleet.verifier.model import (
    Finding,
    Judgement,
    Verdict,
    errored,
    follows_from,
    not_applicable,
    not_checked,
)
from fleet.verifier.toolkit import Toolkit

_SEEN = frozenset({Verdict.PASS, Verdict.FAIL, Verdict.WARN})
_FIXABLE = frozenset({Verdict.FAIL, Verdict.WARN})
_HOLDS = frozenset({Verdict.PASS, Verdict.WARN, Verdict.NOT_APPLICABLE})
_CIRCLE = not_checked("is asked after itself")


@dataclass(frozen=True, slots=True)
class Expectations:
    """What facts are held against, beside the target's own description.

    Attributes:
        secrets: values that could be fetched.
        troubles: secrets that could not be fetched, with the reason.
        toolkit: the toolkit's history, None when no clone is declared.
        blobs: contents the controller holds, by sha256.
        templates: texts of the templates of files that are held against them, by name.
    """

    today: date
    secrets: Mapping[SecretRef, Secret] = field(default_factory=dict)
    troubles: Mapping[SecretRef, str] = field(default_factory=dict)
    toolkit: Toolkit | None = None
    blobs: Mapping[str, bytes] = field(default_factory=dict)
    templates: Mapping[str, str] = field(default_factory=dict)


def judge(
    target: Target,
    resolved: Sequence[Resolved],
    facts: Facts,
    catalogue: Catalogue,
    expectations: Expectations,
) -> tuple[Finding, ...]:
    """Ask every gate of the target's systems, in catalogue order.

    Gates that only a deep check can answer are asked where there was one.
    """
    expected = Digests(facts.nonce, expectations.secrets)
    looks = {r.system.system: _look(target, r, facts, expectations, expected) for r in resolved}
    gates = {g.id: (r.system, g) for r in resolved for g in r.system.gates}
    court = _Court(target, looks, catalogue, gates)
    return tuple(
        court.finding(r.system, g)
        for r in resolved
        for g in r.system.gates
        if facts.deep is not None or not g.deep
    )


def look_of(target: Target, resolved: Resolved, facts: Facts, expectations: Expectations) -> Look:
    """Return what the gates of one system see."""
    expected = Digests(facts.nonce, expectations.secrets)
    return _look(target, resolved, facts, expectations, expected)


def _look(
    target: Target,
    resolved: Resolved,
    facts: Facts,
    expectations: Expectations,
    expected: Mapping[SecretRef, Expected],
) -> Look:
    return Look(
        target=target,
        resolved=resolved,
        facts=facts,
        today=expectations.today,
        expected=expected,
        troubles=expectations.troubles,
        toolkit=expectations.toolkit,
        blobs=expectations.blobs,
        templates=expectations.templates,
    )


def judge_unreachable(
    target: Target, systems: Sequence[System], trouble: TargetError
) -> tuple[Finding, ...]:
    """Give every gate of a target that could not be asked its verdict: unreachable."""
    judgement = Judgement(Verdict.UNREACHABLE, trouble.what, remedy=trouble.hint or None)
    return tuple(_finding(target, s, g, judgement) for s in systems for g in s.gates if not g.deep)


@dataclass(slots=True)
class _Court:
    """The gates of one target; remembers judgements, because gates need one another."""

    target: Target
    looks: Mapping[str, Look]
    catalogue: Catalogue
    gates: Mapping[str, tuple[System, Gate]]
    judged: dict[str, Judgement] = field(default_factory=dict)

    def finding(self, system: System, gate: Gate) -> Finding:
        judgement = self._judged(system, gate)
        fixed_by: tuple[str, ...] = ()
        if judgement.verdict in _FIXABLE:
            fixed_by = self._fixed_by(system, gate)
        return _finding(self.target, system, gate, judgement, fixed_by)

    def _fixed_by(self, system: System, gate: Gate) -> tuple[str, ...]:
        """Return what to deploy again, of what the target has: an image is rebuilt, not changed."""
        if self.target.kind is Kind.IMAGE:
            return ()
        return tuple(name for name in gate.fixed_by if self._has(system.system, name))

    def _has(self, system: str, name: str) -> bool:
        other, _, artifact = name.rpartition(".")
        look = self.looks.get(other or system)
        return look is not None and artifact in look.resolved.artifacts

    def _judged(self, system: System, gate: Gate) -> Judgement:
        held = self.judged.get(gate.id)
        if held is None:
            # A cycle among needs ends here: the gate met again counts as one that told no cause.
            self.judged[gate.id] = _CIRCLE
            held = self.judged[gate.id] = self._judge(system, gate)
        return held

    def _judge(self, system: System, gate: Gate) -> Judgement:
        if gate.kinds and self.target.kind.value not in gate.kinds:
            kinds = " and ".join(f"{k}s" for k in gate.kinds)
            return not_applicable(f"asked of {kinds} only")
        for needed in gate.needs:
            cause = self._cause(needed)
            if cause:
                return follows_from(cause)
        look = self.looks[system.system]
        check = self.catalogue.check(system.system, gate)
        try:
            return check(look) if check else judge_marker(look, gate)
        except Exception as error:  # noqa: BLE001 - what one target holds must not end the run; its text may be the target's own, and is not told
            return errored(
                f"the gate could not judge what was read ({type(error).__name__})",
                remedy="look at the files it asks about by hand, and report it as a fault of fleet",
            )

    def _cause(self, needed: str) -> str | None:
        """Return the gate that explains why a needed one does not hold; None when it holds."""
        if needed not in self.gates:
            return None
        system, gate = self.gates[needed]
        judgement = self._judged(system, gate)
        return None if judgement.verdict in _HOLDS else judgement.follows or needed


def _finding(
    target: Target,
    system: System,
    gate: Gate,
    judgement: Judgement,
    fixed_by: tuple[str, ...] = (),
) -> Finding:
    verdict, message, evidence, remedy, follows = judgement
    return Finding(
        target=target.name,
        system=system.system,
        gate=gate.id,
        verdict=verdict,
        severity=gate.severity,
        required=is_required(target, gate) or (gate.where_seen and verdict in _SEEN),
        message=message,
        evidence=evidence,
        since=str(gate.since) if gate.since else None,
        remedy=remedy or gate.remedy or None,
        follows=follows,
        capabilities=(gate.gives,) if gate.gives else (),
        fixed_by=fixed_by,
    )


def is_required(target: Target, gate: Gate) -> bool:
    """Tell whether a gate's verdict decides the exit code on a target."""
    wanted = target.require
    if gate.always or gate.gives in wanted:
        return True
    return bool(gate.serves) and any(name in wanted for name in gate.serves)
