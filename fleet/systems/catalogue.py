"""The catalogue: every system that is known here, its gates, and the functions behind them.

Built-in systems are the folders beside this file. A third party adds one by an entry point in the
group ``fleet.systems`` whose value is a package that holds ``system.yml`` and ``gates.py``.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import import_module
from importlib.metadata import entry_points
from importlib.resources import files
from importlib.resources.abc import Traversable
from types import ModuleType
from typing import TYPE_CHECKING, TypeAlias, cast

from pydantic import ValidationError

from fleet.errors import CatalogueError
from fleet.facts.model import Facts
from fleet.inventory.model import Value
from fleet.inventory.yaml import load as load_yaml
from fleet.systems.model import Gate, System

if TYPE_CHECKING:
    from fleet.installers.items import Item
    from fleet.verifier.look import Check, Look
    from fleet.verifier.trials import Trial

GROUP = "fleet.systems"
FILE = "system.yml"


class Described(Mapping[str, System]):
    """Systems by id; each description is read when it is first asked for.

    A command needs few of them, and reading all would be a tenth of a short command's time.
    """

    def __init__(self, packages: Mapping[str, str]) -> None:
        self._packages = packages
        self._read: dict[str, System] = {}

    def __getitem__(self, name: str) -> System:
        """Return a system.

        Raises:
            KeyError: there is none of that name.
            CatalogueError: its description is wrong.
        """
        if name not in self._read:
            self._read[name] = _described(self._packages[name], name)
        return self._read[name]

    def __iter__(self) -> Iterator[str]:
        """Yield the ids; reads nothing."""
        return iter(self._packages)

    def __len__(self) -> int:
        """Count the systems; reads nothing."""
        return len(self._packages)

    def __contains__(self, name: object) -> bool:
        """Whether there is such a system; reads nothing."""
        return name in self._packages


Derive: TypeAlias = Callable[[Mapping[str, Value], Facts], Mapping[str, Value]]


#: Why an artifact must not be brought, and what to do.
Problem: TypeAlias = tuple[str, str]
Foresee: TypeAlias = "Callable[[Look, Sequence[Item]], Mapping[str, Problem]]"
Try: TypeAlias = "Callable[[Look], Sequence[Trial]]"
Rewrite: TypeAlias = Callable[[str, bytes], object]


@dataclass(frozen=True, slots=True)
class Derivation:
    """How a system's variables are completed once there are facts."""

    derive: Derive
    provisional: Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Catalogue:
    """All known systems.

    Attributes:
        systems: by id.
        packages: where the description and the checks of each come from, by its id.
    """

    systems: Mapping[str, System]
    packages: Mapping[str, str]
    _checks: "dict[tuple[str, str], Check]" = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def system(self, name: str) -> System:
        """Return a system by id.

        Raises:
            CatalogueError: there is none of that name; lists those there are.
        """
        if name not in self.systems:
            known = ", ".join(sorted(self.systems))
            raise CatalogueError(f"there is no system {name!r}", hint=f"known systems: {known}")
        return self.systems[name]

    def gates(self) -> tuple[tuple[System, Gate], ...]:
        """Return every gate with its system, in catalogue order."""
        return tuple((s, g) for s in self.systems.values() for g in s.gates)

    def gate(self, gate_id: str) -> tuple[System, Gate]:
        """Return a gate and its system.

        Raises:
            CatalogueError: there is no such gate.
        """
        for system, gate in self.gates():
            if gate.id == gate_id:
                return system, gate
        raise CatalogueError(f"there is no gate {gate_id!r}", hint="`fleet gates` lists them all")

    def capabilities(self, systems: Iterable[str] | None = None) -> tuple[str, ...]:
        """Return the capabilities that the gates of systems give; None means of all systems."""
        chosen = self.systems if systems is None else systems
        gates = (gate for name in chosen for gate in self.system(name).gates)
        return tuple(dict.fromkeys(gate.gives for gate in gates if gate.gives))

    def check(self, system: str, gate: Gate) -> "Check | None":
        """Return the function that answers a gate, None for a gate that a marker answers.

        Raises:
            CatalogueError: the system's ``gates.py`` has no function of that name.
        """
        if gate.check is None:
            return None
        held = self._checks.get((system, gate.check))
        if held is not None:
            return held
        function = getattr(self._gates(system), gate.check.replace("-", "_"), None)
        if not callable(function):
            raise CatalogueError(
                f"gate {gate.id} names the check {gate.check!r}, which is not there",
                where=f"{self.packages[system]}.gates",
            )
        check = self._checks[system, gate.check] = cast("Check", function)
        return check

    def _gates(self, system: str) -> ModuleType | None:
        """Return a system's ``gates.py``; None for a system that needs none."""
        return _gates_of(self.packages[system])

    def derivation(self, system: str) -> "Derivation | None":
        """Return how a system's variables are completed with what only the target knows.

        That is a pair in its ``gates.py``: ``derived(variables, facts)``, which returns further
        variables, and ``PROVISIONAL``, what stands in for them before there are facts.
        """
        module = self._gates(system)
        function = getattr(module, "derived", None)
        if not callable(function):
            return None
        provisional = getattr(module, "PROVISIONAL", {})
        return Derivation(cast("Derive", function), dict(provisional))

    def foresight(self, system: str) -> "Foresee | None":
        """Return what tells which artifacts would do harm once all that is desired is there.

        That is ``foreseen(look, items)`` in its ``gates.py``: from the system on its target as it
        is, and all items that are to be there, problems by the names of the system's artifacts.
        """
        function = getattr(self._gates(system), "foreseen", None)
        return cast("Foresee", function) if callable(function) else None

    def trials(self, system: str) -> "Try | None":
        """Return what tells which servers a deep check tries; None for a system that has it run pi.

        That is ``trials(look)`` in its ``gates.py``.
        """
        return trials_of(self.packages[system])

    def rewriting(self, system: str) -> Rewrite | None:
        """Return what tells what the program that owns a pushed file makes of it.

        That is ``rewritten(path, content)`` in its ``gates.py``: from a file's path below its
        folder and its bytes, the JSON value that may lie there later; None where they stay.
        """
        function = getattr(self._gates(system), "rewritten", None)
        return cast("Rewrite", function) if callable(function) else None

    def extended(self, gates: Iterable[tuple[str, Gate]]) -> "Catalogue":
        """Return a catalogue with a user's gates added to their systems.

        Raises:
            CatalogueError: a gate's id is taken, or its system or artifact is not known.
        """
        systems: dict[str, System] = {}
        for name, gate in gates:
            system = systems.get(name) or self.system(name)
            systems[name] = system.model_copy(update={"gates": (*system.gates, gate)})
        if not systems:
            return self
        catalogue = Catalogue({**self.systems, **systems}, self.packages)
        validate(catalogue)
        return catalogue

    def including(self, package: str) -> "Catalogue":
        """Return a catalogue with the system that a package describes.

        Raises:
            CatalogueError: the description is wrong, or the system is here already.
        """
        packages = _joined(self.packages, package)
        catalogue = Catalogue(Described(packages), packages)
        validate(catalogue)
        return catalogue


def trials_of(package: str) -> "Try | None":
    """Return what tells which servers a deep check tries, of the system in a package."""
    function = getattr(_gates_of(package), "trials", None)
    return cast("Try", function) if callable(function) else None


def _gates_of(package: str) -> ModuleType | None:
    name = f"{package}.gates"
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name == name or name.startswith(f"{error.name}."):
            return None
        raise CatalogueError(f"it cannot be imported: {error}", where=name) from error


@lru_cache(maxsize=1)
def load_catalogue() -> Catalogue:
    """Find the built-in systems, and read those of other packages.

    A built-in system is read when it is asked for. How all of them fit together is held by a test,
    and looked at here where somebody else's join them.

    Raises:
        CatalogueError: a description is wrong; names the file and what is wrong in it.
    """
    packages, others = _built_in(), _third_party()
    for package in others:
        packages = _joined(packages, package)
    catalogue = Catalogue(Described(packages), packages)
    if others:
        validate(catalogue)
    return catalogue


def _joined(packages: Mapping[str, str], package: str) -> dict[str, str]:
    system = _load(package)
    taken = packages.get(system.system)
    if taken:
        raise CatalogueError(
            f"the system {system.system!r} is described twice", where=f"{taken} and {package}"
        )
    return dict(sorted([*packages.items(), (system.system, package)]))


def _built_in() -> dict[str, str]:
    """Return the folders that describe a system, by its id: the folder's name, with hyphens."""
    here = files(__package__)
    names = sorted(d.name for d in here.iterdir() if d.joinpath(FILE).is_file())
    return {name.replace("_", "-"): f"{__package__}.{name}" for name in names}


def _third_party() -> list[str]:
    return sorted(point.value for point in entry_points(group=GROUP))


def _described(package: str, name: str) -> System:
    system = _load(package)
    if system.system != name:
        raise CatalogueError(f"it describes {system.system!r}, not {name!r}", where=package)
    return system


def _load(package: str) -> System:
    try:
        path: Traversable = files(package).joinpath(FILE)
        text = path.read_text(encoding="utf-8")
    except (ModuleNotFoundError, FileNotFoundError, TypeError) as error:
        raise CatalogueError(
            f"cannot read {FILE}: {error}",
            where=package,
            hint=f"an entry point of {GROUP} names a package that holds {FILE}",
        ) from error
    try:
        system = System.model_validate(load_yaml(text, str(path)))
    except ValidationError as error:
        first = error.errors()[0]
        spot = ".".join(str(part) for part in first["loc"])
        raise CatalogueError(f"{spot}: {first['msg']}", where=str(path)) from error
    _validate_artifacts(system)
    return system


def _validate_artifacts(system: System) -> None:
    """Refuse an artifact that needs one that is not there, or that is brought after it."""
    before: list[str] = []
    for name, artifact in system.artifacts.items():
        for needed in artifact.needs:
            if needed not in before:
                raise CatalogueError(
                    f"there is no artifact {needed!r} before it",
                    where=f"system {system.system}, artifact {name}",
                    hint=f"artifacts before it: {', '.join(before) or 'none'}",
                )
        before.append(name)


def _validate_order(catalogue: Catalogue) -> None:
    """Refuse a system that is after an unknown one, or, by whatever way, after itself."""
    behind = {name: set(system.after) for name, system in catalogue.systems.items()}
    for name, others in behind.items():
        for other in sorted(others - behind.keys()):
            raise CatalogueError(f"it is after {other}, which is not there", where=f"system {name}")
    while behind:
        free = [name for name, others in behind.items() if not others & behind.keys()]
        if not free:
            raise CatalogueError(f"these are after each other: {', '.join(sorted(behind))}")
        for name in free:
            del behind[name]


def validate(catalogue: Catalogue) -> None:
    """Refuse systems that do not fit together; reads every one of them.

    Raises:
        CatalogueError: says which, and why.
    """
    ids: set[str] = set()
    _validate_order(catalogue)
    for system, gate in catalogue.gates():
        where = f"system {system.system}, gate {gate.id}"
        if gate.id in ids:
            raise CatalogueError("there is another gate of this id", where=where)
        ids.add(gate.id)
        if (gate.marker is None) == (gate.check is None):
            raise CatalogueError("a gate has either a marker or a check", where=where)
        wanted = [*([gate.marker.artifact] if gate.marker else []), *gate.fixed_by]
        for named in wanted:
            other, _, artifact = named.rpartition(".")
            owner = catalogue.system(other) if other else system
            if artifact not in owner.artifacts:
                known = ", ".join(owner.artifacts) or "none"
                raise CatalogueError(
                    f"there is no artifact {artifact!r}",
                    where=where,
                    hint=f"artifacts of {owner.system}: {known}",
                )
    for system, gate in catalogue.gates():
        for needed in gate.needs:
            if needed not in ids:
                raise CatalogueError(
                    f"it needs {needed}, which is not there",
                    where=f"system {system.system}, gate {gate.id}",
                )
