"""Verdicts, judgements and findings.

Of judgements and findings one run has hundreds of thousands. A frozen dataclass takes four times as
long to make as a named tuple, which is as frozen.
"""

from datetime import date
from enum import StrEnum
from typing import NamedTuple

from fleet.dataclass import dataclass


class Verdict(StrEnum):
    """The answer to one gate on one target."""

    PASS = "pass"  # noqa: S105 - a verdict, not a password
    FAIL = "fail"
    WARN = "warn"
    NOT_CHECKED = "not-checked"  # could not be seen here; the message says why
    UNREACHABLE = "unreachable"
    ERROR = "error"
    WAIVED = "waived"
    NOT_APPLICABLE = "not-applicable"


class Severity(StrEnum):
    """How much a failure costs."""

    CRITICAL = "critical"  # memory is lost, exposed, or goes to the wrong palace
    MAJOR = "major"  # a capability is missing
    MINOR = "minor"


class Judgement(NamedTuple):
    """What a gate says about one target, before anyone asks whether it was required.

    Attributes:
        message: one line, no final stop, without the target's name.
        evidence: the facts that decided it, one line each, in the order a reader wants them.
        remedy: overrides the gate's own remedy where more is known.
        follows: the gate on the same target that tells the cause, where this one only repeats it.
    """

    verdict: Verdict
    message: str
    evidence: tuple[str, ...] = ()
    remedy: str | None = None
    follows: str | None = None


@dataclass(frozen=True, slots=True)
class Accepted:
    """The inventory's word on a failure: accepted for a reason, up to and including a day.

    Attributes:
        expired: whether that day has passed; the failure then counts.
    """

    reason: str
    until: date
    expired: bool

    def __str__(self) -> str:
        if self.expired:
            return f"the waiver ran out on {self.until}: {self.reason}"
        return f"waived until {self.until}: {self.reason}"


class Finding(NamedTuple):
    """One gate's verdict on one target, with the facts that decided it.

    Attributes:
        required: whether the verdict decides the exit code.
        since: the commit or version the gate dates from, as shown (``29e660e (2026-08-12)``).
        follows: a gate on the same target whose failure this one only repeats.
        waiver: what the inventory says of the failure, where it says something.
        fixed_by: artifacts, of those that the target has, which put a failure or a warning right
            when they are deployed again; those of another system are named with it.
    """

    target: str
    system: str
    gate: str
    verdict: Verdict
    severity: Severity
    required: bool
    message: str
    evidence: tuple[str, ...] = ()
    since: str | None = None
    remedy: str | None = None
    follows: str | None = None
    capabilities: tuple[str, ...] = ()
    waiver: Accepted | None = None
    fixed_by: tuple[str, ...] = ()


def passed(message: str, *evidence: str) -> Judgement:
    """The gate holds."""
    return Judgement(Verdict.PASS, message, evidence)


def failed(message: str, *evidence: str, remedy: str | None = None) -> Judgement:
    """The gate does not hold."""
    return Judgement(Verdict.FAIL, message, evidence, remedy)


def warned(message: str, *evidence: str, remedy: str | None = None) -> Judgement:
    """The gate holds, but something about it should be known."""
    return Judgement(Verdict.WARN, message, evidence, remedy)


def errored(message: str, *evidence: str, remedy: str | None = None) -> Judgement:
    """The target answered, and the answer could not be read (no permission, for one)."""
    return Judgement(Verdict.ERROR, message, evidence, remedy)


def not_checked(why: str, *evidence: str) -> Judgement:
    """What the gate asks could not be seen on this target."""
    return Judgement(Verdict.NOT_CHECKED, why, evidence)


def follows_from(gate: str) -> Judgement:
    """The gate cannot be asked, because of what another gate of the target tells."""
    return Judgement(Verdict.NOT_CHECKED, f"follows from {gate}", follows=gate)


def not_applicable(why: str, *evidence: str) -> Judgement:
    """The gate asks about something that this target does not have by design."""
    return Judgement(Verdict.NOT_APPLICABLE, why, evidence)
