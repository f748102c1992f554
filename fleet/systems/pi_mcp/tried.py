"""The palace among pi's MCP servers as a deep check tries it: started or asked as its host does."""

from collections.abc import Sequence

from fleet.verifier.look import Look
from fleet.verifier.mcp_owners import palace_servers, servers_of
from fleet.verifier.mcp_servers import Server, host_of
from fleet.verifier.model import Judgement, not_checked
from fleet.verifier.trials import Declared, Trial, answered, tries


def trials(look: Look) -> Sequence[Trial]:
    """Return the servers that are this palace."""
    return tries(look, _declared(look))


def initialize(look: Look) -> Judgement:
    """Every one of them answers as an MCP server."""
    host = host_of(look)
    unread = [*host.unread, *servers_of(look, host).unread]
    judgement = answered(look, _declared(look))
    if unread and judgement.verdict.value in ("pass", "not-applicable"):
        return not_checked(f"not everything could be seen: {unread[0]}", *unread)
    return judgement


def _declared(look: Look) -> list[Declared]:
    servers = palace_servers(look, servers_of(look, host_of(look)))
    return [_trial(look, server) for server in servers]


def _trial(look: Look, server: Server) -> Declared:
    where = f"server {server.name} in {server.file}"
    if server.shadowed:
        # What its host keeps of the files before may be a credential of another server.
        return Declared(where, why=f"{', '.join(server.shadowed)} says something about it too")
    place = (look.path(server.file).absolute, (server.under, server.name))
    key = f"pi.{server.name}"
    if server.text("command"):
        return Declared(where, Trial(key, "stdio", (place,), "words", commands=True))
    if server.text("url"):
        return Declared(where, Trial(key, "http", (place,), "url", commands=True))
    return Declared(where, why="it names neither a program nor a URL")
