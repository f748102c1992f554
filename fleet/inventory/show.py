"""A target as a person reads it: what it comes to, and where each part was said."""

import re
from collections.abc import Mapping

from fleet.dataclass import dataclass
from fleet.inventory.inventory import Inventory, Origin
from fleet.inventory.model import SecretRef, Target, Value
from fleet.secrets import MASK

# Values under such names are most likely secrets that should have been references.
_SECRETIVE = re.compile(r"token|secret|passw|passphrase|api_?key|credential|private", re.IGNORECASE)
_MARK = re.compile("\ue000(\\w+):([^\ue001]*)\ue001")


@dataclass(frozen=True, slots=True)
class ShownVariable:
    """One variable: its name, its value as text, and where that comes from."""

    name: str
    value: str
    origin: str


@dataclass(frozen=True, slots=True)
class ShownTarget:
    """A target as text: pairs of a label and what it says, then the variables."""

    name: str
    rows: tuple[tuple[str, str], ...]
    variables: tuple[ShownVariable, ...]

    def __str__(self) -> str:
        lines = [self.name]
        wide = max((len(label) for label, _ in self.rows), default=0)
        lines += [f"  {label:<{wide}}  {text}" for label, text in self.rows]
        for variable in self.variables:
            lines += [f"  {variable.name}: {variable.value}", f"      {variable.origin}"]
        return "\n".join(lines)


def show(
    inventory: Inventory,
    target: Target,
    *,
    defaults: Mapping[str, Mapping[str, Value]] | None = None,
) -> ShownTarget:
    """Return what a target comes to; ``defaults`` are those of the systems, shown last.

    Secrets show as their references. A plain value under a name such as ``palace_token`` shows as
    ``***``, for it should have been one.
    """
    origins = inventory.origins.get(target.name, {})
    shown = [
        ShownVariable(name, shown_value(name, value), str(origins.get(name, "")))
        for name, value in target.variables.items()
    ]
    for system in target.systems:
        for name, value in (defaults or {}).get(system, {}).items():
            if name not in target.variables and all(name != v.name for v in shown):
                origin = Origin(f"default of {system}", None)
                shown.append(ShownVariable(name, shown_value(name, value), str(origin)))
    return ShownTarget(target.name, tuple(_rows(target)), tuple(shown))


def shown_value(name: str, value: Value) -> str:
    """Return a variable's value as text that gives no secret away."""
    if isinstance(value, SecretRef):
        return str(value)
    if isinstance(value, dict):
        inner = ", ".join(f"{key}: {shown_value(key, item)}" for key, item in value.items())
        return f"{{{inner}}}"
    if isinstance(value, list):
        return f"[{', '.join(shown_value(name, item) for item in value)}]"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    text = _MARK.sub(r"!secret \1:\2", str(value))
    if _SECRETIVE.search(name) and text == str(value) and text:
        return MASK
    return text if text.isprintable() else repr(text)


def _rows(target: Target) -> list[tuple[str, str]]:
    become = f"{target.become.user}, by sudo -n" if target.become else ""
    rows = [
        ("kind", str(target.kind)),
        ("address", str(target.address)),
        ("groups", ", ".join(target.groups)),
        ("systems", ", ".join(target.systems)),
        ("require", ", ".join(target.require)),
        ("launched by", ", ".join(target.launches)),
        ("become", become),
        ("identity", target.identity or ""),
        ("declared in", str(target.place) if target.place else ""),
    ]
    return [(label, text) for label, text in rows if text]
