"""One invocation's results, and what they come down to. Pure data and two pure functions."""

from collections import Counter
from datetime import datetime
from itertools import chain
from typing import TYPE_CHECKING

from fleet.dataclass import dataclass
from fleet.errors import TargetError
from fleet.facts.model import Facts
from fleet.inventory.model import Target
from fleet.systems.model import Gate
from fleet.verifier.model import Finding, Verdict
from fleet.verifier.waivers import excused

if TYPE_CHECKING:
    from fleet.verifier.fleetwide.table import Table

NOTHING = "nothing required was checked"
_FAILURES = frozenset({Verdict.FAIL})
_STRICTLY = frozenset({Verdict.FAIL, Verdict.WARN})
UNSEEN = frozenset({Verdict.NOT_CHECKED, Verdict.UNREACHABLE, Verdict.ERROR})


@dataclass(frozen=True, slots=True)
class TargetResult:
    """What one target came down to.

    Attributes:
        facts: None when the target could not be asked; ``trouble`` then says why.
        findings: one for each gate of its systems, whatever happened.
        milliseconds: how long asking took.
    """

    target: Target
    facts: Facts | None
    findings: tuple[Finding, ...]
    trouble: TargetError | None = None
    milliseconds: int = 0


@dataclass(frozen=True, slots=True)
class Run:
    """One audit: what was asked of whom, and every finding.

    Attributes:
        id: unique, sortable by start.
        command: the command's name (``audit``, ``check``, ...), never its arguments.
        fleetwide: findings about several targets together; they name the fleet, or a group.
        gates: what the catalogue says of the gates that were asked, for reports that explain them.
        drift: the sides of everything that has more than one, held against each other.
    """

    id: str
    command: str
    started: datetime
    finished: datetime
    results: tuple[TargetResult, ...]
    strict: bool = False
    fleetwide: tuple[Finding, ...] = ()
    gates: tuple[Gate, ...] = ()
    drift: "tuple[Table, ...]" = ()

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Return all findings, target by target, then those about the fleet."""
        return (*chain.from_iterable([r.findings for r in self.results]), *self.fleetwide)

    def counts(self) -> Counter[Verdict]:
        """Count findings by verdict; verdicts that did not occur count 0."""
        counts = Counter(f.verdict for f in self.findings)
        return Counter({verdict: counts[verdict] for verdict in Verdict})


@dataclass(frozen=True, slots=True)
class Conclusion:
    """The exit code and why: 0 all required held, 2 one failed, 3 one could not be checked."""

    code: int
    reason: str


def deciding(run: Run) -> list[Finding]:
    """Return the findings that decide the exit code.

    Required ones do; with ``strict`` advisory ones too. What only follows from a waived failure
    does not.
    """
    return _deciding(run.findings, strict=run.strict)


def _deciding(findings: tuple[Finding, ...], *, strict: bool) -> list[Finding]:
    beside = excused(findings)
    decide = [f for f in findings if f.required or strict]
    return [f for f in decide if (f.target, f.gate) not in beside] if beside else decide


def failing(verdict: Verdict, *, strict: bool) -> bool:
    """Whether a verdict that decides is a failure: ``fail``, and with ``strict`` ``warn`` too."""
    return verdict in _failures(strict=strict)


def _failures(*, strict: bool) -> frozenset[Verdict]:
    return _STRICTLY if strict else _FAILURES


def conclude(run: Run) -> Conclusion:
    """Decide a run's exit code.

    A waived failure does not count. A run that checked nothing is not a success: it exits 3.
    """
    return _concluded(deciding(run), strict=run.strict)


def _concluded(decide: list[Finding], *, strict: bool) -> Conclusion:
    failures = _failures(strict=strict)
    failed = [f for f in decide if f.verdict in failures]
    if failed:
        return Conclusion(2, _told(failed, "failed"))
    unseen = [f for f in decide if f.verdict in UNSEEN]
    if unseen:
        return Conclusion(3, _told(unseen, "could not be checked"))
    held = sum(f.verdict is Verdict.PASS for f in decide)
    waived = sum(f.verdict is Verdict.WAIVED for f in decide)
    if not held:
        return Conclusion(3, NOTHING)
    if waived:
        return Conclusion(0, f"{held} of {held + waived} required gates hold, {waived} waived")
    if held == 1:
        return Conclusion(0, "the one required gate holds")
    return Conclusion(0, f"all {held} required gates hold")


def _told(findings: list[Finding], what: str) -> str:
    targets = len({f.target for f in findings})
    gates = "gate" if len(findings) == 1 else "gates"
    on = "target" if targets == 1 else "targets"
    return f"{len(findings)} required {gates} {what} on {targets} {on}"


def in_short(result: TargetResult, *, strict: bool = False) -> tuple[bool, str]:
    """Say in one line what a target came down to, and whether that is good.

    What the fleet as a whole comes down to may still be otherwise.
    """
    decide = _deciding(result.findings, strict=strict)
    failures = _failures(strict=strict)
    failed = [f.gate for f in decide if f.verdict in failures]
    if failed:
        return False, f"failed: {', '.join(failed)}"
    if result.trouble is not None:
        return False, f"could not be checked: {result.trouble.what}"
    unseen = [f.gate for f in decide if f.verdict in UNSEEN]
    if unseen:
        return False, f"could not be checked: {', '.join(unseen)}"
    return True, _concluded(decide, strict=strict).reason
