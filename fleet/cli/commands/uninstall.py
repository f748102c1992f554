"""``fleet uninstall``."""

import click

from fleet.cli.engine import Engine
from fleet.cli.options import INVENTORY, KEEP, REPORT, TARGETS, WORK, Options, takes


@click.command(short_help="Remove what fleet put there, after asking.")
@takes(*INVENTORY, *TARGETS, "diff", "yes", *WORK, *REPORT, *KEEP)
@click.pass_obj
def uninstall(engine: Engine, options: Options) -> int:
    """Remove what fleet put on each target; shows it and asks first.

    Only what the target's ledger owns and nobody has edited since. What was adopted is put back.
    """
    from fleet.cli.deploying import deployed, finish  # noqa: PLC0415 - lazy

    with engine.lasting():
        return finish(deployed(engine, options, removal=True), options, "uninstall")
