"""The files that declare MCP servers to pi, as an audit reads them."""

import json

from support.facts import World

from fleet.facts.jsonshape import json_shape
from fleet.facts.paths import State
from fleet.systems.catalogue import load_catalogue

#: The adapter's files in its order, by where they lie; later ones win.
FILES = (
    "~/.config/mcp/mcp.json",
    "~/.agents/mcp.json",
    "~/.agents/mcp/mcp.json",
    "~/.pi/agent/mcp.json",
    "/work/.mcp.json",
    "/work/.pi/mcp.json",
)
GENERIC, AGENTS, AGENTS_FOLDER, AGENT, PROJECT, PROJECT_PI = FILES
SETTINGS = "~/.pi/agent/settings.json"
ADAPTER = json.dumps({"packages": ["npm:pi-mcp-adapter@2.36.0"]}).encode()


def keys() -> tuple[str, ...]:
    """Return the keys whose values an audit asks for."""
    return load_catalogue().system("pi-mcp").artifacts["mcp-agent"].keys


def declare(world: World, path: str, content: object) -> World:
    """Let a file declare servers; text as it is, all else as JSON."""
    raw = (content if isinstance(content, str) else json.dumps(content)).encode()
    world.file(path)
    shape = json_shape(raw, keys())
    why = None if shape is not None else "it is no plain JSON: not told"
    update = {"shape": shape, "why": why, "sha256": None}
    world.paths[path] = world.paths[path].model_copy(update=update)
    return world


def unreadable(world: World, path: str) -> World:
    """Let a file be there that may not be read."""
    return world.broken(path, State.UNREADABLE, why="permission denied")


def server(name: str = "mempalace", **fields: object) -> dict[str, object]:
    """One server's declaration."""
    return {"mcpServers": {name: fields}}
