"""``fleet explain``."""

import click

from fleet.cli import completion
from fleet.cli.chosen import catalogue_of, known
from fleet.cli.engine import Engine
from fleet.cli.options import Options, takes


@click.command(short_help="Tell all about one gate.")
@click.argument("gate", shell_complete=completion.gates)
@takes("inventory", "format")
@click.pass_obj
def explain(engine: Engine, gate: str, options: Options) -> int:
    """Tell of one gate: what it asks and why, since when, what decides it, how to fix it.

    By hand, and with fleet where fleet can. Gates of the fleet as a whole are told too.
    """
    from fleet.cli.output import deliver, view  # noqa: PLC0415 - lazy
    from fleet.reports.catalogue import gate_json, told  # noqa: PLC0415 - lazy
    from fleet.verifier.fleetwide.rules import RULES  # noqa: PLC0415 - lazy
    from fleet.verifier.fleetwide.rules import SYSTEM as FLEETWIDE  # noqa: PLC0415 - lazy

    catalogue = catalogue_of(engine, options)
    fleetwide = {g.id: g for g in FLEETWIDE.gates}
    known([gate], [*(g.id for _, g in catalogue.gates()), *fleetwide], "gate")
    if gate in fleetwide:
        system, found, check = FLEETWIDE, fleetwide[gate], RULES[gate].__doc__
    else:
        system, found = catalogue.gate(gate)
        check = getattr(catalogue.check(system.system, found), "__doc__", None)
    decided = " ".join((check or "").partition("\n\n")[0].split())
    as_json = options.format == "json"
    text = gate_json(system, found) if as_json else told(system, found, view(options), decided)
    deliver(text, options)
    return 0
