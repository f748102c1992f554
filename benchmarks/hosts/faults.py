"""What is wrong on every second host, as layers over the good state."""

import json
from pathlib import Path

from fleet.data import shipped
from fleet.demo.history import BRIDGE, bridge_of

#: The bridge of months ago, with one capability of eight.
OLD_BRIDGE = "old-bridge"
#: The bridge ends in the middle.
CUT_BRIDGE = "cut-bridge"
#: The extension leads to a copy beside the toolkit.
OTHER_COPY = "other-copy"
#: Another extension lies in the folder, and a manifest that names it alone.
OTHER_EXTENSION = "other-extension"
#: pi-mcp-adapter declares the palace's tools too, and a setting has the wrong type.
SECOND_OWNER = "second-owner"
#: Everybody may read the environment file.
OPEN_FILE = "open-file"
#: The environment file is that of another machine.
OTHER_ENVIRONMENT = "other-environment"
#: The agent folder became read-only while the settings were written.
CUT_SETTINGS = "cut-settings"
#: First on the PATH are a pi and a node of before; the session helper and uv have gone.
OLD_PROGRAMS = "old-programs"
#: A pi of before still runs, with a palace of its own.
OLD_PROCESS = "old-process"
#: In the order of the hosts: the first ones come first where there are few hosts.
FAULTS = (
    OLD_BRIDGE,
    OPEN_FILE,
    OTHER_COPY,
    OTHER_ENVIRONMENT,
    CUT_SETTINGS,
    OLD_PROGRAMS,
    OLD_PROCESS,
    SECOND_OWNER,
    CUT_BRIDGE,
    OTHER_EXTENSION,
)
#: The layer that is the same on every host, good or not.
GOOD = "good"
SETTINGS = '{\n  "theme": "dark",\n  "quietStartup": true\n}\n'
OLD = "2026-08-10.ts"
_AGENT = "root/.pi/agent"
_EXTENSION = f"{_AGENT}/extensions/mempalace.ts"
_BRIDGE = f"root/mempalace-toolkit/{BRIDGE}"
_PI = "root/.local/lib/node_modules/@earendil-works/pi-coding-agent"
_OLD_PI = {
    "name": "@earendil-works/pi-coding-agent",
    "version": "0.79.0",
    "engines": {"node": ">=22.19.0"},
}
#: Runs when a host starts, as on Debian.
_START = "etc/rc.local"
_READ_ONLY = f"""#!/bin/sh
mount --bind /{_AGENT} /{_AGENT}
mount -o remount,bind,ro /{_AGENT}
"""
_RUN = """#!/bin/sh
cd / && exec env -i HOME=/root PATH=/usr/bin:/bin MEMPALACE_AGENT_NAME=bench \
MEMPALACE_REMOTE_URL=https://palace.example.net/mcp /opt/before/pi </dev/null >/dev/null 2>&1 &
"""
_WAIT = "#!/bin/sh\nsleep 2147483647\n:\n"


def planted(count: int) -> list[str]:
    """Return the fault of each of ``count`` hosts; every second one has one."""
    return [FAULTS[number // 2 % len(FAULTS)] if number % 2 else "" for number in range(count)]


def releases() -> tuple[bytes, ...]:
    """Return the bridges that were ever released, as far as hosts have them."""
    return bridge_of(OLD), (shipped("toolkit") / BRIDGE).read_bytes()


def write_faults(folder: Path) -> None:
    """Write each fault's layer below ``folder``, where the good one is."""
    _of_bridges(folder)
    _of_files(folder)
    _of_programs(folder)
    _of_processes(folder)


def _of_bridges(folder: Path) -> None:
    whole = (folder / GOOD / _BRIDGE).read_bytes()
    _put(folder, OLD_BRIDGE, _BRIDGE, bridge_of(OLD))
    _put(folder, CUT_BRIDGE, _BRIDGE, whole[: len(whole) // 2])
    _put(folder, OTHER_COPY, "root/copy.ts", whole)
    _link(folder, OTHER_COPY, _EXTENSION, "/root/copy.ts")
    other, only = "mcp-loader.ts", {"pi": {"extensions": ["mcp-loader.ts"]}}
    client = b"// MCP-STREAMABLE-HTTP-CLIENT-SYNC: 0\nexport default () => undefined;\n"
    _put(folder, OTHER_EXTENSION, f"{_AGENT}/extensions/{other}", client)
    _put(folder, OTHER_EXTENSION, f"{_AGENT}/extensions/package.json", json.dumps(only).encode())


def _of_files(folder: Path) -> None:
    path = "root/.config/pi/.env"
    content = (folder / GOOD / path).read_bytes()
    _put(folder, OPEN_FILE, path, content).chmod(0o644)
    other = content.replace(b"NAME='bench'", b"NAME='another'") + b"MEMPALACE_PI_DEVICE='another'\n"
    _put(folder, OTHER_ENVIRONMENT, path, other).chmod(0o600)
    _put(folder, CUT_SETTINGS, f"{_AGENT}/settings.json", SETTINGS[:-3].encode())
    _put(folder, CUT_SETTINGS, _START, _READ_ONLY.encode()).chmod(0o755)
    adapter = f"{_AGENT}/extensions/pi-mcp-adapter/index.ts"
    _put(folder, SECOND_OWNER, adapter, b"export default () => undefined;\n")
    server = {"command": "mempalace-mcp", "directTools": True}
    servers = json.dumps({"mcpServers": {"mempalace": server}})
    _put(folder, SECOND_OWNER, "root/.config/mcp/mcp.json", servers.encode())
    typed = SETTINGS.replace("true", '"yes"').encode()
    _put(folder, SECOND_OWNER, f"{_AGENT}/settings.json", typed)


def _of_programs(folder: Path) -> None:
    programs, cli = "root/.local/bin", f"{_PI}/dist/bundle/cli.js"
    _put(folder, OLD_PROGRAMS, cli, b"#!/usr/bin/env node\n").chmod(0o755)
    _put(folder, OLD_PROGRAMS, f"{_PI}/package.json", json.dumps(_OLD_PI).encode())
    _link(folder, OLD_PROGRAMS, f"{programs}/pi", f"/{cli}")
    _put(folder, OLD_PROGRAMS, f"{programs}/node", b"#!/bin/sh\necho v20.9.0\n").chmod(0o755)
    _link(folder, OLD_PROGRAMS, f"{programs}/mempalace-pi-session", "/root/gone/pi-session")
    _link(folder, OLD_PROGRAMS, "usr/local/bin/uv", "/opt/gone/uv")


def _of_processes(folder: Path) -> None:
    child = "/opt/before/mempalace-mcp"
    starter = _WAIT.replace("sleep", f"{child} &\nsleep")
    _put(folder, OLD_PROCESS, "opt/before/pi", starter.encode()).chmod(0o755)
    _put(folder, OLD_PROCESS, child[1:], _WAIT.encode()).chmod(0o755)
    _put(folder, OLD_PROCESS, _START, _RUN.encode()).chmod(0o755)


def _link(folder: Path, fault: str, path: str, target: str) -> None:
    _made(folder, fault, path).symlink_to(target)


def _put(folder: Path, fault: str, path: str, content: bytes) -> Path:
    file = _made(folder, fault, path)
    file.write_bytes(content)
    file.chmod(0o644)
    return file


def _made(folder: Path, fault: str, path: str) -> Path:
    """Return a path of a fault's layer; its folders are as those of the good state."""
    file = folder / fault / path
    file.parent.mkdir(parents=True, exist_ok=True)
    for made in [*file.relative_to(folder / fault).parents][:-1]:
        like = folder / GOOD / made
        (folder / fault / made).chmod(like.stat().st_mode & 0o7777 if like.exists() else 0o755)
    return file
