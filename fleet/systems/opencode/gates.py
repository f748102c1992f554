"""What YAML cannot say about opencode."""

from fleet.systems.opencode.palace import command, oauth, palace, token, variables
from fleet.systems.opencode.tried import initialize, resolved, trials
from fleet.systems.opencode.whole import config, plugins, program, project
from fleet.verifier.registrations import answers

__all__ = [
    "answers",
    "command",
    "config",
    "initialize",
    "oauth",
    "palace",
    "plugins",
    "program",
    "project",
    "resolved",
    "token",
    "trials",
    "variables",
]
