"""How a gate's test is told: the words of fleet's own report, and no traceback."""

from pathlib import Path

import pytest
from _pytest._code.code import (
    ReprEntryNative,
    ReprExceptionInfo,
    ReprFileLocation,
    ReprTraceback,
)
from rich.text import Text

from fleet.errors import Place
from fleet.reports.console import rendered
from fleet.reports.document import RunDocument, TroublePart
from fleet.reports.findings import Group, Silence
from fleet.reports.terminal import finding as told_finding
from fleet.reports.terminal import silence
from fleet.reports.text import clip, count, printable
from fleet.reports.view import View
from fleet.verifier.model import Finding

#: Stages of a trouble at which there was a connection, and no facts came of it.
UNREAD = ("probe", "unsupported")
LONGEST = 300
VIEW = View(width=80)


def words(summary: str, text: str, place: tuple[Path, int]) -> ReprExceptionInfo:
    """Return what a report shows in place of a traceback.

    Made of pytest's own parts, which are what pytest-xdist carries from a worker.

    Args:
        summary: one line, for pytest's summary and the message in JUnit.
        text: all of it.
        place: file and line of what the test is about.
    """
    entry = ReprEntryNative([text if text.endswith("\n") else f"{text}\n"])
    return ReprExceptionInfo(
        reprcrash=ReprFileLocation(str(place[0]), place[1], one_line(summary)),
        reprtraceback=ReprTraceback([entry], extraline=None, style="native"),
    )


def one_line(text: str) -> str:
    """Return a text as it may stand in a summary."""
    return clip(printable(text), LONGEST)


def of_finding(told: Finding) -> str:
    """Tell a finding as fleet's report does: message, evidence, remedy.

    What only follows from another gate needs no remedy of its own: that gate's is the one.
    """
    if told.follows is not None:
        told = told._replace(since=None, remedy=None)
    return _plain(list(told_finding(Group(told, (told.target,)), VIEW)))


def of_trouble(target: str, trouble: TroublePart, gates: int) -> str:
    """Tell why a target could not be looked at, as fleet's report does."""
    return _plain(
        list(
            silence(
                Silence(
                    stage=trouble.stage,
                    what=trouble.message,
                    hint=trouble.hint,
                    targets=(target,),
                    gates=gates,
                    unreachable=trouble.stage not in UNREAD,
                ),
                VIEW,
            )
        )
    )


def summary_of_trouble(target: str, trouble: TroublePart) -> str:
    """Tell on one line that a target could not be looked at."""
    verb = "could not be read" if trouble.stage in UNREAD else "is unreachable"
    return one_line(f"{target} {verb}: {trouble.message}")


def of_run(run: RunDocument) -> str:
    """Tell how many targets were asked, and how many answered."""
    total = run.summary.targets.total
    silent = sum(target.trouble is not None for target in run.targets)
    return f"{count(total, 'target')} asked, {total - silent} answered"


def located(place: Place | None, fallback: Path) -> tuple[Path, int]:
    """Return the file and line at which a target is declared."""
    if place is None:
        return fallback, 1
    return Path(place.file), max(place.line, 1)


def skipped(report: pytest.TestReport, place: tuple[Path, int], reason: str) -> None:
    """Let a report say that a test was skipped, and why, at the place the test is about."""
    report.outcome = "skipped"
    report.longrepr = (str(place[0]), place[1], f"Skipped: {one_line(reason)}")


def _plain(lines: list[Text]) -> str:
    return rendered(lines, colour=False)
