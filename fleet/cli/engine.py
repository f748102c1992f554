"""The one door from commands to the engine.

Every heavy import happens inside the method that needs it, so ``fleet --help`` stays quick. Tests
give the commands another door by click's ``obj``.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fleet.connectors.connections import Connections
    from fleet.engine.context import Context
    from fleet.engine.deploy import TargetApplied, TargetPlan
    from fleet.engine.facts import Looked
    from fleet.engine.kept import Keeper
    from fleet.engine.learn import Learned
    from fleet.engine.observer import Observer
    from fleet.engine.options import AuditOptions, DeployOptions
    from fleet.engine.playbook import Playbook, PlaybookResult
    from fleet.inventory.model import Target, Value, Variables
    from fleet.inventory.show import ShownTarget
    from fleet.systems.catalogue import Catalogue
    from fleet.verifier.run import Run


class Engine:
    """What commands may ask of the engine; each method may raise a ``FleetError``."""

    _lasting: "Connections | None" = None

    @contextmanager
    def lasting(self) -> "Iterator[None]":
        """Keep connections open until the end of the block, for a command of several round trips.

        It holds for every context that is loaded within the block.
        """
        from fleet.connectors.connections import Connections  # noqa: PLC0415 - lazy

        self._lasting = Connections(keep=True)
        try:
            yield
        finally:
            self._lasting.close()
            self._lasting = None

    def catalogue(self) -> "Catalogue":
        """Load the built-in systems and those of other packages."""
        from fleet.systems.catalogue import load_catalogue  # noqa: PLC0415 - lazy

        return load_catalogue()

    def variables(self, pairs: Iterable[str]) -> "dict[str, Value]":
        """Read variables given as ``NAME=VALUE``."""
        from fleet.inventory.overrides import read_overrides  # noqa: PLC0415 - lazy

        return read_overrides(pairs)

    def context(self, inventory: Path | None, variables: "Variables") -> "Context":
        """Load an inventory, with variables given on the command line over its own."""
        from fleet.engine.context import load_context  # noqa: PLC0415 - lazy

        context = load_context(inventory, overrides=variables)
        if self._lasting is not None:
            context.connections = self._lasting
        return context

    def targets(self, context: "Context", patterns: Sequence[str]) -> "tuple[Target, ...]":
        """Select targets of the inventory; no pattern means all of them."""
        from fleet.inventory.select import select  # noqa: PLC0415 - lazy

        if context.inventory is None:
            return ()
        return select(context.inventory, patterns)

    def check_secrets(self, context: "Context") -> None:
        """Check that every secret reference of the inventory leads somewhere; fetches none."""
        from fleet.inventory.secret_check import check_secrets  # noqa: PLC0415 - lazy

        if context.inventory is not None:
            check_secrets(context.inventory)

    def shown(self, context: "Context", target: "Target") -> "ShownTarget":
        """Tell what a target comes to, with the origin of every variable."""
        from fleet.inventory.inventory import Inventory  # noqa: PLC0415 - lazy
        from fleet.inventory.show import show  # noqa: PLC0415 - lazy

        inventory = context.inventory or Inventory((target,))
        return show(inventory, target, defaults=context.known.defaults)

    def addressed(self, addresses: Iterable[str], variables: "Variables") -> "tuple[Target, ...]":
        """Make targets of addresses."""
        from fleet.inventory.address import ad_hoc_target  # noqa: PLC0415 - lazy

        return tuple(ad_hoc_target(address, variables=variables) for address in addresses)

    def starter(self) -> dict[str, str]:
        """Return the files of an inventory to fill in: names and texts."""
        from fleet.inventory.starter import starter  # noqa: PLC0415 - lazy

        return starter()

    def schema(self) -> dict[str, object]:
        """Return the JSON Schema of inventories."""
        from fleet.inventory.schema import inventory_schema  # noqa: PLC0415 - lazy

        return inventory_schema()

    def audit(
        self,
        targets: "Sequence[Target]",
        context: "Context",
        options: "AuditOptions",
        observer: "Observer",
        command: str,
        plans: "Sequence[TargetPlan]" = (),
        keeper: "Keeper | None" = None,
    ) -> "Run":
        """Look at targets and judge them; those whose plan changes nothing were looked at.

        What is laid out for the history by ``keeper`` is not held beside.
        """
        from fleet.engine.audit import audit  # noqa: PLC0415 - lazy

        seen = self._looks(plans) if plans else {}
        return audit(targets, context, options, observer, command=command, seen=seen, keeper=keeper)

    def keeper(self, context: "Context") -> "Keeper":
        """Return who lays out for the history what is seen."""
        from fleet.engine.kept import Keeper  # noqa: PLC0415 - lazy

        return Keeper(context)

    def _looks(self, plans: "Sequence[TargetPlan]") -> "Mapping[str, Looked]":
        from fleet.engine.deploy import looks  # noqa: PLC0415 - lazy

        return looks(plans)

    def keeping(self, context: "Context") -> "AbstractContextManager[Context]":
        """Keep the connections that are opened within the block until it ends."""
        from fleet.engine.context import keeping  # noqa: PLC0415 - lazy

        return keeping(context)

    def drift(
        self,
        targets: "Sequence[Target]",
        context: "Context",
        options: "AuditOptions",
        observer: "Observer",
    ) -> "Run":
        """Look at targets and all that belongs to them, and hold the sides against each other."""
        from fleet.engine.drift import drift  # noqa: PLC0415 - lazy

        return drift(targets, context, options, observer)

    def facts(
        self,
        targets: "Sequence[Target]",
        context: "Context",
        options: "AuditOptions",
        observer: "Observer",
    ) -> "Iterable[Looked]":
        """Look at targets, and judge nothing."""
        from fleet.engine.facts import gather  # noqa: PLC0415 - lazy

        return gather(targets, context, options, observer)

    def learn(
        self,
        target: "Target",
        context: "Context",
        options: "AuditOptions",
        observer: "Observer",
        name: str,
    ) -> "Learned":
        """Describe a target as an inventory would, and audit it by that description."""
        from fleet.engine.learn import learn  # noqa: PLC0415 - lazy

        return learn(target, context, options, observer, name=name)

    def plan(
        self,
        targets: "Sequence[Target]",
        context: "Context",
        options: "DeployOptions",
        observer: "Observer",
    ) -> "tuple[TargetPlan, ...]":
        """Say what bringing targets to what is declared would change."""
        from fleet.engine.deploy import plan  # noqa: PLC0415 - lazy

        return plan(targets, context, options, observer)

    def uninstall(
        self,
        targets: "Sequence[Target]",
        context: "Context",
        options: "DeployOptions",
        observer: "Observer",
    ) -> "tuple[TargetPlan, ...]":
        """Say what removing everything that the ledgers own would change."""
        from fleet.engine.deploy import plan_uninstall  # noqa: PLC0415 - lazy

        return plan_uninstall(targets, context, options, observer)

    def apply(
        self,
        plans: "Sequence[TargetPlan]",
        context: "Context",
        options: "DeployOptions",
        observer: "Observer",
    ) -> "tuple[TargetApplied, ...]":
        """Carry plans out."""
        from fleet.engine.deploy import apply  # noqa: PLC0415 - lazy

        return apply(plans, context, options, observer)

    def is_playbook(self, path_or_name: str) -> bool:
        """Tell whether there is such a playbook."""
        from fleet.engine.playbook import exists  # noqa: PLC0415 - lazy

        return exists(path_or_name)

    def playbook(self, path_or_name: str) -> "Playbook":
        """Load a playbook from a file, or one that is shipped by its name."""
        from fleet.engine.playbook import load  # noqa: PLC0415 - lazy

        return load(path_or_name)

    def run(
        self,
        playbook: "Playbook",
        context: "Context",
        options: "DeployOptions",
        observer: "Observer",
    ) -> "PlaybookResult":
        """Carry a playbook out, batch by batch."""
        from fleet.engine.playbook import run  # noqa: PLC0415 - lazy

        return run(playbook, context, options, observer)

    def demo(self, folder: Path | None, *, keep: bool) -> int:
        """Play the whole story in a scratch folder; returns the exit code."""
        from fleet.demo.story import play  # noqa: PLC0415 - lazy

        return play(folder, keep=keep)
