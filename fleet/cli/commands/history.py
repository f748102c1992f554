"""``fleet history``: list, show, since, prune."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from fleet.cli.duration import DurationType, span
from fleet.cli.options import Options, takes
from fleet.errors import HistoryError, UsageError

if TYPE_CHECKING:
    from fleet.history.factdiff import FactChange
    from fleet.history.model import Since
    from fleet.history.store import History

SHOWN = 20
MOST = 1_000_000

HELP = """What was found when: every run is kept, with its facts.

Without a further word it lists the last runs. RUN is an id or the beginning of one, `last`, or
`last~1` for the one before it.

\b
fleet history since bridge.feed laptop    first failure, last pass, what differed
fleet diff --since 24h                    what changed since yesterday
fleet audit --from history:RUN            judge a run's facts by today's gates"""


@click.group(
    invoke_without_command=True, help=HELP, short_help="What was found when; since when it fails."
)
@click.option(
    "--most",
    metavar="N",
    type=click.IntRange(1, MOST),
    default=SHOWN,
    show_default=True,
    help="How many runs are listed.",
)
@takes("history", "format")
@click.pass_context
def history(context: click.Context, most: int, options: Options) -> int:
    """List the last runs."""
    if context.invoked_subcommand is not None:
        if options.history is not None:
            context.meta["fleet.history"] = options.history
        return 0
    from fleet.cli.keeping import kept  # noqa: PLC0415 - lazy
    from fleet.cli.output import deliver, view  # noqa: PLC0415 - lazy
    from fleet.reports.history import runs_json, runs_text  # noqa: PLC0415 - lazy

    with kept(options) as found:
        runs = found.runs(most)
    now = datetime.now(UTC)
    text = runs_json(runs) if options.format == "json" else runs_text(runs, view(options), now)
    deliver(text, options)
    return 0


def _placed(options: Options) -> Options:
    """Let a file that was named before the further word count."""
    from dataclasses import replace  # noqa: PLC0415 - lazy

    context = click.get_current_context()
    named = context.meta.get("fleet.history")
    here = context.get_parameter_source("history") is ParameterSource.COMMANDLINE
    return options if here or named is None else replace(options, history=named)


@history.command()
@click.argument("run", default="last")
@takes("history", "format", "verbose", "quiet")
def show(run: str, options: Options) -> int:
    """Show a run as it was reported, who ran it, and what it changed."""
    from fleet.cli.keeping import kept  # noqa: PLC0415 - lazy
    from fleet.cli.output import deliver, view  # noqa: PLC0415 - lazy
    from fleet.reports.history import head_text, run_json  # noqa: PLC0415 - lazy
    from fleet.reports.view import renderer  # noqa: PLC0415 - lazy

    with kept(_placed(options)) as found:
        listed, beside = found.listed(run), found.beside(run)
        whole = found.load(run)
    if options.format == "json":
        deliver(run_json(listed, beside, whole), options)
        return 0
    seen = view(options)
    text = head_text(listed, beside, seen)
    deliver(text + renderer("terminal")(whole, seen) if whole.results else text, options)
    return 0


@history.command()
@click.argument("gate")
@click.argument("target")
@takes("history", "format")
def since(gate: str, target: str, options: Options) -> int:
    """Tell since when a gate fails on a target: first failure, last pass, what differed.

    Of a gate about several targets together, TARGET is `fleet`, or the group.
    """
    from fleet.cli.keeping import kept  # noqa: PLC0415 - lazy
    from fleet.cli.output import deliver, view  # noqa: PLC0415 - lazy
    from fleet.reports.history import since_json, since_text  # noqa: PLC0415 - lazy

    with kept(_placed(options)) as found:
        told = found.since(gate, target)
        if told is None:
            raise _never(found, gate, target)
        changes = _differed(found, told)
    form = options.format == "json"
    text = since_json(told, changes) if form else since_text(told, changes, view(options))
    deliver(text, options)
    return 0


def _never(found: "History", gate: str, target: str) -> HistoryError:
    from fleet.inventory.problems import did_you_mean  # noqa: PLC0415 - lazy

    asked = sorted(found.sinces(target))
    if asked:
        return HistoryError(
            f"no run that is kept asked {gate} of {target}",
            hint=did_you_mean(gate, asked, kind="its gates"),
        )
    targets = found.targets()
    return HistoryError(
        f"no run that is kept looked at {target}",
        hint=did_you_mean(target, targets, kind="targets") if targets else "",
    )


def _differed(found: "History", since: "Since") -> "tuple[FactChange, ...] | None":
    """Hold the facts of the first failure against those of the last pass; None: cannot be."""
    from fleet.history.factdiff import fact_changes  # noqa: PLC0415 - lazy

    if since.passed is None or since.passed == since.broke:
        return None
    before, after = found.facts(since.passed, since.target), found.facts(since.broke, since.target)
    return fact_changes(before, after) if before and after else None


@history.command()
@click.option("--older", metavar="TIME", type=DurationType(), help="Runs older than this: 400d.")
@click.option(
    "--keep",
    metavar="N",
    type=click.IntRange(1, MOST),
    help="All but the newest so many runs.",
)
@click.option("--dry-run", "dry", is_flag=True, help="Only say what would go.")
@takes("history", "format")
def prune(older: float | None, keep: int | None, dry: bool, options: Options) -> int:
    """Let old runs go. The last run of a target stays, whatever its age."""
    from fleet.cli.keeping import place  # noqa: PLC0415 - lazy
    from fleet.cli.output import deliver, view  # noqa: PLC0415 - lazy
    from fleet.history.retain import Retention  # noqa: PLC0415 - lazy
    from fleet.history.store import History  # noqa: PLC0415 - lazy
    from fleet.reports.history import pruned_json, pruned_text  # noqa: PLC0415 - lazy

    if older is None and keep is None:
        raise UsageError(
            "nothing says which runs may go", hint="name an age or a number: --older 400d"
        )
    where = place(_placed(options))
    History(where).close()  # a history that is not there is not made to be pruned
    with History(where, write=not dry) as found:
        told = found.prune(
            Retention(span(older) if older else None, keep), datetime.now(UTC), dry=dry
        )
    form = options.format == "json"
    deliver(
        pruned_json(told, dry=dry) if form else pruned_text(told, view(options), dry=dry), options
    )
    return 0
