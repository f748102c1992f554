"""Whether the model is given the palace's tools, by what names, and by how many owners."""

from fleet.facts.paths import State
from fleet.verifier.look import Look
from fleet.verifier.mcp_owners import Owners, palace_owners, palace_servers, servers_of
from fleet.verifier.mcp_servers import host_of
from fleet.verifier.model import (
    Judgement,
    failed,
    not_applicable,
    not_checked,
    passed,
)

_BRIDGE = "mempalace-bridge"


def tools(look: Look) -> Judgement:
    """One owner declares the palace's tools; where the bridge does, its own gate tells."""
    if _BRIDGE in look.target.systems:
        return not_applicable("the bridge declares them; bridge.single tells who else does")
    found = palace_owners(look)
    fact = look.artifact("bridge")
    if found.owners and fact is not None and fact.state is State.PRESENT:
        told = "pi ends with a conflict of tools" if found.fatal else "every tool is there twice"
        return failed(f"{fact.path} declares them too: {told}", *found.owners)
    if found.unseen:
        return not_checked(f"not everything could be seen: {found.unseen[0]}", *found.unseen)
    if found.owners:
        return _declared(found)
    if not found.notes:
        return not_applicable("the palace is not among the MCP servers")
    host = host_of(look)
    through = "the proxy tool `mcp`" if host.adapter else "`codemode`"
    if not palace_servers(look, servers_of(look, host)):
        through = "nothing"
    return failed(f"the model reaches the palace's tools through {through} only", *found.notes)


def _declared(found: Owners) -> Judgement:
    if len(found.owners) > 1:
        return failed("more than one server declares the palace's tools", *found.owners)
    return passed(f"the model is given the palace's tools, such as {found.names[0]}", *found.owners)
