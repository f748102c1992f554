"""What YAML cannot say about Claude Code."""

from fleet.verifier.client_gates import Gates
from fleet.verifier.registrations import answers

__all__ = ["answers", "command", "form", "initialize", "palace", "token", "trials", "variables"]

_GATES = Gates(lambda _look: ["claude-code"])
form, palace, command = _GATES.form, _GATES.palace, _GATES.command
variables, token = _GATES.variables, _GATES.token
initialize, trials = _GATES.initialize, _GATES.trials
