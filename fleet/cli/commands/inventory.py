"""``fleet inventory``: check, list, show, schema."""

import json

import click

from fleet.cli import completion
from fleet.cli.chosen import chosen, known
from fleet.cli.engine import Engine
from fleet.cli.options import INVENTORY, Options, takes


@click.group()
def inventory() -> None:
    """Look into an inventory; connects to nothing."""


@inventory.command(short_help="Read the inventory and tell every mistake in it, with its place.")
@takes(*INVENTORY)
@click.pass_obj
def check(engine: Engine, options: Options) -> int:
    """Read the inventory and tell every mistake in it, with its place.

    A secret reference that leads nowhere from here is one; no secret is fetched. A waiver that has
    run out, or does within two weeks, is no mistake and told as a warning.
    """
    from datetime import UTC, datetime  # noqa: PLC0415 - lazy

    from fleet.reports.text import count, printable  # noqa: PLC0415 - lazy
    from fleet.verifier.waivers import running_out  # noqa: PLC0415 - lazy

    source = options.source()
    context = engine.context(source, engine.variables(options.variables))
    for note in context.inventory.notes if context.inventory else ():
        click.echo(f"note: {printable(note)}")
    for warning in running_out(context.waivers, datetime.now(UTC).date()):
        click.echo(f"warning: {printable(warning)}")
    engine.check_secrets(context)
    click.echo(f"{source}: {count(len(engine.targets(context, ())), 'target')}, no mistakes")
    return 0


@inventory.command(name="list")
@takes(*INVENTORY, "limit", "systems", "format")
@click.pass_obj
def list_targets(engine: Engine, options: Options) -> int:
    """List targets: name, address, systems, and what is required."""
    from fleet.cli.output import deliver, view  # noqa: PLC0415 - lazy
    from fleet.reports.targets import as_json, table  # noqa: PLC0415 - lazy

    _, targets = chosen(engine, options)
    wanted = [t for t in targets if not options.systems or set(options.systems) & set(t.systems)]
    deliver(as_json(wanted) if options.format == "json" else table(wanted, view(options)), options)
    return 0


@inventory.command()
@click.argument("target", shell_complete=completion.targets)
@takes(*INVENTORY, "format")
@click.pass_obj
def show(engine: Engine, target: str, options: Options) -> int:
    """Show one target as fleet understands it: every variable, and where it was said."""
    from fleet.cli.output import deliver, view  # noqa: PLC0415 - lazy
    from fleet.reports.targets import one_json, told  # noqa: PLC0415 - lazy

    context = engine.context(options.source(), engine.variables(options.variables))
    targets = engine.targets(context, ())
    known([target], [t.name for t in targets], "target")
    found = next(t for t in targets if t.name == target)
    shown = engine.shown(context, found)
    as_json = options.format == "json"
    deliver(one_json(found, shown) if as_json else told(shown, view(options)), options)
    return 0


@inventory.command()
@click.pass_obj
def schema(engine: Engine) -> int:
    """Print the JSON Schema of an inventory, for editors that complete and check YAML."""
    click.echo(json.dumps(engine.schema(), indent=2))
    return 0
