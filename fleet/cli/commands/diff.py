"""``fleet diff``."""

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import click

from fleet.cli.duration import DurationType, span
from fleet.cli.options import Options, takes
from fleet.errors import HistoryError, UsageError

if TYPE_CHECKING:
    from fleet.history.compare import Difference
    from fleet.history.store import History

PAIR = 2
LATEST = 50  # runs that are looked through before all are


@click.command(short_help="What changed between two runs, or since yesterday.")
@click.argument("runs", metavar="[RUN RUN]", nargs=-1)
@click.option(
    "--since",
    "ago",
    metavar="TIME",
    type=DurationType(),
    help="Hold what was last seen of each target against what was seen so long ago: 24h, 7d.",
)
@takes("history", "format", "output", "verbose", "quiet")
def diff(runs: tuple[str, ...], ago: float | None, options: Options) -> int:
    """Tell what changed between two runs that are kept: verdicts, artifacts, targets.

    RUN is an id or the beginning of one, `last`, or `last~1`. Without any, the last run that judged
    is held against the one before it of the same command. Exits 0 whatever changed: `fleet audit`
    judges.
    """
    from fleet.cli.keeping import kept  # noqa: PLC0415 - lazy
    from fleet.cli.output import deliver, view  # noqa: PLC0415 - lazy
    from fleet.reports.difference import difference_json, difference_text  # noqa: PLC0415 - lazy

    if runs and ago is not None:
        raise UsageError("two runs or --since, not both")
    if runs and len(runs) != PAIR:
        raise UsageError("it takes two runs, the earlier one first", hint="fleet diff last~1 last")
    with kept(options) as found:
        if ago is not None:
            title, told = _since(found, span(ago))
        else:
            told = _between(found, *(runs or _last(found)))
            title = f"{told.before} -> {told.after}"
    if options.format == "json":
        deliver(difference_json(told), options)
    else:
        deliver(difference_text(told, title, view(options)), options)
    return 0


def _last(found: "History") -> tuple[str, str]:
    judged = [run for run in found.runs(LATEST) if run.counts]
    if len(judged) < PAIR:
        judged = [run for run in found.runs() if run.counts]
    if len(judged) < PAIR:
        raise HistoryError("the history has no two runs that judged", where=str(found.path))
    last, *earlier = judged
    # A check in between looked at other targets: an audit is held against the audit before it.
    before = next((run for run in earlier if run.command == last.command), earlier[0])
    return before.id, last.id


def _between(found: "History", before: str, after: str) -> "Difference":
    from fleet.history.compare import difference  # noqa: PLC0415 - lazy

    sides = []
    for name in (before, after):
        run = found.load(name, facts=False)
        if not run.findings:
            raise HistoryError(
                f"the run {run.id} (fleet {run.command}) judged nothing, so nothing can be held"
                " against it",
                hint="`fleet history` lists which runs judged",
            )
        sides.append((run, found.beside(name)))
    return difference(sides[0], sides[1])


def _since(found: "History", ago: timedelta) -> "tuple[str, Difference]":
    from fleet.history.compare import difference  # noqa: PLC0415 - lazy
    from fleet.reports.history import moment  # noqa: PLC0415 - lazy

    then = datetime.now(UTC) - ago
    before, after = found.state(until=then), found.state(after=then)
    if before is None or after is None:
        side = "before" if before is None else "since"
        raise HistoryError(
            f"no run {side} {moment(then)} is kept",
            where=str(found.path),
            hint="`fleet history` lists what is",
        )
    return f"since {moment(then)}", difference(before, after)
