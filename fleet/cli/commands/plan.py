"""``fleet plan``."""

import click

from fleet.cli.engine import Engine
from fleet.cli.options import INVENTORY, REPORT, TARGETS, WORK, Options, takes


@click.command(short_help="Show what would change; changes nothing.")
@takes(*INVENTORY, *TARGETS, "adopt", "prune", "diff", *WORK, *REPORT)
@click.pass_obj
def plan(engine: Engine, options: Options) -> int:
    """Show what would change on each target, with the difference; changes nothing.

    Exits 2 when changes are pending, 0 when everything is as declared.
    """
    from fleet.cli.deploying import planned, show  # noqa: PLC0415 - lazy

    _, _, plans = planned(engine, options)
    return show(plans, options)
