"""What YAML cannot say about MCP servers in pi."""

from fleet.systems.pi_mcp.answers import answers
from fleet.systems.pi_mcp.files import files
from fleet.systems.pi_mcp.foreseen import foreseen
from fleet.systems.pi_mcp.tools import tools
from fleet.systems.pi_mcp.tried import initialize, trials
from fleet.systems.pi_mcp.values import values
from fleet.verifier.look import Look
from fleet.verifier.mcp_host import hosted
from fleet.verifier.model import Judgement

__all__ = ["answers", "files", "foreseen", "host", "initialize", "tools", "trials", "values"]


def host(look: Look) -> Judgement:
    """Something owns the servers that are declared."""
    return hosted(look)
