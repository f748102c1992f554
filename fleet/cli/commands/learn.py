"""``fleet learn``."""

from typing import TYPE_CHECKING

import click

from fleet.cli import completion
from fleet.cli.chosen import known_names
from fleet.cli.completion import DEFAULTS
from fleet.cli.engine import Engine
from fleet.cli.options import INVENTORY, WORK, Options, takes

if TYPE_CHECKING:
    from fleet.engine.context import Context
    from fleet.inventory.model import Target


@click.command(short_help="Write the inventory lines of a target that is known to be good.")
@click.argument("target", shell_complete=completion.targets)
@click.option("--name", metavar="NAME", default="", help="What to call it.")
@takes(*INVENTORY, "systems", *WORK, "output", "quiet")
@click.pass_obj
def learn(engine: Engine, target: str, name: str, options: Options) -> int:
    """Look at a target, and write the inventory lines that describe it as it is.

    TARGET is an address, as for `fleet check`, or a target of the inventory. The lines hold its
    address, the launches that work, the systems found, the capabilities proved, and the variables
    seen; of a secret, that it is set. It is audited by them: a required gate that does not hold is
    told above them, and decides the exit code.
    """
    from fleet.cli.output import deliver  # noqa: PLC0415 - lazy
    from fleet.cli.progress import watching  # noqa: PLC0415 - lazy
    from fleet.inventory.schema import check_name  # noqa: PLC0415 - lazy
    from fleet.verifier.run import conclude  # noqa: PLC0415 - lazy

    try:
        check_name(name or "target")
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    context, found = _found(engine, target, options)
    known_names(context, options)
    with watching(1, options) as observer:
        learned = engine.learn(found, context, options.audit(), observer, name)
    deliver(learned.text, options)
    conclusion = conclude(learned.run)
    if not options.quiet:
        click.echo(f"exit {conclusion.code}: {conclusion.reason}", err=True)
    return conclusion.code


def _found(engine: Engine, word: str, options: Options) -> "tuple[Context, Target]":
    """Return the target of that name in the inventory, or one made of an address."""
    variables = engine.variables(options.variables)
    source = options.inventory or next((p for p in DEFAULTS if p.exists()), None)
    if source is not None:
        context = engine.context(source, variables)
        for target in engine.targets(context, ()):
            if target.name == word:
                return context, target
    context = engine.context(None, variables)
    (made,) = engine.addressed([word], variables)
    return context, made
