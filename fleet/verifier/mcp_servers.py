"""Which MCP servers pi gets, from which file, and which files are shadowed.

Two hosts can own them. ``pi-mcp-adapter`` merges up to six files field by field, later ones win,
and replaces pi's own host; in its exclusive mode it reads one of them only. Without it pi (from
0.99) reads the file in its agent folder and, in a project that it trusts, ``.pi/mcp.json``; there
a project's entry without command, url and type changes three settings of the other and keeps the
rest. What pi's own host refuses it tells nobody who does not ask for it (``pi mcp list``).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import TypeAlias

from fleet.dataclass import dataclass
from fleet.facts.jsontext import read_json
from fleet.facts.paths import State
from fleet.verifier.json_files import json_files
from fleet.verifier.launches import text
from fleet.verifier.look import Look
from fleet.verifier.pi_sources import sources
from fleet.verifier.project_trust import project_trust

#: Artifacts of the systems that look at them, in the adapter's order: later ones win.
ADAPTER_FILES = (
    "mcp-generic",
    "mcp-agents",
    "mcp-agents-folder",
    "mcp-agent",
    "mcp-project",
    "mcp-project-pi",
)
ADAPTER = "pi-mcp-adapter"
#: In settings.json: pi's own host is turned off.
OFF = "-builtin:mcp"
BUILT_IN_FILES = ("mcp-agent", "mcp-project-pi")

MODE = "PI_MCP_CONFIG_MODE"
#: What the adapter drops of an entry when a later one turns it into another kind of server, and
#: the credentials that it does not hand on to another URL (``config.ts`` of 2.36.0).
_OF_COMMANDS = ("command", "args", "env", "cwd", "pluginDataDir", "literalEnv", "inheritEnv")
_BOUND = (
    "headers",
    "bearerToken",
    "bearerTokenEnv",
    "bearerTokenStore",
    "requestHeadersCommand",
    "caFile",
)
_OF_URLS = ("url", *_BOUND, "auth", "oauth", "httpTransport")
#: Where the adapter finds servers beside the files.
_ELSEWHERE = {
    "imports": "it imports the servers of other programs",
    "claudePlugins": "it takes the servers of plugins",
}
_SETTINGS_ELSEWHERE = {
    "hostConfigDiscovery": "it discovers the servers of other programs",
    "ancestorConfigRoots": "it reads the files of folders above the project",
    "agentPluginPaths": "it takes the servers of plugins",
}
_SERVERS, _SPELT_OTHERWISE = "mcpServers", "mcp-servers"
_OVERRIDES = ("enabled", "exposure", "toolExposure")
_STARTS = ("command", "url", "type")
#: What turns a server off: each host has a word of its own, and does not know the other's.
_OFF_FOR_ADAPTER, _OFF_FOR_PI = ("disabled", True), ("enabled", False)

#: How a later entry goes over an earlier one; text is why it is refused.
_Merge: TypeAlias = Callable[[Mapping[str, object], Mapping[str, object]], dict[str, object] | str]


@dataclass(frozen=True, slots=True)
class Server:
    """One server as its host sees it.

    Attributes:
        fields: values that may hold a secret are masked.
        file: the last file that says something about it.
        shadowed: the files before it that name it too.
        under: the key that it stands under there.
        off: the fields that turn it off, each with the value that does.
    """

    name: str
    fields: Mapping[str, object]
    file: str
    shadowed: tuple[str, ...] = ()
    under: str = "mcpServers"
    off: tuple[tuple[str, bool], ...] = (_OFF_FOR_ADAPTER, _OFF_FOR_PI)

    @property
    def enabled(self) -> bool:
        """Tell whether its host starts it."""
        return not any(self.fields.get(name) is value for name, value in self.off)

    def text(self, name: str) -> str:
        """Return a field that is text; empty where it is not."""
        value = self.fields.get(name)
        return value if isinstance(value, str) else ""


@dataclass(slots=True)
class Servers:
    """All servers of one host.

    Attributes:
        settings: of the host itself, merged likewise.
        unread: lines about files that are there and could not be understood.
        untrusted: the servers of a project's file that its host does not read, as the project is
            not trusted.
        refused: lines about entries that its host does not take.
    """

    servers: dict[str, Server] = field(default_factory=dict)
    settings: dict[str, object] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)
    untrusted: dict[str, Server] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Host:
    """Who hosts the servers in a session of pi.

    Attributes:
        source: what names ``pi-mcp-adapter``; empty where nothing does.
        off: pi's own host is turned off.
        unread: lines about what decides this and could not be read.
    """

    source: str = ""
    off: bool = False
    unread: list[str] = field(default_factory=list)

    @property
    def adapter(self) -> bool:
        """Tell whether the adapter is loaded, which replaces pi's own host."""
        return bool(self.source)


def host_of(look: Look) -> Host:
    """Tell from settings.json and the extensions folder who hosts the servers."""
    host = Host()
    fact = look.artifact("settings")
    settings: object = None
    if fact and fact.state not in (State.ABSENT, State.DANGLING):
        content = look.content(fact)
        if content is None:
            host.unread.append(f"{fact.path}: {fact.why or 'its content was not read'}")
        settings = _parsed(content)  # pi ignores settings that do not parse
    listing = look.artifact("extensions")
    names = [entry.name for entry in (listing.entries or ())] if listing else []
    if isinstance(settings, dict):
        extensions = sources(settings, "extensions")
        host.off = OFF in extensions
        names += [s for s in extensions if not s.startswith(("-", "!"))]
        names += sources(settings, "packages")
    host.source = next(filter(_is_adapter, names), "")
    return host


def _parsed(content: bytes | None) -> object:
    try:
        return read_json(content or b"null")
    except (ValueError, RecursionError):
        return None


def _is_adapter(source: str) -> bool:
    """Tell whether a name is the adapter's: ``npm:pi-mcp-adapter@2``, ``…/pi-mcp-adapter``."""
    parts = source.removeprefix("npm:").removesuffix(".git").split("/")
    return any(part.partition("@")[0] == ADAPTER for part in parts)


def adapter_servers(look: Look, added: Mapping[str, object] | None = None) -> Servers:
    """Merge the adapter's files as it does; ``added`` is set in the agent folder's before."""
    exclusive = any(text(one, MODE).strip().lower() == "exclusive" for one in look.launches())
    found = _merged(look, ("mcp-agent",) if exclusive else ADAPTER_FILES, _adapted, added)
    for name, told in _SETTINGS_ELSEWHERE.items():
        if found.settings.get(name) not in (None, [], "off", "prompt") and not exclusive:
            found.unread.append(f"{told} ({name}), which were not looked at")
    return found


def built_in_servers(look: Look, added: Mapping[str, object] | None = None) -> Servers:
    """Merge the files of pi's own host as it does; ``added`` as above."""
    users, of_project = (
        BUILT_IN_FILES[:1],
        list(json_files(look, BUILT_IN_FILES[1:], comments=False)),
    )
    if not any(file.document is None or file.document.get(_SERVERS) for file in of_project):
        return _merged(look, users, _built_in, added)
    trust = project_trust(look)
    if trust.trusted:
        return _merged(look, BUILT_IN_FILES, _built_in, added)
    found = _merged(look, users, _built_in, added)
    if trust.trusted is None:
        found.unread.append(f"whether pi reads the file of the project: {trust.why}")
    for file in of_project:
        for name, fields in _entries((file.document or {}).get(_SERVERS)).items():
            found.untrusted[name] = Server(name, fields, file.fact.path)
    return found


def _merged(
    look: Look, names: Sequence[str], merge: _Merge, added: Mapping[str, object] | None = None
) -> Servers:
    found = Servers()
    off = (_OFF_FOR_ADAPTER if merge is _adapted else _OFF_FOR_PI,)
    read = {file.name: file for file in json_files(look, names, comments=False)}
    for name in names:
        file, fact = read.get(name), look.artifact(name)
        more = added if name == "mcp-agent" else None
        if fact is None or not (file or more):
            continue
        if file and file.document is None:
            found.unread.append(f"{fact.path}: {file.unread or file.broken}")
            continue
        content = _with((file.document if file else None) or {}, more or {})
        if merge is _adapted:
            found.unread += [
                f"{fact.path}: {told} ({key}), which were not looked at"
                for key, told in _ELSEWHERE.items()
                if content.get(key)
            ]
        settings = content.get("settings")
        found.settings |= settings if isinstance(settings, dict) else {}
        other = merge is _adapted and _SERVERS not in content
        under = _SPELT_OTHERWISE if other else _SERVERS
        for server, fields in _entries(content.get(under)).items():
            held = found.servers.get(server)
            shadowed = (*held.shadowed, held.file) if held else ()
            merged = merge(held.fields if held else {}, fields)
            if isinstance(merged, str):
                place = f"server {server} in {fact.path}"
                found.refused.append(f"{place}: pi's own MCP host refuses {merged}")
                continue
            found.servers[server] = Server(server, merged, fact.path, shadowed, under, off)
    return found


def _with(content: Mapping[str, object], more: Mapping[str, object]) -> dict[str, object]:
    """Return a document with values set in it: mappings are merged."""
    made = dict(content)
    for name, value in more.items():
        held = made.get(name)
        both = isinstance(held, dict) and isinstance(value, Mapping)
        made[name] = _with(held, value) if both else value  # type: ignore[arg-type]  # both are
    return made


def _entries(servers: object) -> dict[str, dict[str, object]]:
    if not isinstance(servers, dict):
        return {}
    return {str(n): fields for n, fields in servers.items() if isinstance(fields, dict)}


def _adapted(held: Mapping[str, object], fields: Mapping[str, object]) -> dict[str, object]:
    dropped: tuple[str, ...] = ()
    if isinstance(fields.get("command"), str):
        dropped = (*_OF_URLS, "socket")
    elif isinstance(fields.get("url"), str):
        dropped = (*_OF_COMMANDS, "socket")
        if held and held.get("url") != fields["url"]:
            kept = ("oauth",) if held.get("oauth") is False else ()
            dropped = tuple(n for n in (*dropped, *_BOUND, "oauth") if n not in kept)
    elif isinstance(fields.get("socket"), str):
        dropped = (*_OF_COMMANDS, *_OF_URLS)
    return {n: v for n, v in held.items() if n not in dropped} | dict(fields)


def _built_in(held: Mapping[str, object], fields: Mapping[str, object]) -> dict[str, object] | str:
    """Merge as ``config.js`` of pi 1.6.0 does, as far as what leads to a server goes."""
    if any(name in fields for name in _STARTS):
        return _refused(fields) or dict(fields)
    if not held:
        return "what names neither a program nor a URL"
    more = sorted(set(fields) - set(_OVERRIDES))
    if more:
        return f"{', '.join(more)} in it, where only {', '.join(_OVERRIDES)} may stand"
    return dict(held) | dict(fields)


def _refused(fields: Mapping[str, object]) -> str:
    """Tell what pi's own host refuses of an entry that is no override; empty where it is taken."""
    if fields.get("type") == "sse":
        return "the type sse"
    if not any(isinstance(fields.get(name), str) for name in ("command", "url")):
        return "what names neither a program nor a URL"
    if not isinstance(fields.get("enabled", True), bool):
        return "an `enabled` that is neither true nor false"
    if isinstance(fields.get("url"), str) and not isinstance(fields.get("oauth", {}), dict):
        return "an `oauth` that is no object"
    return ""
