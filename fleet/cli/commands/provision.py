"""``fleet provision``."""

import click

from fleet.cli.engine import Engine
from fleet.cli.options import INVENTORY, RUN_REPORT, TARGETS, WORK, Options, takes


@click.command(short_help="Plan, ask, apply and verify.")
@click.argument("playbook", required=False)
@takes(
    *INVENTORY, *TARGETS, "require", "strict", "adopt", "prune", "diff", "yes", *WORK, *RUN_REPORT
)
@click.pass_obj
def provision(engine: Engine, playbook: str | None, options: Options) -> int:
    """Show what would change, ask, change it, and verify it.

    PLAYBOOK is a file, or the name of one that is shipped (provision-pi, serve-palace,
    flip-to-remote, rotate-token, uninstall): it says which targets, in what batches, and when to
    stop.
    """
    from fleet.cli.provisioning import by_playbook, directly  # noqa: PLC0415 - lazy

    if playbook is not None:
        return by_playbook(engine, playbook, options)
    return directly(engine, options)
