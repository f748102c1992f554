"""Who gives the palace's tools to the model? Two owners are twice the tools, or no pi at all."""

import json
import posixpath
from dataclasses import dataclass, field

from packaging.version import InvalidVersion, Version

from fleet.facts.model import State
from fleet.systems.mempalace_bridge.client import URL
from fleet.verifier.launches import text
from fleet.verifier.look import Look
from fleet.verifier.mcp_servers import (
    ADAPTER,
    Server,
    Servers,
    adapter_servers,
    built_in_servers,
    host_of,
)
from fleet.verifier.model import Judgement, failed, follows_from, not_checked, passed

BUILT_IN = Version("0.99")


@dataclass(slots=True)
class _Owners:
    """Who declares the palace's tools, and what else was seen.

    Attributes:
        fatal: whether two of them declare tools of one name, at which pi ends.
    """

    owners: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    unseen: list[str] = field(default_factory=list)
    fatal: bool = False


def single(look: Look) -> Judgement:
    """Exactly one of bridge, adapter and built-in MCP declares the palace's tools."""
    fact = look.artifact("bridge")
    if fact is None or fact.state is not State.PRESENT:
        return follows_from("bridge.placed")
    found = _Owners(["the bridge"])
    host = host_of(look)
    found.unseen += host.unread
    if host.adapter:
        _adapter(look, found)
    elif not host.off:
        _built_in(look, found)
    if len(found.owners) > 1:
        told = "pi ends with a conflict of tools" if found.fatal else "every tool is there twice"
        return failed(f"{len(found.owners)} owners: {told}", *found.owners, *found.notes)
    if found.unseen:
        return not_checked(f"not everything could be seen: {found.unseen[0]}", *found.unseen)
    return passed("the bridge is the only owner", *found.notes)


def _adapter(look: Look, found: _Owners) -> None:
    servers = adapter_servers(look)
    for server in _palace(look, servers, found):
        direct = server.fields.get("directTools", servers.settings.get("directTools"))
        where = f"server {server.name} in {server.file}"
        if direct:
            found.owners.append(f"{ADAPTER}, direct tools of {where}")
            # Its tools are named after the server, and not doubled: mempalace_status.
            found.fatal |= server.name == "mempalace"
        else:
            found.notes.append(f"{where}: {ADAPTER} declares none of its tools")


def _built_in(look: Look, found: _Owners) -> None:
    servers = built_in_servers(look)
    for server in _palace(look, servers, found):
        where = f"server {server.name} in {server.file}"
        if server.text("exposure") != "direct":
            some = ", but for what toolExposure names" if server.fields.get("toolExposure") else ""
            found.notes.append(f"{where}: its tools are not declared to the model{some}")
            continue
        known = _reads_servers(look)
        if known is None:
            found.unseen.append(f"{where}: whether this pi reads it could not be seen")
        elif known:
            found.owners.append(f"pi's own MCP, direct exposure of {where}")
        else:
            found.notes.append(f"{where}: only pi {BUILT_IN} and later reads it")


def _palace(look: Look, servers: Servers, found: _Owners) -> list[Server]:
    """Return the servers that are this palace, and note files that could not be understood."""
    found.unseen += servers.unread
    urls = {text(launch, URL) for launch in look.launches()} | {look.text("palace_url")}
    return [
        server
        for server in servers.servers.values()
        if server.enabled and _is_palace(server, urls - {""})
    ]


def _is_palace(server: Server, urls: set[str]) -> bool:
    program = posixpath.basename(server.text("command"))
    return (
        "mempalace" in server.name.lower()
        or program.startswith("mempalace")
        or server.text("url") in urls
    )


def _reads_servers(look: Look) -> bool | None:
    """Tell whether a pi that is launched here has an MCP host of its own; None when unknown."""
    versions: list[Version] = []
    for launch in look.launches():
        command = launch.commands.get("pi")
        try:
            manifest = json.loads(look.content(command.manifest if command else None) or b"")
            versions.append(Version(manifest["version"]))
        except (ValueError, KeyError, TypeError, InvalidVersion, RecursionError):
            continue
    return max(versions) >= BUILT_IN if versions else None
