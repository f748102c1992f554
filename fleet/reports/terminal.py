"""The report for a person at a terminal of 80 columns, with colours or without.

It opens with a matrix, tells the findings worst first and one cause once, and ends with the counts,
what was not checked, and the reason for the exit code.
"""

from collections.abc import Iterable, Iterator, Sequence

from rich.cells import cell_len
from rich.text import Text

from fleet.reports import drift
from fleet.reports.console import line, paragraph, rendered
from fleet.reports.findings import Chapters, Group, Silence, Unchecked, chapters
from fleet.reports.grid import draw
from fleet.reports.matrix import matrix
from fleet.reports.text import clip, count, fold, names, printable
from fleet.reports.view import Detail, View
from fleet.verifier.model import Verdict
from fleet.verifier.run import Run, conclude

BETWEEN = "   "  # the fields of a finding's first line
LONGEST = 600  # characters of one line of evidence; the JSON document holds all of it
STYLES = {
    Verdict.PASS: "green",
    Verdict.FAIL: "bold red",
    Verdict.WARN: "bold yellow",
    Verdict.NOT_CHECKED: "magenta",
    Verdict.UNREACHABLE: "bold magenta",
    Verdict.ERROR: "bold magenta",
    Verdict.WAIVED: "cyan",
    Verdict.NOT_APPLICABLE: "dim",
}
OUTCOMES = {0: "bold green", 2: "bold red", 3: "bold magenta"}


def render(run: Run, view: View) -> str:
    """Render a run for a terminal; without colour the text holds no escape sequence."""
    return rendered(lines(run, view), colour=view.colour)


def lines(run: Run, view: View) -> Iterator[Text]:
    """Lay out a run line by line."""
    shown = run if run.command != "drift" else drift.beside(run, view)
    told = chapters(shown, holding=view.detail is Detail.VERBOSE)
    if run.command == "drift":
        yield from drift.lines(run.drift, view)
    elif view.detail is not Detail.QUIET:
        drawn = list(draw(matrix(run), view))
        yield from [*drawn, line()] if drawn else []
    yield from _findings(told, run, view)
    if run.command != "drift" and view.detail is not Detail.QUIET:
        yield from _drifted(run, view)
    if view.detail is not Detail.QUIET:
        yield from _unchecked(told.unchecked, view)
        yield from _counts(run, told, view) if run.command != "drift" else ()
    elif told.unchecked and conclude(run).code == 3:  # noqa: PLR2004 - the exit code
        yield from _unchecked([u for u in told.unchecked if u.required], view)
    conclusion = conclude(run)
    yield from paragraph(
        f"exit {conclusion.code}: {printable(conclusion.reason)}",
        view.cells,
        indent=0,
        style=OUTCOMES.get(conclusion.code, "bold"),
    )


def _findings(told: Chapters, run: Run, view: View) -> Iterator[Text]:
    yield from _chapter("Failed", told.deciding, view)
    yield from _silent(told.silent, view)
    yield from _chapter("Required, and could not be read", told.unseen, view)
    if view.detail is not Detail.QUIET:
        yield from _chapter("Advisory: shown, not deciding", told.advisory, view)
        yield from _chapter("Waived", told.waived, view)
    if view.detail is Detail.VERBOSE:
        yield from _chapter("Holding, or not applicable", told.passed, view)
        yield from _asked(run)


def _heading(text: str) -> Text:
    return line((text, "bold underline"))


def _chapter(title: str, groups: Sequence[Group], view: View) -> Iterator[Text]:
    if not groups:
        return
    yield _heading(title)
    yield line()
    for group in groups:
        yield from finding(group, view)
        if group.finding.verdict is not Verdict.PASS:
            yield line()
    if groups[-1].finding.verdict is Verdict.PASS:
        yield line()


def finding(group: Group, view: View) -> Iterator[Text]:
    """Tell one finding: who, which gate, the verdict and the message; the evidence; what to do."""
    told, width = group.finding, view.cells
    verdict = told.verdict.upper().replace("-", " ")
    yield from _first(
        group.targets, told.gate, (verdict, STYLES[told.verdict]), _shown(told.message, view), view
    )
    for evidence in told.evidence:
        yield from paragraph(_shown(evidence, view), width)
    if told.waiver is not None:
        yield from paragraph(_shown(str(told.waiver), view), width, style="cyan")
    if told.verdict not in (Verdict.PASS, Verdict.NOT_APPLICABLE):
        yield from paragraph(_shown(_advice(told.since, told.remedy), view), width, style="bold")
    if told.fixed_by and told.verdict in (Verdict.FAIL, Verdict.WARN):
        yield from paragraph(f"`fleet fix {told.gate}` shows what would put it right", width)
    if group.followers:
        yield from paragraph(f"and so not asked: {', '.join(group.followers)}", width, style="dim")


def _advice(since: str | None, remedy: str | None) -> str:
    if since:
        return f"needs {since} or later" + (f": {remedy}" if remedy else "")
    return remedy or ""


def _shown(text: str, view: View) -> str:
    safe = printable(text)
    return safe if view.detail is Detail.VERBOSE else clip(safe, LONGEST)


def _first(
    targets: Sequence[str], gate: str, verdict: tuple[str, str], message: str, view: View
) -> Iterator[Text]:
    """Tell who, what and how on one line where it fits, else the rest below."""
    who = ", ".join(printable(t) for t in targets)
    many = len(targets) > 1 and cell_len(who) > view.cells // 2
    who = f"{len(targets)} targets" if many else who
    head = cell_len(BETWEEN.join([who, gate, verdict[0]]))
    parts: list[tuple[str, str] | str] = [(who, "bold"), BETWEEN, gate, BETWEEN, verdict]
    if head + len(BETWEEN) + cell_len(message) <= view.cells:
        yield line(*parts, BETWEEN, message)
    elif head <= view.cells:
        yield line(*parts)
        yield from paragraph(message, view.cells)
    else:
        yield from (line((text, "bold")) for text in fold(who, view.cells, "", "  "))
        yield line("  ", gate, BETWEEN, verdict)
        yield from paragraph(message, view.cells)
    if many:
        yield from _on(targets, view, lines=3)


def _on(targets: Sequence[str], view: View, lines: int) -> Iterator[Text]:
    """Name targets: as many as take some lines, or all of them with ``--verbose``."""
    room = lines * (view.cells - 8) if view.detail is not Detail.VERBOSE else 10**9
    listed = names([printable(t) for t in targets], room)
    yield from paragraph(f"on {listed}", view.cells, style="dim")


def _silent(silences: Iterable[Silence], view: View) -> Iterator[Text]:
    told = list(silences)
    if not told:
        return
    yield _heading("Not reached" if all(s.stage != "probe" for s in told) else "Not read")
    yield line()
    for silent in told:
        yield from silence(silent, view)
        yield line()


def silence(told: Silence, view: View) -> Iterator[Text]:
    """Tell who could not be asked and why; what to do; how much was not judged."""
    word = ("UNREACHABLE" if told.unreachable else "ERROR", STYLES[Verdict.UNREACHABLE])
    yield from _first(told.targets, told.stage, word, _shown(told.what, view), view)
    yield from paragraph(_shown(told.hint, view), view.cells, style="bold")
    yield from paragraph(f"{count(told.gates, 'gate')} not judged", view.cells, style="dim")


def _unchecked(unchecked: Sequence[Unchecked], view: View) -> Iterator[Text]:
    if not unchecked:
        return
    yield _heading("Not checked, and why")
    yield line()
    for told in unchecked:
        required = " (required)" if told.required else ""
        gates = ", ".join(told.gates) + required
        yield from paragraph(f"{gates}: {_shown(told.reason, view)}", view.cells, indent=0)
        yield from _on(told.targets, view, lines=1)
    yield line()


def _drifted(run: Run, view: View) -> Iterator[Text]:
    """Show what has several sides of which one differs."""
    worth = [table for table in run.drift if table.worth_telling]
    if worth:
        yield _heading("Drift")
        yield line()
        yield from drift.lines(worth, view)


def _asked(run: Run) -> Iterator[Text]:
    yield _heading("Asked")
    yield line()
    for result in run.results:
        where = printable(str(result.target.address))
        yield line(f"{printable(result.target.name)}   {where}   {result.milliseconds} ms")
    yield line()


def _counts(run: Run, told: Chapters, view: View) -> Iterator[Text]:
    silent = sum(len(s.targets) for s in told.silent)
    total = len(run.results)
    answered = f"{count(total, 'target')} asked, {total - silent} answered"
    verdicts = run.counts()
    counted = ", ".join(
        f"{verdicts[v]} {v.replace('-', ' ')}"
        for v in Verdict
        if verdicts[v] or v in (Verdict.PASS, Verdict.FAIL, Verdict.NOT_CHECKED)
    )
    gates = count(verdicts.total(), "finding")
    yield from paragraph(f"{answered}; {gates}: {counted}", view.cells, indent=0)
