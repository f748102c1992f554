"""``fleet gates``."""

import click

from fleet.cli.chosen import catalogue_of, known
from fleet.cli.engine import Engine
from fleet.cli.options import Options, takes


@click.command(short_help="List every gate and what it asks.")
@takes("inventory", "systems", "format")
@click.pass_obj
def gates(engine: Engine, options: Options) -> int:
    """List every gate: its id, when it is required, and what it asks.

    With -i (or FLEET_INVENTORY) the inventory's own gates too. The system `fleet` is what is asked
    of the targets of a run together.
    """
    from fleet.cli.output import deliver, view  # noqa: PLC0415 - lazy
    from fleet.reports.catalogue import as_json, table  # noqa: PLC0415 - lazy
    from fleet.verifier.fleetwide.rules import SYSTEM  # noqa: PLC0415 - lazy

    systems = {**catalogue_of(engine, options).systems, SYSTEM.system: SYSTEM}
    known(options.systems, systems, "system")
    wanted = [s for n, s in systems.items() if not options.systems or n in options.systems]
    deliver(as_json(wanted) if options.format == "json" else table(wanted, view(options)), options)
    return 0
