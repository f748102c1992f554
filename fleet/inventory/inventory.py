"""A loaded inventory."""

from collections.abc import Mapping
from dataclasses import field

from fleet.dataclass import dataclass
from fleet.errors import Place
from fleet.inventory.model import Target, Waiver
from fleet.systems.model import Gate


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a variable's value comes from.

    Attributes:
        level: ``all targets``, ``group NAME``, ``target`` or ``command line``.
        place: where it is written; None for the command line.
    """

    level: str
    place: Place | None

    def __str__(self) -> str:
        return f"{self.level}, {self.place}" if self.place else self.level


@dataclass(frozen=True, slots=True)
class Inventory:
    """Everything an inventory comes down to.

    Attributes:
        targets: in the order they are written; names are unique.
        gates: the user's own, each with the system it extends (for ``Catalogue.extended``).
        groups: names of the targets in each group, those in groups inside of it included;
            ``all`` has every target.
        origins: for each target, where each of its variables comes from.
        sources: the files it was read from.
        notes: what a reader should know though it is no mistake.
        waivers: failures that are accepted, their targets by name.
    """

    targets: tuple[Target, ...]
    gates: tuple[tuple[str, Gate], ...] = ()
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    origins: Mapping[str, Mapping[str, Origin]] = field(default_factory=dict)
    sources: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    waivers: tuple[Waiver, ...] = ()

    def target(self, name: str) -> Target | None:
        """Return a target by name, None when there is none of that name."""
        return next((target for target in self.targets if target.name == name), None)
