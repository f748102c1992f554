"""The report as Markdown, for a comment on a pull request or the summary of a job.

The first line is the verdict. What failed and what to do stands in a table, the rest is folded
away. At most 60 kB: what does not fit is counted.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field

from fleet.dataclass import dataclass
from fleet.reports.findings import Chapters, Group, Silence, Unchecked, chapters
from fleet.reports.marked import code, prose
from fleet.reports.points import details
from fleet.reports.text import count, printable
from fleet.reports.view import View
from fleet.verifier.model import Verdict
from fleet.verifier.run import Run, conclude

MOST = 60_000  # bytes; hosts refuse comments of more than 65 536 characters
TAIL = 400  # bytes kept back to close what is open and to say what is left out
WORDS = {0: "PASSED", 2: "FAILED", 3: "NOT PROVED"}
NAMED = 5  # targets named in a cell
LEFT_OUT = "left out here; the JSON report holds everything"


@dataclass(slots=True)
class _Page:
    """Markdown up to a number of bytes."""

    room: int = MOST - TAIL
    blocks: list[str] = field(default_factory=list)
    left: int = 0

    def add(self, block: str) -> bool:
        """Add a block where there is room for it; count it otherwise."""
        size = len(block.encode("utf-8", "backslashreplace"))
        if self.left or size > self.room:
            self.left += 1
            return False
        self.room -= size
        self.blocks.append(block)
        return True


def render(run: Run, _view: View) -> str:
    """Render a run as Markdown (GitHub's and GitLab's dialect)."""
    told, conclusion, page = chapters(run), conclude(run), _Page()
    word = WORDS.get(conclusion.code, "")
    page.add(f"**{word}**: {prose(conclusion.reason)} (exit {conclusion.code})\n\n")
    _table(page, _rows_deciding(told))
    page.add(f"{_counts(run)}\n\n")
    folded = (
        ("Evidence", _evidence(told.deciding + told.unseen)),
        ("Advisory: shown, not deciding", _findings(told.advisory)),
        ("Waived", _findings(told.waived)),
        ("Not checked, and why", _unchecked(told.unchecked)),
        ("Targets", _targets(run)),
    )
    for title, lines in folded:
        _fold(page, title, lines)
    if page.left:
        page.blocks.append(f"\n{count(page.left, 'row')} {LEFT_OUT}.\n")
    return "".join(page.blocks)


def _table(page: _Page, rows: Iterable[tuple[str, ...]]) -> None:
    lines = [f"| {' | '.join(row)} |\n" for row in rows]
    if lines and page.add("| target | gate | what | what to do |\n|---|---|---|---|\n"):
        for line in lines:
            page.add(line)
        page.add("\n")


def _fold(page: _Page, title: str, lines: Iterable[str]) -> None:
    rows = list(lines)
    opening = f"<details><summary>{title} ({len(rows)})</summary>\n\n"
    if rows and page.add(opening):
        for row in rows:
            page.add(f"- {row}\n")
        page.blocks.append("\n</details>\n")


def _rows_deciding(told: Chapters) -> Iterator[tuple[str, ...]]:
    yield from (_row(group) for group in (*told.deciding, *told.unseen))
    yield from map(_silent, told.silent)
    for one in told.unchecked:
        if one.required:
            what = f"not checked: {prose(one.reason)}"
            yield _on(one.targets), ", ".join(map(code, one.gates)), what, ""


def _row(group: Group) -> tuple[str, ...]:
    finding = group.finding
    word = "" if finding.verdict is Verdict.FAIL else f"{finding.verdict.value}: "
    needs = f"needs {code(finding.since)} or later" if finding.since else ""
    what = "; ".join(filter(None, (needs, prose(finding.remedy or ""))))
    return _on(group.targets), code(finding.gate), word + prose(finding.message), what


def _silent(silence: Silence) -> tuple[str, ...]:
    word = "not reached" if silence.unreachable else "not read"
    told = f"{prose(silence.what)}; {count(silence.gates, 'gate')} not judged"
    return _on(silence.targets), word, told, prose(silence.hint)


def _on(targets: Sequence[str]) -> str:
    named = ", ".join(code(target) for target in targets[:NAMED])
    more = len(targets) - NAMED
    return f"{named} and {more} more" if more > 0 else named


def _counts(run: Run) -> str:
    verdicts = run.counts()
    told = ", ".join(
        f"{verdicts[v]} {v.value.replace('-', ' ')}"
        for v in Verdict
        if verdicts[v] or v in (Verdict.PASS, Verdict.FAIL, Verdict.NOT_CHECKED)
    )
    silent = sum(r.facts is None for r in run.results)
    asked = f"{count(len(run.results), 'target')} asked, {len(run.results) - silent} answered"
    return f"{asked}; {count(verdicts.total(), 'finding')}: {told}"


def _evidence(groups: Iterable[Group]) -> Iterator[str]:
    for group in groups:
        head = f"{_on(group.targets)}, {code(group.finding.gate)}"
        lines = _nested(group.finding.evidence)
        follow = ", ".join(map(code, group.followers))
        lines += f"\n  - and so not asked: {follow}" if follow else ""
        if lines:
            yield head + lines


def _findings(groups: Iterable[Group]) -> Iterator[str]:
    for group in groups:
        finding = group.finding
        head = f"{_on(group.targets)}, {code(finding.gate)}, {finding.verdict.value}: "
        yield head + prose(finding.message) + _nested(details(finding))


def _nested(lines: Iterable[str]) -> str:
    return "".join(f"\n  - {text}" for text in map(prose, lines) if text)


def _unchecked(told: Iterable[Unchecked]) -> Iterator[str]:
    for one in told:
        gates = ", ".join(map(code, one.gates))
        yield f"{gates} on {_on(one.targets)}: {prose(one.reason)}"


def _targets(run: Run) -> Iterator[str]:
    for result in sorted(run.results, key=lambda r: r.target.name):
        name, address = result.target.name, printable(str(result.target.address))
        yield code(name) if name == address else f"{code(name)}: {code(address)}"
