"""A system as it is meant for one target: defaults filled in, texts rendered, the unwanted gone.

The request, the gates and the plan all start from here, so "what is meant" has one definition.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from fleet.inventory.model import Target, Value
from fleet.inventory.render import holds, render
from fleet.systems.model import Artifact, System


@dataclass(frozen=True, slots=True)
class Resolved:
    """A system for one target.

    Attributes:
        system: the description it comes from.
        variables: the target's, with the system's defaults below them; secrets are references.
        artifacts: those wanted here, by name, with ``path``, ``source`` and the like rendered.
    """

    system: System
    variables: Mapping[str, Value]
    artifacts: Mapping[str, Artifact]


def resolve(system: System, target: Target) -> Resolved:
    """Render a system's description for a target.

    Raises:
        PlanError: a text names a variable that is not defined; names artifact and variable.
    """
    defaults = {n: v.default for n, v in system.variables.items() if v.default is not None}
    variables: dict[str, Value] = {**defaults, **target.variables}
    artifacts: dict[str, Artifact] = {}
    for name, artifact in system.artifacts.items():
        where = f"{target.name}: {system.system}.{name}"
        if artifact.when is not None and not holds(artifact.when, variables, where=where):
            continue
        artifacts[name] = _rendered(artifact, variables, where)
    return Resolved(system, variables, artifacts)


def _rendered(artifact: Artifact, variables: Mapping[str, Value], where: str) -> Artifact:
    texts = {
        field: render(value, variables, where=f"{where}.{field}")
        for field, value in artifact
        if isinstance(value, str) and "{{" in value
    }
    return artifact.model_copy(update=texts) if texts else artifact
