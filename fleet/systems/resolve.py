"""A system as it is meant for one target: defaults filled in, texts rendered, the unwanted gone.

The request, the gates and the plan all start from here, so "what is meant" has one definition.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import count

from fleet.dataclass import dataclass
from fleet.errors import PlanError
from fleet.inventory.model import SecretRef, Target, Value
from fleet.inventory.render import Prepared, holds, render
from fleet.inventory.uses import Use, joined, seen, uses
from fleet.systems.model import Artifact, System


@dataclass(frozen=True, slots=True)
class Resolved:
    """A system for one target.

    Attributes:
        system: the description it comes from.
        variables: the target's, with the system's defaults below them; secrets are references.
            Beside them stand ``target_name``, ``target_kind``, ``target_systems``, ``launches``
            and ``exports``.
        artifacts: those wanted here, by name, with ``path``, ``source`` and the like rendered.
        exports: what the launching shell should export, by environment name: every variable of
            any of the target's systems that has an ``env`` name and a value, and the
            inventory's ``env`` mapping.
    """

    system: System
    variables: Mapping[str, Value]
    artifacts: Mapping[str, Artifact]
    exports: Mapping[str, Value]


def in_order(systems: Sequence[System]) -> tuple[System, ...]:
    """Put systems behind those that they are deployed after, and else leave them as they stand.

    What is first in the inventory stays first as far as it can; the catalogue has no circle.
    """
    left = {system.system: system for system in systems}
    ordered: list[System] = []
    while left:
        free = next(s for s in left.values() if not any(name in left for name in s.after))
        ordered.append(left.pop(free.system))
    return tuple(ordered)


def resolve(systems: Sequence[System], target: Target) -> tuple[Resolved, ...]:
    """Render the descriptions of a target's systems.

    Raises:
        PlanError: a text names a variable that is not defined; names artifact and variable.
    """
    exports = {**exported(systems, target), **target.exports}
    return tuple(_resolve(system, target, exports) for system in systems)


def exported(systems: Sequence[System], target: Target) -> dict[str, Value]:
    """Return what the launching shell should export for these systems of a target, by name."""
    exports: dict[str, Value] = {}
    for system in systems:
        for name, env, default in _named(_Same(system)):
            value = target.variables.get(name, default)
            if value is not None:
                exports.setdefault(env, _exported(value))
    further = target.variables.get("env")
    if isinstance(further, dict):
        exports.update({name: _exported(value) for name, value in further.items()})
    return exports


def _exported(value: Value) -> Value:
    """Spell a value as an environment does; a secret stays a reference."""
    if isinstance(value, bool):
        return "1" if value else "0"
    return value if isinstance(value, SecretRef) else str(value)


def _resolve(system: System, target: Target, exports: Mapping[str, Value]) -> Resolved:
    variables: dict[str, Value] = {
        **_defaults(_Same(system)),
        **target.variables,
        **_told(target),
    }
    variables["exports"] = dict(exports)
    try:
        artifacts = _artifacts(system, variables)
    except PlanError as error:
        where = f"{target.name}: {error.where}"
        raise PlanError(error.what, where=where, hint=error.hint) from error
    return Resolved(system, variables, artifacts, exports)


def _artifacts(system: System, variables: Mapping[str, Value]) -> Mapping[str, Artifact]:
    """Return the artifacts wanted; those of two targets that look alike to them are the same."""
    if not next(_met(_Same(system))):
        return _made(system, variables)  # to find out who looks alike pays from the second on
    texts = _texts(_Same(system))
    key = seen(texts, variables) if texts is not None else None
    if key is None:
        return _made(system, variables)
    return _shared(_Wanted(system, key, variables))


def _made(system: System, variables: Mapping[str, Value]) -> Mapping[str, Artifact]:
    # In a condition a variable without a value is false; in a text it is an error.
    known = Prepared({**dict.fromkeys(system.variables), **variables})
    shown = Prepared(variables)
    artifacts: dict[str, Artifact] = {}
    for name, artifact in system.artifacts.items():
        where = f"{system.system}.{name}"
        if artifact.when is not None and not holds(artifact.when, known, where=where):
            continue
        artifacts[name] = _rendered(artifact, shown, where)
    return artifacts


class _Same:
    """A description, equal to itself only: to compare two of them costs more than to render."""

    __slots__ = ("system",)

    def __init__(self, system: System) -> None:
        self.system = system

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.system is other.system

    def __hash__(self) -> int:
        return id(self.system)


class _Wanted(_Same):
    """A description, and what of the variables its texts can see."""

    __slots__ = ("key", "variables")

    def __init__(
        self, system: System, key: tuple[object, ...], variables: Mapping[str, Value]
    ) -> None:
        super().__init__(system)
        self.key = key
        self.variables = variables

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Wanted) and super().__eq__(other) and self.key == other.key

    def __hash__(self) -> int:
        return hash((super().__hash__(), self.key))


@lru_cache(maxsize=256)
def _shared(wanted: _Wanted) -> Mapping[str, Artifact]:
    return _made(wanted.system, wanted.variables)


@lru_cache(maxsize=64)
def _defaults(same: _Same) -> Mapping[str, Value]:
    variables = same.system.variables.items()
    return {name: v.default for name, v in variables if v.default is not None}


@lru_cache(maxsize=64)
def _named(same: _Same) -> tuple[tuple[str, str, Value], ...]:
    """Return the variables of a system that are exported: name, environment name and default."""
    return tuple((name, v.env, v.default) for name, v in same.system.variables.items() if v.env)


@lru_cache(maxsize=64)
def _met(_same: _Same) -> Iterator[int]:
    """Count how often a system was asked for."""
    return count()


@lru_cache(maxsize=64)
def _texts(same: _Same) -> tuple[Use, ...] | None:
    """Return what the texts of a system's artifacts look at; None where that cannot be told."""
    found: list[tuple[Use, ...] | None] = []
    for artifact in same.system.artifacts.values():
        if artifact.when is not None:
            found.append(uses(f"{{{{ ({artifact.when}) }}}}"))
        told = (value if isinstance(value, tuple) else (value,) for _, value in artifact)
        found += [uses(text) for texts in told for text in texts if isinstance(text, str)]
    return joined(found)


def _told(target: Target) -> dict[str, Value]:
    """Return what a description may ask of the target itself."""
    return {
        "target_name": target.name,
        "target_kind": target.kind.value,
        "target_systems": list(target.judged),
        "launches": list(target.launches),
    }


def _rendered(artifact: Artifact, variables: Prepared, where: str) -> Artifact:
    texts = {
        field: render(value, variables, where=f"{where}.{field}")
        for field, value in artifact
        if isinstance(value, str) and ("{{" in value or "{%" in value)
    }
    lists = {
        field: tuple(render(text, variables, where=f"{where}.{field}") for text in value)
        for field, value in artifact
        if field == "instead" and isinstance(value, tuple) and value
    }
    return artifact.model_copy(update=texts | lists) if texts or lists else artifact
