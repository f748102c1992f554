"""Names that an inventory may use: systems and capabilities of the catalogue, and its own gates."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Generic, TypeVar

from fleet.dataclass import dataclass
from fleet.errors import Place
from fleet.inventory.model import Value, Variables
from fleet.inventory.problems import did_you_mean, wrapped
from fleet.systems.model import System

if TYPE_CHECKING:
    from fleet.inventory.draft import Draft, Named


Told = TypeVar("Told")


class Each(Mapping[str, Told], Generic[Told]):
    """What is told of each name; worked out when it is first asked for, and then held."""

    def __init__(self, names: Collection[str], tell: Callable[[str], Told]) -> None:
        self._names = names
        self._tell = tell
        self._held: dict[str, Told] = {}

    def __getitem__(self, name: str) -> Told:
        """Return what is told of a name.

        Raises:
            KeyError: there is no such name.
        """
        if name not in self._held:
            if name not in self._names:
                raise KeyError(name)
            self._held[name] = self._tell(name)
        return self._held[name]

    def __iter__(self) -> Iterator[str]:
        """Yield the names; works out nothing."""
        return iter(self._names)

    def __len__(self) -> int:
        """Count the names; works out nothing."""
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        """Whether there is such a name; works out nothing."""
        return name in self._names


@dataclass(frozen=True, slots=True)
class Known:
    """What the catalogue knows, as far as an inventory names it.

    Attributes:
        capabilities: those that each system gives, by its id.
        artifacts: the names of each system's artifacts, by its id.
        defaults: the default variables of each system, by its id.
        gates: the ids of the gates of each system, by its id; those of the fleet as a whole by "".
    """

    capabilities: Mapping[str, Collection[str]]
    artifacts: Mapping[str, Collection[str]] = field(default_factory=dict)
    defaults: Mapping[str, Variables] = field(default_factory=dict)
    gates: Mapping[str, Collection[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, systems: Mapping[str, System], fleetwide: Collection[str] = ()) -> "Known":
        """Return what a catalogue's systems say, and the ids of gates of the whole fleet.

        Of a system that an inventory does not name, nothing is read.
        """
        return cls(
            capabilities=Each(systems, lambda name: _gives(systems[name])),
            artifacts=Each(systems, lambda name: tuple(systems[name].artifacts)),
            defaults=Each(systems, lambda name: _defaults(systems[name])),
            gates=Each(
                (*systems, ""),
                lambda name: tuple(g.id for g in systems[name].gates) if name else fleetwide,
            ),
        )


def _gives(system: System) -> frozenset[str]:
    return frozenset(gate.gives for gate in system.gates if gate.gives)


def _defaults(system: System) -> dict[str, Value]:
    variables = system.variables.items()
    return {name: v.default for name, v in variables if v.default is not None}


class NameCheck:
    """Notes names that nothing answers to; without a catalogue it notes nothing."""

    def __init__(self, draft: "Draft", known: Known | None) -> None:
        self._draft = draft
        self._problems = draft.problems
        self._known = known
        self._gives: Mapping[str, Collection[str]] = {}
        if known:
            further: dict[str, set[str]] = {}
            for held in draft.gates:
                if held.gate.gives:
                    further.setdefault(held.system, set()).add(held.gate.gives)
            told = known.capabilities
            self._gives = Each(told, lambda name: {*told[name], *further.get(name, ())})
        self._seen: set[tuple[tuple[str, ...], tuple[str, ...]]] = set()

    def check_gates(self) -> None:
        """Check the systems and artifacts that the inventory's own gates name."""
        for held in self._draft.gates if self._known else ():
            if held.system not in self._gives:
                self._unknown_system(held.system, held.place)
                continue
            artifacts = self._known.artifacts.get(held.system) if self._known else None
            marker = held.gate.marker
            if artifacts and marker and marker.artifact not in artifacts:
                self._problems.add(
                    f"`{held.system}` has no artifact `{marker.artifact}`",
                    held.place,
                    did_you_mean(marker.artifact, artifacts, kind="artifacts"),
                )

    def check_target(
        self,
        target: str,
        systems: "Sequence[Named]",
        require: "Sequence[Named]",
        brought: Sequence[str] = (),
    ) -> None:
        """Check what a target deploys and requires; ``brought`` are systems that need no name."""
        names = (*(n.name for n in systems), *brought), tuple(n.name for n in require)
        if self._known is None or names in self._seen:
            return
        self._seen.add(names)
        for named in systems:
            if named.name not in self._gives:
                self._unknown_system(named.name, named.place)
        given = {c for name in names[0] for c in self._gives.get(name, ())}
        for named in require:
            if named.name not in given:
                self._not_given(target, named, has_systems=bool(systems))

    def _unknown_system(self, name: str, place: Place | None) -> None:
        hint = did_you_mean(name, self._gives, kind="systems")
        self._problems.add(f"there is no system `{name}`", place, hint)

    def _not_given(self, target: str, named: "Named", *, has_systems: bool) -> None:
        givers = sorted(name for name, gives in self._gives.items() if named.name in gives)
        if not givers:
            every = {capability for gives in self._gives.values() for capability in gives}
            hint = did_you_mean(named.name, every, kind="capabilities")
            self._problems.add(f"there is no capability `{named.name}`", named.place, hint)
        elif has_systems:
            what = f"`{target}` requires `{named.name}`, which none of its systems gives"
            hint = wrapped(f"it comes with {' or '.join(givers)}")
            self._problems.add(what, named.place, hint)
