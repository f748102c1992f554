"""``fleet drift``."""

from typing import TYPE_CHECKING

import click

from fleet.cli import completion
from fleet.cli.chosen import known_names
from fleet.cli.completion import DEFAULTS
from fleet.cli.engine import Engine
from fleet.cli.options import INVENTORY, RUN_REPORT, WORK, Options, takes

if TYPE_CHECKING:
    from fleet.engine.context import Context
    from fleet.inventory.model import Target

HELP = """Hold the sides of one thing against each other, in one table.

An image, the containers made of it, the compose file they come from, the clone mounted into them,
and the hosts of the same name. WORD is a target, group or pattern of the inventory, and brings
all that goes by its name; or an address, as for `fleet check`. Of an image in an engine the
containers are found, of a container its image and its compose file. Without a WORD all targets of
the inventory are looked at.

Exits 2 where a side differs from the others or from its compose file, 3 where a side could not be
seen. That all sides alike are behind the toolkit's clone is advisory, as `--strict` says. Name the
clone with `-e toolkit_clone=DIR` where the inventory does not.

\b
fleet drift docker-daemon:pi-devbox:latest -e toolkit_clone=~/mempalace-toolkit"""


@click.command(
    help=HELP, short_help="Compare image, containers, compose file, clone and hosts of one name."
)
@click.argument("words", metavar="[WORD]...", nargs=-1, shell_complete=completion.targets)
@takes(*INVENTORY, "systems", "strict", "from_dir", *WORK, "executor", *RUN_REPORT)
@click.pass_obj
def drift(engine: Engine, words: tuple[str, ...], options: Options) -> int:
    """Hold the sides of one thing against each other."""
    from fleet.cli.keeping import keep  # noqa: PLC0415 - lazy
    from fleet.cli.output import report  # noqa: PLC0415 - lazy
    from fleet.cli.progress import watching  # noqa: PLC0415 - lazy

    context, targets = _meant(engine, words, options)
    known_names(context, options)
    with watching(len(targets), options) as observer:
        run = engine.drift(targets, context, options.audit(), observer)
    keep(run, context, options)
    return report(run, options)


def _meant(
    engine: Engine, words: tuple[str, ...], options: Options
) -> "tuple[Context, tuple[Target, ...]]":
    """Return the targets that words mean: of the inventory where it knows them, else addresses."""
    from fleet.errors import InventoryError  # noqa: PLC0415 - lazy

    variables = engine.variables(options.variables)
    if not words:
        context = engine.context(options.source(), variables)
        return context, engine.targets(context, ())
    source = options.inventory or next((p for p in DEFAULTS if p.exists()), None)
    context = engine.context(source, variables)
    targets = context.inventory.targets if context.inventory else ()
    declared = {target.address: target for target in targets}
    found: dict[str, Target] = {}
    for word in dict.fromkeys(words):
        try:
            made = engine.targets(context, [word]) or engine.addressed([word], variables)
        except InventoryError:
            made = engine.addressed([word], variables)
        meant = [declared.get(target.address, target) for target in made]
        found.update({target.name: target for target in meant})
    return context, tuple(found.values())
