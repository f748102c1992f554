"""Waivers: a failure that the inventory accepts is told as waived, until its day has passed. Pure.

Only ``fail`` is ever touched. What passes needs no waiver, and what could not be seen cannot be
accepted: nobody knows what it would be.
"""

from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from operator import attrgetter

from fleet.inventory.model import Waiver
from fleet.verifier.model import Accepted, Finding, Verdict

SOON = timedelta(days=14)
_verdict = attrgetter("verdict")


def running_out(waivers: Iterable[Waiver], today: date) -> tuple[str, ...]:
    """Return a line for each waiver that has run out, or does within two weeks, with its place."""
    return tuple(
        _warning(waiver, today)
        for waiver in sorted(waivers, key=lambda waiver: waiver.until)
        if waiver.until <= today + SOON
    )


def _warning(waiver: Waiver, today: date) -> str:
    left = (waiver.until - today).days
    if left < 0:
        told = f"ran out on {waiver.until}: what it accepted fails again"
    elif left == 0:
        told = "runs out today"
    else:
        told = f"runs out on {waiver.until}, in {left} {'day' if left == 1 else 'days'}"
    where = f"{waiver.place}: " if waiver.place else ""
    on = ", ".join(waiver.targets)
    return f"{where}the waiver of {waiver.gate} on {on} {told} ({waiver.reason})"


def waived(
    findings: Iterable[Finding], waivers: Sequence[Waiver], today: date
) -> tuple[Finding, ...]:
    """Return findings with waivers applied.

    A failure within a waiver's time is ``waived``; after its last day it stays a failure, and says
    that the waiver has run out.
    """
    if not waivers:
        return tuple(findings)
    of = {(waiver.gate, name): waiver for waiver in waivers for name in waiver.targets}
    return tuple(_applied(f, of.get((f.gate, f.target)), today) for f in findings)


def _applied(finding: Finding, waiver: Waiver | None, today: date) -> Finding:
    if waiver is None or finding.verdict is not Verdict.FAIL:
        return finding
    accepted = Accepted(waiver.reason, waiver.until, expired=today > waiver.until)
    verdict = finding.verdict if accepted.expired else Verdict.WAIVED
    return finding._replace(verdict=verdict, waiver=accepted)


def excused(findings: Sequence[Finding]) -> frozenset[tuple[str, str]]:
    """Return (target, gate) of what was not asked because a waived failure tells its cause."""
    if Verdict.WAIVED not in map(_verdict, findings):
        return frozenset()
    accepted = {(f.target, f.gate) for f in findings if f.verdict is Verdict.WAIVED}
    return frozenset(
        (f.target, f.gate)
        for f in findings
        if f.verdict is Verdict.NOT_CHECKED and (f.target, f.follows) in accepted
    )
