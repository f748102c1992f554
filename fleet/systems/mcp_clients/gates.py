"""What YAML cannot say about further MCP clients."""

from fleet.verifier.client_gates import Gates
from fleet.verifier.look import Look
from fleet.verifier.registrations import answers

__all__ = ["answers", "command", "form", "initialize", "palace", "token", "trials", "variables"]


def _names(look: Look) -> list[str]:
    """Return the clients that are declared: a list, or text with commas."""
    value = look.value("mcp_clients")
    names = value if isinstance(value, list) else str(value or "").split(",")
    return [str(name).strip() for name in names]


_GATES = Gates(_names)
form, palace, command = _GATES.form, _GATES.palace, _GATES.command
variables, token = _GATES.variables, _GATES.token
initialize, trials = _GATES.initialize, _GATES.trials
