"""What the peers' scripts make of the texts that they read; no host is asked here."""

import json
import os
import re
import shlex
from fnmatch import fnmatch
from functools import lru_cache
from hashlib import sha256
from pathlib import PurePosixPath

from jsonschema import Draft202012Validator

WORK = json.loads(os.environ["BENCH_WORK"])
AGENT = "/root/.pi/agent"
EXTENSIONS = f"{AGENT}/extensions"
EXTENSION = f"{EXTENSIONS}/mempalace.ts"
BRIDGE = "/root/mempalace-toolkit/extensions/pi/mempalace.ts"
ENV = "/root/.config/pi/.env"
TIMERS = "/root/.config/systemd/user/timers.target.wants"
HELPER = "mempalace-pi-session"
#: Files of pi's own, each with a schema in its package.
FILES = ("settings", "keybindings", "models")
#: What may keep pi from loading an extension, beside an index and a setting.
HIDERS = ("package.json", ".gitignore", ".ignore", ".fdignore")
#: Files that a server of tools can be registered in.
REGISTRATIONS = (
    "/root/.config/mcp/mcp.json",
    "/root/.agents/mcp.json",
    "/root/.agents/mcp/mcp.json",
    f"{AGENT}/mcp.json",
)
#: The other extension that carries a copy of the bridge's client.
PEER = "mcp-loader.ts"
PROGRAMS = ("git", "uv", "tmux")
PIS = ("pi", "pi-rpc")
_TOKEN = re.compile(r"MCP-STREAMABLE-HTTP-CLIENT-SYNC[:=\s]*([\w.:-]*)")


def parsed(text):
    """Return a JSON object, an empty one where a text is none."""
    try:
        document = json.loads(text or "{}")
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def marked(text):
    """Tell for each capability whether its texts stand in the bridge."""
    return {name: all(t in text for t in texts) for name, texts in WORK["markers"].items()}


def whole(digest):
    """Tell whether a digest is that of a released bridge."""
    return digest in WORK["bridges"]


def digest(text):
    """Return the SHA-256 of a text."""
    return sha256(text.encode()).hexdigest()


def synced(text, other):
    """Tell whether both copies of the client carry one token, where there is another one."""
    tokens = [_TOKEN.search(each) for each in (text, other)]
    return not other or (all(tokens) and tokens[0].group(1) == tokens[1].group(1))


def seen(names, texts, settings):
    """Tell whether pi loads the extension, of a folder with these names.

    ``texts`` are those of HIDERS that are there, by name.
    """
    if {"index.ts", "index.js"} & {*names}:
        return False
    pi = parsed(texts.get("package.json")).get("pi")
    listed = pi.get("extensions") if isinstance(pi, dict) else None
    if isinstance(listed, list) and not {"mempalace.ts", "./mempalace.ts"} & {*listed}:
        return False
    ignored = [line for name in HIDERS[1:] for line in (texts.get(name) or "").splitlines()]
    if any(fnmatch("mempalace.ts", line) for line in ignored):
        return False
    filters = parsed(settings).get("extensions") or []
    return not {"-extensions/mempalace.ts", "!extensions/mempalace.ts"} & {*filters}


def owned(texts):
    """Tell whether a file registers the palace so that its tools are declared a second time."""
    return any(
        "mempalace" in name and (server.get("directTools") or server.get("exposure") == "direct")
        for text in texts
        for name, server in (parsed(text).get("mcpServers") or {}).items()
    )


def fits(text, schema):
    """Tell whether a text parses and is as the schema says; pi may ship none."""
    try:
        document = json.loads(text)
    except ValueError:
        return False
    return not schema or _validator(schema).is_valid(document)


@lru_cache
def _validator(schema):
    return Draft202012Validator(json.loads(schema))


def exported(text):
    """Return the variables that `env` printed."""
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)


def assigned(text):
    """Return the variables that a file gives the shell that sources it."""
    return exported("\n".join(shlex.split(text, comments=True)))


def declared(held):
    """Tell whether every declared variable has its declared value."""
    return all(held.get(name) == value for name, value in WORK["variables"].items())


def identified(held):
    """Tell whether device and URL are set together, or neither is."""
    return bool(held.get("MEMPALACE_PI_DEVICE")) == bool(held.get("MEMPALACE_REMOTE_URL"))


def feeding(held):
    """Tell whether feeding is not turned off."""
    return held.get("MEMPALACE_FEED") != "0"


def package_of(file):
    """Return the folder of the package that a program of pi belongs to."""
    return str(PurePosixPath(file).parents[2])


def at_least(version, wanted):
    """Tell whether a version is not older than another one."""
    return _numbers(version) >= _numbers(wanted)


def _numbers(version):
    return [int(number) for number in re.findall(r"\d+", version)[:3]]


def node_suits(version, package):
    """Tell whether a node is new enough for a pi."""
    return at_least(version, package["engines"]["node"])


def settled(package):
    """Tell whether a pi fires the event that the bridge waits for."""
    return at_least(package["version"], "0.80.4")


def maintained(files, package):
    """Tell whether there is one pi, and it is of the maintained package."""
    return len({*files}) == 1 and package.get("name") == "@earendil-works/pi-coding-agent"


def equipped(lines):
    """Tell from paths and a version whether the programs are there, and tmux is new enough."""
    names = {PurePosixPath(line).name for line in lines}
    tmux = [line for line in lines if line.startswith("tmux ")]
    return {*PROGRAMS} <= names and bool(tmux) and at_least(tmux[0], "3.2")


def local(lines, remote):
    """Tell whether a server of the palace runs under a pi with a remote one.

    Args:
        lines: of every process the parent's number first, its arguments last.
        remote: the numbers of such copies of pi.
    """
    return any(line.split()[0] in remote and "mempalace-mcp" in line for line in lines)
