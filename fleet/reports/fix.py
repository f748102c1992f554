"""What only a person can put right, told one failure at a time."""

from collections.abc import Iterator, Sequence

from rich.text import Text

from fleet.reports.console import line, paragraph, rendered
from fleet.reports.findings import grouped
from fleet.reports.terminal import finding
from fleet.reports.view import View
from fleet.verifier.model import Finding


def by_hand_text(findings: Sequence[Finding], view: View) -> str:
    """Tell failures with what to do; empty where there are none."""
    return rendered(_by_hand(findings, view), colour=view.colour) if findings else ""


def _by_hand(findings: Sequence[Finding], view: View) -> Iterator[Text]:
    yield line(("By hand", "bold underline"))
    yield line()
    for group in grouped(findings):
        yield from finding(group, view)
        if not group.finding.remedy:
            told = f"`fleet explain {group.finding.gate}` tells what it needs"
            yield from paragraph(told, view.cells)
        yield line()
