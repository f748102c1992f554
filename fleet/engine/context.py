"""What a job starts from: the inventory, the catalogue, and what the controller holds."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from pathlib import Path

from fleet.connectors.connections import Connections
from fleet.dataclass import dataclass
from fleet.engine.contents import ContentStore
from fleet.engine.secrets import SecretStore
from fleet.engine.toolkit import read_toolkit
from fleet.errors import UsageError
from fleet.inventory.inventory import Inventory
from fleet.inventory.known import Known
from fleet.inventory.model import IMPLIED, Target, Value, Waiver
from fleet.systems.catalogue import Catalogue, load_catalogue
from fleet.systems.model import System
from fleet.systems.resolve import exported
from fleet.verifier.fleetwide.rules import RULES
from fleet.verifier.toolkit import Toolkit


@dataclass(slots=True)
class Context:
    """Shared by everything one invocation does.

    Attributes:
        path: where the inventory was loaded from.
        overrides: the command line's variables.
        connections: how targets are reached; whether connections stay open between two looks.
    """

    catalogue: Catalogue
    inventory: Inventory | None = None
    secrets: SecretStore = field(default_factory=SecretStore)
    contents: ContentStore = field(default_factory=ContentStore)
    toolkits: dict[str, Toolkit] = field(default_factory=dict)
    path: Path = Path()
    overrides: Mapping[str, Value] = field(default_factory=dict)
    connections: Connections = field(default_factory=Connections)

    @property
    def known(self) -> Known:
        """Return the names that an inventory may use."""
        return Known.of(self.catalogue.systems, RULES)

    @property
    def waivers(self) -> tuple[Waiver, ...]:
        """Return the failures that the inventory accepts."""
        return self.inventory.waivers if self.inventory else ()

    @property
    def folder(self) -> Path:
        """Return the inventory's folder, where relative paths of the controller start."""
        return self.path if self.path.is_dir() else self.path.parent

    def toolkit(self, target: Target) -> Toolkit | None:
        """Return the history of the clone a target's inventory names; read once a run."""
        clone = target.variables.get("toolkit_clone")
        if not isinstance(clone, str) or not clone:
            return None
        if clone not in self.toolkits:
            self.toolkits[clone] = read_toolkit(clone)
        return self.toolkits[clone]

    def systems(self, target: Target, only: Sequence[str] = ()) -> tuple[System, ...]:
        """Return the systems that a target is judged by, or those of ``only`` that it has.

        What its kind brings along is always among them.

        Raises:
            CatalogueError: a system is not known.
        """
        brought = IMPLIED.get(target.kind, ())
        wanted = [n for n in target.judged if not only or n in only or n in brought]
        return tuple(self.catalogue.system(name) for name in wanted)


@contextmanager
def keeping(context: Context) -> Iterator[Context]:
    """Keep connections until the end of the block, in which the same is asked again and again."""
    before, context.connections = context.connections, Connections(keep=True, again=True)
    try:
        yield context
    finally:
        context.connections.close()
        context.connections = before


def load_context(
    inventory: Path | None, *, overrides: Mapping[str, Value] | None = None
) -> Context:
    """Load the catalogue, and an inventory where one is named.

    Raises:
        InventoryError: the inventory is wrong.
        CatalogueError: a system's description is wrong.
    """
    catalogue = load_catalogue()
    if inventory is None:
        return Context(catalogue)
    from fleet.inventory.load import load_inventory  # noqa: PLC0415 - lazy, there may be none

    known = Known.of(catalogue.systems, RULES)
    loaded = load_inventory(inventory, overrides=overrides or {}, known=known)
    extended = catalogue.extended(loaded.gates)
    return Context(extended, loaded, path=inventory, overrides=overrides or {})


def narrowed(
    targets: Sequence[Target],
    context: Context,
    *,
    systems: Sequence[str] = (),
    require: Sequence[str] = (),
) -> tuple[Target, ...]:
    """Return targets with a command line's systems and requirements applied.

    A target of an inventory keeps those of its own systems that are named; an ad-hoc target, which
    has none, gets them.

    Raises:
        UsageError: a required capability is one that no system of the target gives.
        CatalogueError: a system is not known.
    """
    for name in systems:
        context.catalogue.system(name)
    made = []
    for target in targets:
        kept = tuple(s for s in target.systems if not systems or s in systems)
        wanted = kept if target.systems else tuple(systems)
        required = tuple(dict.fromkeys((*target.require, *require)))
        made.append(
            replace(
                target,
                systems=wanted,
                require=required,
                exports=target.exports or _exports(target, wanted, context),
            )
        )
    _refuse_unknown(made, context, require)
    return tuple(made)


def _exports(target: Target, wanted: Sequence[str], context: Context) -> Mapping[str, Value]:
    """Return what all of a target's systems export, where this run leaves some of them out.

    Else the file that ``env`` writes would lose their variables when only ``env`` is deployed.
    """
    if set(target.systems) <= set(wanted):
        return {}
    return exported([context.catalogue.system(name) for name in target.systems], target)


def _refuse_unknown(targets: Sequence[Target], context: Context, require: Sequence[str]) -> None:
    if not require:
        return
    judged = dict.fromkeys(system for target in targets for system in target.judged)
    given = context.catalogue.capabilities(judged)
    for name in require:
        if name not in given:
            raise UsageError(
                f"no gate of these targets' systems gives the capability {name!r}",
                hint=f"capabilities: {', '.join(sorted(context.catalogue.capabilities()))}",
            )
