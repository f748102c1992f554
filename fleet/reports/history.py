"""What the history tells, for a person and as JSON."""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime

from rich.cells import cell_len
from rich.text import Text

from fleet.history.factdiff import FactChange
from fleet.history.model import Acted, Beside, Kept, Since
from fleet.history.retain import Pruned
from fleet.reports.console import labelled, line, paragraph, rendered
from fleet.reports.document import document
from fleet.reports.text import clip, count, fold, printable
from fleet.reports.view import View
from fleet.verifier.model import Verdict
from fleet.verifier.run import UNSEEN, Run

FORMAT = "fleet.history/1"
LONGEST = 200
DAY, HOUR, MINUTE = 86_400, 3600, 60


def runs_text(runs: Sequence[Kept], view: View, now: datetime) -> str:
    """List runs, the newest first."""
    return rendered(_runs(runs, view, now), colour=view.colour)


def runs_json(runs: Sequence[Kept]) -> str:
    """List runs as JSON, the newest first."""
    return as_json({"format": FORMAT, "runs": [kept_json(run) for run in runs]})


def _runs(runs: Sequence[Kept], view: View, now: datetime) -> Iterator[Text]:
    rows = [_row(run, now) for run in runs]
    rooms = [max((cell_len(row[n]) for row in rows), default=0) for n in range(3)]
    if rows:
        head = "  ".join(
            word.ljust(room) for word, room in zip(("run", "ago", "command"), rooms, strict=True)
        )
        yield line((f"{head}  exit  what", "dim"))
    for row, run in zip(rows, runs, strict=True):
        cells = "  ".join(
            text + " " * (room - cell_len(text)) for text, room in zip(row[:3], rooms, strict=True)
        )
        code = "-" if run.code is None else str(run.code)
        first = f"{cells}  {code:<4}  "
        folded = fold(row[3], view.cells, first, " " * min(len(first), view.cells // 2))
        yield from (line(text) for text in folded or [first])
    yield line((count(len(runs), "run"), "dim"))


def _row(run: Kept, now: datetime) -> tuple[str, str, str, str]:
    return run.id, ago(now - run.started), run.command, _what(run)


def _what(run: Kept) -> str:
    told = [count(run.targets, "target")] if run.targets else []
    failed = run.required.get(Verdict.FAIL, 0)
    unseen = sum(run.required.get(verdict, 0) for verdict in UNSEEN)
    if failed:
        told.append(f"{failed} required failed")
    if unseen:
        told.append(f"{unseen} required not checked")
    if run.targets and not failed and not unseen:
        told.append("all required hold" if run.required.get(Verdict.PASS) else "none required")
    if run.changed:
        told.append(f"{count(run.changed, 'target')} changed")
    return ", ".join(told) or printable(run.reason)


def ago(passed: object) -> str:
    """Tell a duration in its largest unit: ``3d``, ``7h``, ``12m``, ``now``."""
    seconds = int(getattr(passed, "total_seconds", lambda: 0)())
    for unit, size in (("d", DAY), ("h", HOUR), ("m", MINUTE)):
        if seconds >= size:
            return f"{seconds // size}{unit}"
    return "now"


def moment(at: datetime | None) -> str:
    """Tell a moment to the minute, in UTC."""
    return "" if at is None else f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def head_text(kept: Kept, beside: Beside, view: View) -> str:
    """Tell who ran a run, when, where from, and what it changed."""
    return rendered(_head(kept, beside, view), colour=view.colour)


def _head(kept: Kept, beside: Beside, view: View) -> Iterator[Text]:
    yield line((kept.id, "bold"))
    code = "" if kept.code is None else f"{kept.code}: {printable(kept.reason)}"
    rows = {
        "command": f"fleet {kept.command}",
        "by": printable("@".join(filter(None, (kept.who, kept.host)))),
        "started": moment(kept.started),
        "fleet": kept.fleet,
        "exit": code,
    }
    room = max(map(len, rows))
    for label, text in rows.items():
        if text:
            yield from labelled(label, text, room, view.cells)
    for acted in beside.acted:
        yield from _acted(acted, view)
    yield line()


def _acted(acted: Acted, view: View) -> Iterator[Text]:
    yield line()
    outcome = printable(acted.trouble) or count(acted.changed, "change")
    yield from paragraph(f"{printable(acted.target)}: {outcome}", view.cells)
    for step in acted.steps:
        told = printable(f"{step.change} {step.key}: {step.summary}")
        yield from paragraph(told, view.cells, 4)


def run_json(kept: Kept, beside: Beside, run: Run) -> str:
    """Return a run with all that is kept with it; ``report`` is a ``fleet.run/1``."""
    told = document(run).model_dump(mode="json")
    told["run"]["fleet"] = kept.fleet
    return as_json(
        {
            "format": FORMAT,
            "run": kept_json(kept),
            "actions": [
                {
                    "target": printable(acted.target),
                    "changed": acted.changed,
                    "trouble": printable(acted.trouble) or None,
                    "steps": [
                        {
                            "key": printable(step.key),
                            "change": step.change,
                            "summary": printable(step.summary),
                        }
                        for step in acted.steps
                    ],
                }
                for acted in beside.acted
            ],
            "report": told,
        }
    )


def kept_json(kept: Kept) -> dict[str, object]:
    """Lay out a run as a list shows it."""
    return {
        "id": kept.id,
        "command": kept.command,
        "started": kept.started.isoformat(),
        "finished": kept.finished.isoformat(),
        "fleet": kept.fleet,
        "who": printable(kept.who),
        "host": printable(kept.host),
        "strict": kept.strict,
        "code": kept.code,
        "reason": printable(kept.reason),
        "targets": kept.targets,
        "changed": kept.changed,
        "verdicts": _counts(kept.counts),
        "required": _counts(kept.required),
    }


def _counts(counts: Mapping[Verdict, int]) -> dict[str, int]:
    return {verdict.value: counts.get(verdict, 0) for verdict in Verdict}


def since_text(since: Since, changes: Sequence[FactChange] | None, view: View) -> str:
    """Tell since when a gate gives its verdict, and what differed in the facts."""
    return rendered(_since(since, changes, view), colour=view.colour)


def _since(since: Since, changes: Sequence[FactChange] | None, view: View) -> Iterator[Text]:
    name = f"{since.gate} on {printable(since.target)}"
    yield line((f"{name}: {since.verdict.value}", "bold"))
    older = "" if since.before else " or before: no older run is kept"
    broke = since.failed if since.failed != since.first else None
    rows = {
        "since": f"{moment(since.first_at)} (run {since.first}){older}",
        "last seen": f"{moment(since.seen_at)} (run {since.seen}), {count(since.runs, 'run')}",
        "before": since.before.value if since.before else "",
        "first failure": f"{moment(since.failed_at)} (run {broke})" if broke else "",
        "last pass": f"{moment(since.passed_at)} (run {since.passed})" if since.passed else "",
    }
    if since.verdict is not Verdict.PASS and not since.passed:
        rows["last pass"] = "none is kept"
    told = {label: text for label, text in rows.items() if text}
    for label, text in told.items():
        yield from labelled(label, text, max(map(len, told)), view.cells)
    if changes is None:
        return
    yield line()
    yield line("what differed in the facts, last pass against first failure" if changes else "")
    if not changes:
        yield line("nothing differed in what was read: the gate, or what was declared, did")
    for change in changes:
        yield from paragraph(fact_line(change), view.cells)


def fact_line(change: FactChange) -> str:
    """Tell one change of facts in a line: where, and from what to what."""
    place = printable(" ".join(change.place))
    before = "(nothing)" if change.before is None else clip(printable(change.before), LONGEST)
    after = "(nothing)" if change.after is None else clip(printable(change.after), LONGEST)
    return f"{place}: {before} -> {after}"


def since_json(since: Since, changes: Sequence[FactChange] | None) -> str:
    """Return since when a gate gives its verdict, as JSON; ``facts`` null: not compared."""
    return as_json(
        {
            "format": FORMAT,
            "gate": since.gate,
            "target": printable(since.target),
            "verdict": since.verdict.value,
            "first": {"run": since.first, "at": since.first_at.isoformat()},
            "last": {"run": since.seen, "at": since.seen_at.isoformat()},
            "runs": since.runs,
            "before": since.before.value if since.before else None,
            "passed": {"run": since.passed, "at": since.passed_at.isoformat()}
            if since.passed and since.passed_at
            else None,
            "failed": {"run": since.failed, "at": since.failed_at.isoformat()}
            if since.failed and since.failed_at
            else None,
            "facts": None
            if changes is None
            else [
                {
                    "place": [printable(part) for part in change.place],
                    "before": None if change.before is None else printable(change.before),
                    "after": None if change.after is None else printable(change.after),
                }
                for change in changes
            ],
        }
    )


def pruned_text(pruned: Pruned, view: View, *, dry: bool) -> str:
    """Tell what was let go."""
    did = "would go" if dry else "let go"
    lines = [line(f"{count(len(pruned.runs), 'run')} {did}")]
    if pruned.runs:
        names = f"{pruned.runs[0]} to {pruned.runs[-1]}"
        lines += paragraph(names if len(pruned.runs) > 1 else pruned.runs[0], view.cells)
    if pruned.last:
        older = count(len(pruned.last), "older run")
        lines.append(line(f"kept all the same: {older}, the last of some target"))
    if pruned.bytes:
        lines.append(line(f"{pruned.bytes / 1_000_000:.1f} MB freed"))
    return rendered(lines, colour=view.colour)


def pruned_json(pruned: Pruned, *, dry: bool) -> str:
    """Return what was let go, as JSON."""
    return as_json(
        {
            "format": FORMAT,
            "dry": dry,
            "gone": list(pruned.runs),
            "kept": list(pruned.last),
            "freed": pruned.bytes,
        }
    )


def as_json(told: object) -> str:
    """Return JSON as every report does: indented, UTF-8, ending with a newline."""
    return json.dumps(told, indent=2, ensure_ascii=False) + "\n"
