"""Who declares the palace's tools to the model beside the bridge, and by what names.

``pi-mcp-adapter`` declares a server's tools where ``directTools`` says so, pi's own host where its
``exposure`` is ``direct``. Two extensions that declare a tool of one name end pi.
"""

import re
from collections.abc import Mapping
from dataclasses import field

from packaging.version import Version

from fleet.dataclass import dataclass
from fleet.verifier.launches import text, unseen_launches
from fleet.verifier.look import Look
from fleet.verifier.manifests import version_told
from fleet.verifier.mcp_servers import (
    ADAPTER,
    Host,
    Server,
    Servers,
    adapter_servers,
    built_in_servers,
    host_of,
)
from fleet.verifier.registrations import is_palace

URL = "MEMPALACE_REMOTE_URL"
#: The first pi with an MCP host of its own.
BUILT_IN = Version("0.99")
#: A tool of the palace, by the name under which the bridge declares it.
TOOL = "mempalace_status"

_MCP = re.compile(r"-?mcp$", re.IGNORECASE)
_VALID = re.compile(r"[A-Za-z0-9_-]")


@dataclass(slots=True)
class Owners:
    """Who declares the palace's tools, and what else was seen.

    Attributes:
        owners: a line for each.
        notes: palace servers that declare nothing, and why.
        unseen: what would decide it and was not seen.
        names: how its tools are called, one for each owner.
        fatal: whether an owner's tools have the bridge's names: pi ends where both are loaded.
    """

    owners: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    unseen: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    fatal: bool = False


def palace_owners(
    look: Look, host: Host | None = None, added: Mapping[str, object] | None = None
) -> Owners:
    """Find what declares the palace's tools beside the bridge.

    Args:
        look: any system that looks at pi's settings and at the files of servers.
        host: who hosts the servers; by default who does now.
        added: what will be set in the agent folder's file.
    """
    host = host or host_of(look)
    found = Owners(unseen=[*host.unread])
    if host.adapter:
        _adapter(look, found, adapter_servers(look, added))
    elif not host.off:
        _built_in(look, found, built_in_servers(look, added))
    return found


def servers_of(look: Look, host: Host) -> Servers:
    """Return the servers of whichever host owns them."""
    return adapter_servers(look) if host.adapter else built_in_servers(look)


def palace_servers(look: Look, servers: Servers) -> list[Server]:
    """Return the servers that are this palace and are started."""
    urls = {text(launch, URL) for launch in look.launches()} | {look.text("palace_url")}
    return [
        server
        for server in servers.servers.values()
        if server.enabled
        and is_palace(server.name, server.text("url"), server.text("command"), urls - {""})
    ]


def adapter_tool(server: Server, settings: Mapping[str, object], tool: str = TOOL) -> str:
    """Return how the adapter calls a server's tool (``formatToolName`` of 2.36.0)."""
    mode = server.fields.get("toolPrefix", settings.get("toolPrefix", "server"))
    name = server.name
    if mode == "none":
        return tool
    if mode == "short":
        name = _MCP.sub("", name) or "mcp"
    safe = "".join(c if _VALID.match(c) else f"_{ord(c):x}_" for c in name)
    prefix = f"mcp__{safe}" if mode == "mcp" else safe
    return tool if tool.startswith(f"{prefix}_") else f"{prefix}_{tool}"


def built_in_tool(server: Server, tool: str = TOOL) -> str:
    """Return how pi's own host calls a server's tool."""
    return re.sub(r"[^A-Za-z0-9_]", "_", f"mcp__{server.name}__{tool}")


def pi_versions(look: Look) -> list[Version]:
    """Return the versions of pi that the launches start, as far as their manifests were read."""
    versions: list[Version] = []
    for launch in look.launches():
        command = launch.commands.get("pi")
        version = version_told(look.content(command.manifest if command else None))
        versions += [Version(version)] if version else []
    return versions


def _adapter(look: Look, found: Owners, servers: Servers) -> None:
    found.unseen += servers.unread
    for server in palace_servers(look, servers):
        direct = server.fields.get("directTools", servers.settings.get("directTools"))
        where = f"server {server.name} in {server.file}"
        if direct:
            name = adapter_tool(server, servers.settings)
            found.owners.append(f"{ADAPTER}, direct tools of {where}")
            found.names.append(name)
            found.fatal |= name == TOOL
        else:
            found.notes.append(f"{where}: {ADAPTER} declares none of its tools")


def _built_in(look: Look, found: Owners, servers: Servers) -> None:
    found.unseen += servers.unread
    for server in palace_servers(look, servers):
        where = f"server {server.name} in {server.file}"
        if server.text("exposure") != "direct":
            some = ", but for what toolExposure names" if server.fields.get("toolExposure") else ""
            found.notes.append(f"{where}: its tools are not declared to the model{some}")
            continue
        versions = pi_versions(look)
        if not versions:
            found.unseen.append(f"{where}: whether this pi reads it could not be seen")
        elif max(versions) >= BUILT_IN:
            found.owners.append(f"pi's own MCP, direct exposure of {where}")
            found.names.append(built_in_tool(server))
        elif unseen := unseen_launches(look):
            found.unseen.append(f"{where}: whether a pi reads it could not be seen, {unseen[0]}")
        else:
            found.notes.append(f"{where}: only pi {BUILT_IN} and later reads it")
