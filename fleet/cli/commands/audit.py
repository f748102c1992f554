"""``fleet audit``."""

from typing import TYPE_CHECKING

import click

from fleet.cli.chosen import chosen
from fleet.cli.duration import DurationType
from fleet.cli.engine import Engine
from fleet.cli.options import INVENTORY, RUN_REPORT, TARGETS, WORK, Options, takes
from fleet.engine.options import THREADS
from fleet.errors import UsageError

if TYPE_CHECKING:
    from fleet.engine.kept import Keeper
    from fleet.verifier.run import Run


@click.command()
@click.option(
    "--keep",
    is_flag=True,
    help="Audit again and again, over connections that stay open; Ctrl-C ends it. What comes out as"
    " before is told in one line.",
)
@click.option(
    "--every",
    type=DurationType(),
    metavar="TIME",
    help="How often with --keep: 30s, 5m, 1h. Means --keep.  [default: 60s]",
)
@click.option(
    "--times",
    type=click.IntRange(min=1),
    metavar="N",
    help="How many audits with --keep, instead of until Ctrl-C. Means --keep.",
)
@takes(
    *INVENTORY,
    *TARGETS,
    "require",
    "strict",
    "from_dir",
    "deep",
    "scan",
    *WORK,
    "executor",
    *RUN_REPORT,
)
@click.pass_obj
def audit(
    engine: Engine, keep: bool, every: float | None, times: int | None, options: Options
) -> int:
    """Look at every target and judge it; changes nothing.

    One connection and one look a target. Exits 2 when a required gate fails, 3 when something
    required could not be checked.
    """
    from dataclasses import replace  # noqa: PLC0415 - lazy

    from fleet.cli.keeping import keep as keep_run  # noqa: PLC0415 - lazy
    from fleet.cli.keeping import keeps  # noqa: PLC0415 - lazy
    from fleet.cli.output import report  # noqa: PLC0415 - lazy
    from fleet.cli.progress import watching  # noqa: PLC0415 - lazy

    repeated = keep or every is not None or times is not None
    if repeated and (options.from_dir is not None or options.from_run):
        raise UsageError(
            "--keep keeps connections open, and --from connects to none",
            hint="leave --keep, --every and --times out, or --from",
        )
    if repeated and options.executor != THREADS:
        raise UsageError(
            f"--keep keeps connections in this process, and --executor {options.executor} has"
            " others look",
            hint="leave --executor out, or --keep, --every and --times",
        )
    context, targets = chosen(engine, options)
    asked = replace(options.audit(), lean=True)  # the keeper has what the history wants

    def once() -> "tuple[Run, Keeper | None]":
        keeper = engine.keeper(context) if keeps(options) else None
        with watching(len(targets), options) as observer:
            return engine.audit(targets, context, asked, observer, "audit", keeper=keeper), keeper

    if not repeated:
        run, kept = once()
        keep_run(run, context, options, keeper=kept)
        return report(run, options)
    from fleet.cli.keeping import Spared  # noqa: PLC0415 - lazy
    from fleet.cli.repeating import MINUTE, Again, repeat  # noqa: PLC0415 - lazy

    spared = Spared(context, options)

    def again() -> "Run":
        run, kept = once()
        spared.keep(run, kept)
        return run

    with engine.keeping(context):
        return repeat(again, Again(every or MINUTE, times), options)
