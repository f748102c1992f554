"""The report as workflow commands of GitHub Actions: annotations in the run's summary.

One cause on many targets is one annotation, worst first. A step shows ten annotations of a level;
what is over is counted in the tenth.
"""

from collections.abc import Iterator, Sequence

from fleet.dataclass import dataclass
from fleet.reports.findings import Chapters, Group, Silence, Unchecked, chapters
from fleet.reports.points import details
from fleet.reports.text import clip, count, names, printable
from fleet.reports.view import View
from fleet.verifier.model import Severity, Verdict
from fleet.verifier.run import Run, conclude, deciding

SHOWN = 10  # annotations of one level that a step shows
LONGEST = 4000  # characters of a message
TITLE = 120
LEVELS = ("error", "warning", "notice")


@dataclass(frozen=True, slots=True)
class Annotation:
    """One annotation; texts are printable, the message may have several lines."""

    level: str
    title: str
    message: str

    def __str__(self) -> str:
        message = clip(self.message, LONGEST)
        return f"::{self.level} title={escape_property(self.title)}::{escape_data(message)}"


def render(run: Run, _view: View) -> str:
    """Render a run as workflow commands, one a line; the last tells the exit code and why."""
    told = chapters(run)
    conclusion = conclude(run)
    found = list(_annotations(told, run))
    level = "error" if conclusion.code else "notice"
    last = Annotation(
        level, f"fleet {run.command}: exit {conclusion.code}", printable(conclusion.reason)
    )
    lines: list[Annotation] = []
    for each in LEVELS:
        room = SHOWN - (each == last.level)
        lines += _bounded([a for a in found if a.level == each], each, room)
    return "".join(f"{line}\n" for line in [*lines, last])


def escape_data(text: str) -> str:
    """Escape a message so that it stays one command whatever is in it."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def escape_property(text: str) -> str:
    """Escape a property's value, which ends at ``,`` or ``::``."""
    return escape_data(text).replace(":", "%3A").replace(",", "%2C")


def _bounded(found: Sequence[Annotation], level: str, room: int) -> Iterator[Annotation]:
    if len(found) <= room:
        yield from found
        return
    yield from found[: room - 1]
    left = [annotation.title for annotation in found[room - 1 :]]
    yield Annotation(level, f"fleet: {len(left)} more", "\n".join(left))


def _annotations(told: Chapters, run: Run) -> Iterator[Annotation]:
    decide = {(f.target, f.gate) for f in deciding(run)}
    required = {target for target, _ in decide}
    yield from (_finding(group, "error") for group in (*told.deciding, *told.unseen))
    yield from (_silence(silence, required) for silence in told.silent)
    for group in told.advisory:
        minor = group.finding.severity is Severity.MINOR
        yield _finding(group, "notice" if minor else "warning")
    yield from (_finding(group, "notice") for group in told.waived)
    yield from _unchecked(told.unchecked, decide)


def _finding(group: Group, level: str) -> Annotation:
    finding = group.finding
    lines = [_on(group.targets), *details(finding)]
    if group.followers:
        lines.append(f"and so not asked: {', '.join(group.followers)}")
    word = "waived: " if finding.verdict is Verdict.WAIVED else ""
    head = f"{word}{printable(clip(finding.message, LONGEST))}"
    return Annotation(level, _title(group.targets, finding.gate), _joined(head, *lines))


def _silence(silence: Silence, required: set[str]) -> Annotation:
    level = "error" if required.intersection(silence.targets) else "warning"
    lines = [
        printable(clip(silence.what, LONGEST)),
        _on(silence.targets),
        printable(clip(silence.hint, LONGEST)),
        f"{count(silence.gates, 'gate')} not judged",
    ]
    word = "not reached" if silence.unreachable else "not read"
    return Annotation(level, _title(silence.targets, word), _joined(*lines))


def _unchecked(told: Sequence[Unchecked], decide: set[tuple[str, str]]) -> Iterator[Annotation]:
    for one in told:
        lines = [f"not checked: {printable(clip(one.reason, LONGEST))}", ", ".join(one.gates)]
        decides = any((target, gate) in decide for target in one.targets for gate in one.gates)
        level = "error" if one.required and decides else "notice"
        title = _title(one.targets, names(one.gates, 60))
        yield Annotation(level, title, _joined(*lines, _on(one.targets)))


def _joined(*lines: str) -> str:
    return "\n".join(filter(None, lines))


def _title(targets: Sequence[str], what: str) -> str:
    who = printable(clip(targets[0], TITLE)) if len(targets) == 1 else f"{len(targets)} targets"
    return f"{who}: {what}"


def _on(targets: Sequence[str]) -> str:
    """Name the targets where the title only counts them."""
    return (
        ""
        if len(targets) == 1
        else f"on {names([printable(clip(t, TITLE)) for t in targets], 600)}"
    )
