"""Where demarkus' MCP servers are declared, and that every harness gets the same one."""

import json
import posixpath
import re
from collections.abc import Iterator, Mapping

from fleet.facts.paths import PathFact, State
from fleet.systems.demarkus.plugins import NONE_DECLARED, plugins
from fleet.verifier.launches import Unseen
from fleet.verifier.look import Look
from fleet.verifier.mcp_servers import (
    ADAPTER,
    Server,
    Servers,
    adapter_servers,
    built_in_servers,
    host_of,
)
from fleet.verifier.model import Judgement, failed, not_applicable, not_checked, passed

#: The name that is reserved for the memory on the machine itself.
MEMORY = "demarkus-memory"
_SLUG = re.compile(r"[A-Za-z0-9._-]+")
_HOME = re.compile(r"^(?:~|\$HOME|\$\{HOME\})(?=/)")
_TOKEN = re.compile(r"TOKEN|AUTH|SECRET", re.IGNORECASE)


def declared(look: Look) -> Judgement:
    """The host reads the file in which each server is declared."""
    found = {plugin.name for plugin in plugins(look)}
    if not found:
        return not_applicable(NONE_DECLARED)
    host = host_of(look)
    servers = adapter_servers(look) if host.adapter else built_in_servers(look)
    unseen = [*host.unread, *servers.unread]
    wanted = [MEMORY] if "memory" in found else []
    told = list(_systems(look, wanted)) if "knowledge" in found else []
    elsewhere = Servers() if host.adapter else adapter_servers(look)
    told += [line for name in wanted for line in _undeclared(name, servers, elsewhere)]
    wrong = [line for line in told if not isinstance(line, Unseen)]
    if unseen and wrong:
        return not_checked(f"not everything could be seen: {unseen[0]}", *unseen)
    if wrong:
        return failed("demarkus' tools are not there", *wrong)
    unseen += told
    if unseen:
        return not_checked(f"not everything could be seen: {unseen[0]}", *unseen)
    owner = ADAPTER if host.adapter else "pi's own MCP host"
    lines = (f"{name}: {servers.servers[name].file}" for name in wanted)
    return passed(f"{owner} reads where the servers are declared", *lines)


def _systems(look: Look, wanted: list[str]) -> Iterator[str]:
    """Add the knowledge systems that are joined to what is wanted; yield what is wrong."""
    fact = look.artifact("knowledge-systems")
    if fact is None:
        return
    content = look.content(fact)
    if content is None:
        if fact.state in (State.ABSENT, State.DANGLING):
            yield f"no knowledge system is joined: {fact.path} does not exist"
        else:
            yield Unseen(f"{fact.path}: {fact.why or 'its content was not read'}")
        return
    lines = (line.strip() for line in content.decode(errors="replace").splitlines())
    names = [line for line in lines if line and not line.startswith("#")]
    wanted += [name for name in names if _SLUG.fullmatch(name)]
    if not names:
        yield f"no knowledge system is joined: {fact.path} names none"
    odd = sum(1 for name in names if not _SLUG.fullmatch(name))
    if odd:
        yield Unseen(f"{fact.path}: {odd} of its lines are no name of a system")


def _undeclared(name: str, servers: Servers, elsewhere: Servers) -> Iterator[str]:
    server = servers.servers.get(name)
    if server is not None and server.enabled:
        return
    if server is not None:
        yield f"server {name} in {server.file} is turned off"
    elif name in elsewhere.servers:
        file = elsewhere.servers[name].file
        yield f"server {name} in {file}: pi's own MCP host never reads that file"
    else:
        yield f"server {name} is declared in no file that its host reads"


def shared(look: Look) -> Judgement:
    """Both pi and Claude Code start the same program for the memory, and so use one token."""
    if "memory" not in {plugin.name for plugin in plugins(look)}:
        return not_applicable("demarkus-pi-memory is not declared here")
    unread: list[str] = []
    theirs = list(_claude(look, unread))
    if unread:
        return not_checked(f"not everything could be seen: {unread[0]}", *unread)
    if not theirs:
        return not_applicable("Claude Code has no server of demarkus here")
    host = host_of(look)
    servers = adapter_servers(look) if host.adapter else built_in_servers(look)
    ours = servers.servers.get(MEMORY)
    if ours is None:
        return not_checked("follows from demarkus.declared")
    entries = [ours, *theirs]
    wrong = [line for entry in entries for line in _own_token(entry)]
    programs = {_program(look, entry) for entry in entries}
    lines = [f"{entry.file}: {_program(look, entry) or 'a URL'}" for entry in entries]
    if len(programs) > 1:
        return failed("pi and Claude Code do not start the same server", *lines, *wrong)
    if wrong:
        return failed("a registration has a token of its own", *wrong)
    return passed("pi and Claude Code start the same server, and so use one token", *lines)


def _claude(look: Look, unread: list[str]) -> Iterator[Server]:
    """Yield the memory's server as Claude Code has it: registered, or brought by the plugin."""
    registered = _shape(look.artifact("claude"), unread)
    servers = registered.get("mcpServers")
    fields = servers.get(MEMORY) if isinstance(servers, dict) else None
    if isinstance(fields, dict):
        yield Server(MEMORY, fields, "~/.claude.json")
    enabled = _shape(look.artifact("claude-settings"), unread).get("enabledPlugins")
    for name, on in enabled.items() if isinstance(enabled, dict) else ():
        if name.partition("@")[0] == MEMORY and on is True:
            program = look.artifact("program")
            command = program.absolute if program else ""
            yield Server(MEMORY, {"command": command}, f"Claude Code's plugin {name}")


def _shape(fact: PathFact | None, unread: list[str]) -> Mapping[str, object]:
    if fact is None or fact.state in (State.ABSENT, State.DANGLING):
        return {}
    try:
        parsed: object = json.loads(fact.shape or "")
    except (ValueError, RecursionError):
        unread.append(f"{fact.path}: {fact.why or 'it could not be understood'}")
        return {}
    return parsed if isinstance(parsed, dict) else {}


def _program(look: Look, server: Server) -> str:
    home = look.facts.platform.home
    return posixpath.normpath(_HOME.sub(lambda _: home, server.text("command") or "."))


def _own_token(server: Server) -> Iterator[str]:
    env = server.fields.get("env")
    for name in env if isinstance(env, dict) else ():
        if isinstance(name, str) and _TOKEN.search(name):
            yield f"{server.file}: {name} is set for {server.name}"
