"""``fleet provision``."""

import click

from fleet.cli.engine import Engine
from fleet.cli.options import INVENTORY, RUN_REPORT, TARGETS, WORK, Options, takes


@click.command(short_help="Plan, ask, apply and verify.")
@click.argument("name", required=False)
@takes(
    *INVENTORY, *TARGETS, "require", "strict", "adopt", "prune", "diff", "yes", *WORK, *RUN_REPORT
)
@click.pass_obj
def provision(engine: Engine, name: str | None, options: Options) -> int:
    """Show what would change, ask, change it, and verify it.

    NAME is a target or a group, as for --limit. Or it is a playbook, a file or one that is shipped
    (provision-pi, serve-palace, flip-to-remote, uninstall, ...): it says which targets, in
    what batches, and when to stop.
    """
    from fleet.cli.provisioning import by_name, directly  # noqa: PLC0415 - lazy

    with engine.lasting():
        return directly(engine, options) if name is None else by_name(engine, name, options)
