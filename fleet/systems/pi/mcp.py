"""The MCP servers that pi gets: which file decides, which is not read, what runs as a command."""

import re
from collections.abc import Iterator

from fleet.verifier.launches import value
from fleet.verifier.look import Look
from fleet.verifier.mcp_servers import (
    Server,
    Servers,
    adapter_servers,
    built_in_servers,
    host_of,
)
from fleet.verifier.model import Judgement, failed, not_applicable, not_checked, passed, warned

_REFERENCE = re.compile(r"\$\{([A-Za-z_]\w*)\}")


def mcp(look: Look) -> Judgement:
    """Each server is decided by one file; none of its credentials is run as a command."""
    host = host_of(look)
    if host.off and not host.adapter:
        return not_applicable("pi's own MCP host is turned off")
    found = adapter_servers(look) if host.adapter else built_in_servers(look)
    servers = [server for server in found.servers.values() if server.enabled]
    wrong = [line for server in servers for line in _wrong(look, server)]
    if wrong:
        return failed("a server cannot be asked as it is declared", *wrong)
    unread = [*host.unread, *found.unread]
    if unread:
        return not_checked(f"not everything could be seen: {unread[0]}", *unread)
    odd = [*_shadowed(servers), *([] if host.adapter else _never_read(look, found))]
    if odd:
        return warned("not every file that names a server decides about it", *odd)
    if not servers:
        return not_applicable("no MCP server is declared here")
    return passed("each server is decided by one file", *(_decided(each) for each in servers))


def _decided(server: Server) -> str:
    return f"{server.name}: {server.file}"


def _wrong(look: Look, server: Server) -> Iterator[str]:
    for name, text in _credentials(server):
        where = f"server {server.name} in {server.file}: {name}"
        # A command has words; a token has none, and `!!` stands for a `!` that is meant.
        if text.startswith("!") and not text.startswith("!!") and " " not in text:
            yield f"{where} begins with `!` and would be executed as a command"
        for variable in _REFERENCE.findall(text):
            yield from (f"{where} names {variable}, {told}" for told in _unset(look, variable))
    variable = server.text("bearerTokenEnv")
    where = f"server {server.name} in {server.file}: bearerTokenEnv"
    yield from (f"{where} names {variable}, {told}" for told in _unset(look, variable))


def _credentials(server: Server) -> Iterator[tuple[str, str]]:
    token = server.text("bearerToken")
    if token:
        yield "bearerToken", token
    headers = server.fields.get("headers")
    for name, text in headers.items() if isinstance(headers, dict) else ():
        if isinstance(text, str):
            yield f"the header {name}", text


def _unset(look: Look, variable: str) -> Iterator[str]:
    """Tell of launches that were asked for a variable and do not export it."""
    for launch in look.launches():
        if variable in launch.variables and not value(launch, variable).set:
            yield f"which {launch.launch} does not export"


def _shadowed(servers: list[Server]) -> Iterator[str]:
    for server in servers:
        if server.shadowed:
            yield f"server {server.name}: {server.file} wins over {', '.join(server.shadowed)}"


def _never_read(look: Look, found: Servers) -> Iterator[str]:
    """Tell of servers that only the adapter would read."""
    for server in adapter_servers(look).servers.values():
        if server.name not in found.servers and server.enabled:
            yield f"server {server.name} in {server.file}: pi's own MCP host never reads that file"
