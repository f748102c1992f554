"""From a finding to what pytest calls it, so that both exit with 0 for the same fleets. Pure."""

from enum import StrEnum

from fleet.dataclass import dataclass
from fleet.verifier.model import Finding, Verdict
from fleet.verifier.run import UNSEEN


class Outcome(StrEnum):
    """What pytest counts."""

    PASSED = "passed"
    FAILED = "failed"
    XFAILED = "xfailed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Told:
    """What becomes of a gate's test, and why."""

    outcome: Outcome
    reason: str = ""


def decides(finding: Finding, *, strict: bool) -> bool:
    """Tell whether a finding by itself keeps a run from being a success."""
    if not (finding.required or strict):
        return False
    if finding.verdict is Verdict.WARN:
        return strict
    return finding.verdict is Verdict.FAIL or finding.verdict in UNSEEN


def outcome(finding: Finding, cause: Finding | None, *, strict: bool) -> Told:
    """Decide what becomes of a gate's test.

    Args:
        finding: what the gate says.
        cause: the finding that this one only repeats.
        strict: whether advisory failures and warnings count.
    """
    if finding.verdict is Verdict.PASS:
        return Told(Outcome.PASSED)
    if finding.verdict is Verdict.NOT_APPLICABLE:
        return Told(Outcome.SKIPPED, f"not applicable: {finding.message}")
    if finding.verdict is Verdict.WAIVED:
        return Told(Outcome.XFAILED, f"{finding.message}; {finding.waiver}")
    accepted = cause is not None and cause.verdict is Verdict.WAIVED
    if finding.verdict is Verdict.NOT_CHECKED and accepted:
        return Told(Outcome.SKIPPED, f"not checked: {finding.message}, which is waived")
    if decides(finding, strict=strict):
        return Told(Outcome.FAILED)
    if finding.verdict is Verdict.NOT_CHECKED:
        return Told(Outcome.SKIPPED, f"not checked: {finding.message}")
    word = "warning" if finding.verdict is Verdict.WARN else "advisory"
    return Told(Outcome.XFAILED, f"{word}: {finding.message}")
