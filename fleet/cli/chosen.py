"""Which targets a command line means, and whether the names on it are known."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from fleet.cli.engine import Engine
from fleet.cli.options import Options
from fleet.errors import UsageError
from fleet.inventory.problems import did_you_mean, wrapped

if TYPE_CHECKING:
    from fleet.engine.context import Context
    from fleet.inventory.model import Target
    from fleet.systems.catalogue import Catalogue


def chosen(engine: Engine, options: Options) -> "tuple[Context, tuple[Target, ...]]":
    """Load the inventory and select the targets that the command line means.

    Raises:
        UsageError: there is no inventory, a name is not known, or nothing is left to do.
        InventoryError: the inventory is wrong.
    """
    source = options.source()
    context = engine.context(source, engine.variables(options.variables))
    known_names(context, options)
    targets = engine.targets(context, options.limit)
    if not targets:
        raise UsageError(
            "no target is left after --limit" if options.limit else "the inventory has no targets",
            where=str(source),
            hint="`fleet inventory list` shows what there is",
        )
    if options.systems and not any(set(options.systems) & set(t.judged) for t in targets):
        raise UsageError(
            f"none of these targets has the system {' or '.join(options.systems)}",
            hint="`fleet inventory list` shows who has what",
        )
    return context, targets


def addressed(
    engine: Engine, options: Options, addresses: Iterable[str]
) -> "tuple[Context, tuple[Target, ...]]":
    """Make targets of addresses; an inventory that is named gives only its gates.

    Raises:
        UsageError: a name is not known, or nothing says what to look for.
        InventoryError: the inventory is wrong, or an address is none.
    """
    variables = engine.variables(options.variables)
    if options.platform:
        variables["platform"] = options.platform
    targets = engine.addressed(dict.fromkeys(addresses), variables)
    if options.platform and not any(target.kind == "image" for target in targets):
        raise UsageError("--platform chooses among an image's, and none of these is an image")
    context = engine.context(options.inventory, variables)
    known_names(context, options)
    if not options.systems:
        raise UsageError(
            "nothing says what to look for",
            hint=wrapped(f"name it with --system: {', '.join(context.catalogue.systems)}"),
        )
    return context, targets


def catalogue_of(engine: Engine, options: Options) -> "Catalogue":
    """Return the catalogue, with the gates of the inventory where one is named."""
    if options.inventory is None:
        return engine.catalogue()
    return engine.context(options.inventory, {}).catalogue


def known_names(context: "Context", options: Options) -> None:
    """Refuse systems and capabilities that nobody knows.

    Raises:
        UsageError: names the nearest one that is known.
    """
    catalogue = context.catalogue
    known(options.systems, catalogue.systems, "system")
    given = catalogue.capabilities(options.systems)
    if not set(options.require) <= set(given):
        known(options.require, sorted(catalogue.capabilities()), "capability")


def known(words: Sequence[str], choices: Iterable[str], what: str) -> None:
    """Refuse words that are none of the choices.

    Raises:
        UsageError: names the nearest one that is known, or all of them.
    """
    options = list(choices)
    for word in words:
        if word in options:
            continue
        raise UsageError(
            f"there is no {what} {word!r}", hint=did_you_mean(word, options, kind="there are")
        )
