"""The catalogue: every system that is known here, its gates, and the functions behind them.

Built-in systems are the folders beside this file. A third party adds one by an entry point in the
group ``fleet.systems`` whose value is a package that holds ``system.yml`` and ``gates.py``.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import lru_cache
from importlib import import_module
from importlib.metadata import entry_points
from importlib.resources import files
from importlib.resources.abc import Traversable
from types import ModuleType
from typing import TYPE_CHECKING, TypeAlias, cast

from pydantic import ValidationError

from fleet.dataclass import dataclass
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
# How a built-in description begins a gate; a test holds it equal to what is read there.
_GATE = re.compile("^  - id: (\\S+)$", re.MULTILINE)


class Described(Mapping[str, System]):
    """Systems by id; each description is read when it is first asked for.

    A command needs few of them, and reading all would be a tenth of a short command's time.
    """

    def __init__(
        self, packages: Mapping[str, str], read: Mapping[str, System] | None = None
    ) -> None:
        self._packages = packages
        self._read = dict(read or {})

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

    def gates(self, name: str) -> Sequence[str]:
        """Return the ids of a system's gates; of one that was not read, looked up in its text."""
        if name in self._read or not self._packages[name].startswith(f"{__package__}."):
            return [gate.id for gate in self[name].gates]
        return _GATE.findall(_text(self._packages[name])[0])

    def but(self, systems: Mapping[str, System]) -> "Described":
        """Return the same systems, some of them in another form."""
        return Described(self._packages, {**self._read, **systems})


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

    systems: Described
    packages: Mapping[str, str]
    _checks: "dict[tuple[str, str], Check]" = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _modules: dict[str, ModuleType | None] = field(
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
        if system not in self._modules:  # to find that there is none is dear
            self._modules[system] = _gates_of(self.packages[system])
        return self._modules[system]

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
        catalogue = Catalogue(self.systems.but(systems), self.packages)
        validate(catalogue, systems)
        return catalogue

    def including(self, package: str) -> "Catalogue":
        """Return a catalogue with the system that a package describes.

        Raises:
            CatalogueError: the description is wrong, or the system is here already.
        """
        packages = _joined(self.packages, package)
        catalogue = Catalogue(Described(packages), packages)
        validate(catalogue, packages.keys() - self.packages.keys())
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
    built_in, others = _built_in(), _third_party()
    packages = built_in
    for package in others:
        packages = _joined(packages, package)
    catalogue = Catalogue(Described(packages), packages)
    validate(catalogue, packages.keys() - built_in.keys())
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


def _text(package: str) -> tuple[str, str]:
    """Return the description in a package, and where it lies."""
    try:
        path: Traversable = files(package).joinpath(FILE)
        return path.read_text(encoding="utf-8"), str(path)
    except (ModuleNotFoundError, FileNotFoundError, TypeError) as error:
        raise CatalogueError(
            f"cannot read {FILE}: {error}",
            where=package,
            hint=f"an entry point of {GROUP} names a package that holds {FILE}",
        ) from error


def _load(package: str) -> System:
    text, where = _text(package)
    try:
        system = System.model_validate(load_yaml(text, where))
    except ValidationError as error:
        first = error.errors()[0]
        spot = ".".join(str(part) for part in first["loc"])
        raise CatalogueError(f"{spot}: {first['msg']}", where=where) from error
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


def _validate_order(catalogue: Catalogue, names: Collection[str]) -> None:
    """Refuse a system that is after an unknown one, or, by whatever way, after itself."""
    behind = {name: set(catalogue.system(name).after) for name in names}
    for name, others in behind.items():
        for other in sorted(others - catalogue.systems.keys()):
            raise CatalogueError(f"it is after {other}, which is not there", where=f"system {name}")
    while behind:
        free = [name for name, others in behind.items() if not others & behind.keys()]
        if not free:
            raise CatalogueError(f"these are after each other: {', '.join(sorted(behind))}")
        for name in free:
            del behind[name]


def validate(catalogue: Catalogue, names: Collection[str] | None = None) -> None:
    """Refuse systems that do not fit together.

    Args:
        catalogue: all of them.
        names: those that joined the others, which fit together already and are hardly read; None
            means all.

    Raises:
        CatalogueError: says which, and why.
    """
    names = catalogue.systems if names is None else names
    if not names:
        return
    _validate_order(catalogue, names)
    systems = catalogue.systems
    ids = {gate for name in systems if name not in names for gate in systems.gates(name)}
    joined = [(systems[name], gate) for name in names for gate in systems[name].gates]
    for system, gate in joined:
        where = f"system {system.system}, gate {gate.id}"
        if gate.id in ids:
            raise CatalogueError("there is another gate of this id", where=where)
        ids.add(gate.id)
        if (gate.marker is None) == (gate.check is None):
            raise CatalogueError("a gate has either a marker or a check", where=where)
        _validate_artifacts_of(gate, system, catalogue)
    for system, gate in joined:
        for needed in gate.needs:
            if needed not in ids:
                raise CatalogueError(
                    f"it needs {needed}, which is not there",
                    where=f"system {system.system}, gate {gate.id}",
                )


def _validate_artifacts_of(gate: Gate, system: System, catalogue: Catalogue) -> None:
    """Refuse a gate that names an artifact that is not there."""
    for named in (*([gate.marker.artifact] if gate.marker else []), *gate.fixed_by):
        other, _, artifact = named.rpartition(".")
        owner = catalogue.system(other) if other else system
        if artifact not in owner.artifacts:
            known = ", ".join(owner.artifacts) or "none"
            raise CatalogueError(
                f"there is no artifact {artifact!r}",
                where=f"system {system.system}, gate {gate.id}",
                hint=f"artifacts of {owner.system}: {known}",
            )
