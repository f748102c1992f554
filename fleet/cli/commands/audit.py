"""``fleet audit``."""

import click

from fleet.cli.chosen import chosen
from fleet.cli.engine import Engine
from fleet.cli.options import INVENTORY, RUN_REPORT, TARGETS, WORK, Options, takes


@click.command()
@takes(*INVENTORY, *TARGETS, "require", "strict", "from_dir", "deep", "scan", *WORK, *RUN_REPORT)
@click.pass_obj
def audit(engine: Engine, options: Options) -> int:
    """Look at every target and judge it; changes nothing.

    One connection and one look a target. Exits 2 when a required gate fails, 3 when something
    required could not be checked.
    """
    from fleet.cli.output import report  # noqa: PLC0415 - lazy
    from fleet.cli.progress import watching  # noqa: PLC0415 - lazy

    context, targets = chosen(engine, options)
    with watching(len(targets), options) as observer:
        run = engine.audit(targets, context, options.audit(), observer, "audit")
    return report(run, options)
