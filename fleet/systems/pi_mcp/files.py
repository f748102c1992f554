"""Which file decides about each MCP server, and which files say something that nobody reads."""

from collections.abc import Iterator

from fleet.verifier.look import Look
from fleet.verifier.mcp_owners import servers_of
from fleet.verifier.mcp_servers import (
    BUILT_IN_FILES,
    Server,
    Servers,
    adapter_servers,
    host_of,
)
from fleet.verifier.model import Judgement, not_applicable, not_checked, passed, warned


def files(look: Look) -> Judgement:
    """Each server is decided by one file, and the host that owns the servers reads it."""
    host = host_of(look)
    if host.off and not host.adapter:
        return not_applicable("pi's own MCP host is turned off")
    found = servers_of(look, host)
    servers = [server for server in found.servers.values() if server.enabled]
    unread = [*host.unread, *found.unread]
    if unread:
        return not_checked(f"not everything could be seen: {unread[0]}", *unread)
    odd = [*_shadowed(servers), *([] if host.adapter else _never_read(look, found))]
    if odd:
        return warned("not every file that names a server decides about it", *odd)
    if not servers:
        return not_applicable("no MCP server is declared here")
    return passed("each server is decided by one file", *(f"{s.name}: {s.file}" for s in servers))


def _shadowed(servers: list[Server]) -> Iterator[str]:
    for server in servers:
        if server.shadowed:
            yield f"server {server.name}: {server.file} wins over {', '.join(server.shadowed)}"


def _never_read(look: Look, found: Servers) -> Iterator[str]:
    """Tell of servers that only the adapter would read, or pi in a project that it trusts."""
    for server in found.untrusted.values():
        told = "pi does not trust the project, and never reads that file"
        yield f"server {server.name} in {server.file}: {told}"
    read = {fact.path for name in BUILT_IN_FILES if (fact := look.artifact(name)) is not None}
    for server in adapter_servers(look).servers.values():
        if server.name not in found.servers and server.file not in read and server.enabled:
            yield f"server {server.name} in {server.file}: pi's own MCP host never reads that file"
