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
    """Tell of one gate: what it asks and why, since when, what decides it, how to fix it."""
    from fleet.cli.output import deliver, view  # noqa: PLC0415 - lazy
    from fleet.reports.catalogue import gate_json, told  # noqa: PLC0415 - lazy

    catalogue = catalogue_of(engine, options)
    known([gate], [g.id for _, g in catalogue.gates()], "gate")
    system, found = catalogue.gate(gate)
    text = (
        gate_json(system, found) if options.format == "json" else told(system, found, view(options))
    )
    deliver(text, options)
    return 0
