"""Whether the palace behind a registration answers. A cache of its tools is no evidence.

The adapter keeps what a server once listed in ``mcp-cache.json`` and registers tools from it,
whether the server lives or not; a cache may as well look stale while the server is there. So it is
not even read: the server is asked.
"""

from fleet.facts.endpoints import EndpointFact
from fleet.verifier.answers import line, remedy_of, told, was_sent
from fleet.verifier.look import Look
from fleet.verifier.mcp_owners import palace_servers, servers_of
from fleet.verifier.mcp_servers import Server, host_of
from fleet.verifier.model import Judgement, failed, not_applicable, not_checked, passed


def answers(look: Look) -> Judgement:
    """The palace's URL, as its host has it, answers from the target as an MCP server."""
    host = host_of(look)
    found = servers_of(look, host)
    servers = palace_servers(look, found)
    unseen = [*host.unread, *found.unread]
    good: list[str] = []
    for server in servers:
        heard = _heard(look, server)
        if heard is None:
            unseen.append(f"server {server.name} in {server.file}: {_why(server)}")
        elif told(heard).trouble is not None:
            return failed("the palace does not answer", line(heard), remedy=remedy_of(told(heard)))
        else:
            good.append(line(heard))
    if unseen:
        return not_checked(f"not everything could be asked: {unseen[0]}", *unseen)
    if not servers:
        return not_applicable("the palace is not among the MCP servers")
    return passed("the palace answers", *good)


def _heard(look: Look, server: Server) -> EndpointFact | None:
    facts = [e for e in look.endpoints(server.text("url")) if e.place == "target" and was_sent(e)]
    return facts[0] if facts else None


def _why(server: Server) -> str:
    if server.text("command"):
        return "it is a program that pi starts, and was not started"
    return "its URL was not asked; declare it as palace_url"
