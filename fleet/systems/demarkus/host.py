"""Who hosts demarkus' MCP servers for pi: without a host none of its tools is there."""

from fleet.systems.demarkus.plugins import NONE_DECLARED, plugins
from fleet.verifier.look import Look
from fleet.verifier.mcp_host import hosted
from fleet.verifier.model import Judgement, not_applicable


def host(look: Look) -> Judgement:
    """There is an MCP host, the adapter or pi's own, also where no server is declared yet."""
    return hosted(look, needed=True) if plugins(look) else not_applicable(NONE_DECLARED)
