"""What YAML cannot say about demarkus."""

from collections.abc import Mapping

from fleet.facts.model import Facts
from fleet.inventory.model import Value
from fleet.systems.demarkus.declared import declared, shared
from fleet.systems.demarkus.detours import detours
from fleet.systems.demarkus.host import host
from fleet.systems.demarkus.placed import placed
from fleet.systems.demarkus.plugins import manifest
from fleet.systems.demarkus.proxy import proxy
from fleet.systems.demarkus.state import program, state, strict

__all__ = [
    "PROVISIONAL",
    "declared",
    "derived",
    "detours",
    "host",
    "manifest",
    "placed",
    "program",
    "proxy",
    "shared",
    "state",
    "strict",
]

#: What stands for the home while a plan only collects its questions.
PROVISIONAL: dict[str, Value] = {"home": "~"}


def derived(_variables: Mapping[str, Value], facts: Facts) -> dict[str, Value]:
    """Return the home there: a host of MCP servers expands no ``~`` in a command."""
    return {"home": facts.platform.home}
