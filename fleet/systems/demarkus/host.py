"""Who hosts demarkus' MCP servers for pi: without a host none of its tools is there."""

from fleet.systems.demarkus.plugins import NONE_DECLARED, plugins
from fleet.systems.pi_mcp.host import host as host_of_servers
from fleet.verifier.look import Look
from fleet.verifier.mcp_owners import BUILT_IN, pi_versions
from fleet.verifier.mcp_servers import ADAPTER, host_of
from fleet.verifier.model import (
    Judgement,
    Verdict,
    failed,
    not_applicable,
    not_checked,
    passed,
)


def host(look: Look) -> Judgement:
    """There is an MCP host, the adapter or pi's own, also where no server is declared yet."""
    if not plugins(look):
        return not_applicable(NONE_DECLARED)
    judgement = host_of_servers(look)
    if judgement.verdict is not Verdict.NOT_APPLICABLE:
        return judgement
    if host_of(look).off:
        return failed(f"pi's own MCP host is turned off, and there is no {ADAPTER}")
    versions = pi_versions(look)
    if not versions:
        return not_checked("which pi is launched here could not be seen")
    if min(versions) < BUILT_IN:
        return failed(f"pi {min(versions)} has no MCP host, and {ADAPTER} is not there")
    return passed(f"pi's own MCP host owns the servers (pi {min(versions)})")
