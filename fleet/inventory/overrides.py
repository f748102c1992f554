"""Variables given on a command line, which win over those of an inventory."""

from collections.abc import Iterable

from fleet.errors import InventoryError
from fleet.inventory.model import Value
from fleet.inventory.tags import VARIABLE, secret_reference


def read_overrides(pairs: Iterable[str]) -> dict[str, Value]:
    """Read variables given as ``NAME=VALUE`` on a command line.

    A value is a text; ``!secret env:NAME`` (or ``file:``, ``cmd:``) is a reference.

    Raises:
        InventoryError: one of them is no such pair.
    """
    found: dict[str, Value] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not VARIABLE.fullmatch(name):
            what = "a variable on the command line is NAME=VALUE"
            raise InventoryError(what, hint=f"`{name}` is no name" if equals else "")
        is_secret = value.startswith("!secret ")
        found[name] = (
            secret_reference(value.removeprefix("!secret ").strip(), None) if is_secret else value
        )
    return found
