"""``fleet apply``."""

import click

from fleet.cli.engine import Engine
from fleet.cli.options import INVENTORY, KEEP, REPORT, TARGETS, WORK, Options, takes


@click.command(short_help="Change what the plan shows, after asking.")
@takes(*INVENTORY, *TARGETS, "adopt", "prune", "diff", "yes", *WORK, *REPORT, *KEEP)
@click.pass_obj
def apply(engine: Engine, options: Options) -> int:
    """Show what would change, ask, and change it; does not verify it.

    A target whose apply fails is put back as it was. `fleet provision` verifies too.
    """
    from fleet.cli.deploying import deployed, finish  # noqa: PLC0415 - lazy

    with engine.lasting():
        return finish(deployed(engine, options), options, "apply")
