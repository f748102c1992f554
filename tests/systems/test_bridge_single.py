"""One owner of the palace's tools: the bridge, the adapter's direct tools, or pi's own MCP."""

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from support.facts import BRIDGE, World, findings, target
from support.mcp_files import (
    ADAPTER,
    AGENT,
    GENERIC,
    PROJECT_PI,
    SETTINGS,
    declare,
    server,
    unreadable,
)
from support.tools import PiTool, pi_tool

from fleet.facts.paths import State
from fleet.verifier.model import Finding, Verdict

URL = "https://palace.example.net/mcp"
PATH = "~/.pi/agent/extensions/mempalace.ts"
TRUSTED = b'{"defaultProjectTrust": "always"}'
PI = b'{"name": "@earendil-works/pi-coding-agent", "version": "1.6.0"}'


def there(manifest: bytes = PI) -> World:
    world = World().file(PATH, BRIDGE).folder("~/.pi/agent/extensions", "mempalace.ts")
    return world.launch(manifests={"pi": manifest})


def judged(
    files: Mapping[str, object] | None = None,
    *,
    settings: bytes = b"",
    world: World | None = None,
) -> Finding:
    world = world or there()
    if settings:
        world.file(SETTINGS, settings)
    for path, content in (files or {}).items():
        declare(world, path, content)
    where = target("mempalace-bridge", project_dir="/work", palace_url=URL)
    return findings(where, world)["bridge.single"]


def test_the_bridge_alone_is_one_owner() -> None:
    gate = judged()
    assert (gate.verdict, gate.required) == (Verdict.PASS, True)
    assert gate.message == "the bridge is the only owner"


def test_bridge_and_adapter_with_direct_tools_stop_pi() -> None:
    gate = judged({AGENT: server(url=URL, directTools=True)}, settings=ADAPTER)
    assert gate.verdict is Verdict.FAIL
    assert gate.message == "2 owners: pi ends with a conflict of tools"
    assert gate.evidence[1] == (
        "pi-mcp-adapter, direct tools of server mempalace in ~/.pi/agent/mcp.json"
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (server("palace", url=URL, directTools=["mempalace_status"]), "every tool is there twice"),
        (server("local", command="/opt/bin/mempalace-mcp", directTools=True), "twice"),
        (server("my-mempalace", command="uvx", directTools="search"), "twice"),
        ({**server(url=URL), "settings": {"directTools": True}}, "conflict"),
    ],
)
def test_any_server_of_the_palace_with_direct_tools_is_an_owner(
    content: object, message: str
) -> None:
    gate = judged({GENERIC: content}, settings=ADAPTER)
    assert gate.verdict is Verdict.FAIL
    assert message in gate.message


@pytest.mark.parametrize(
    "content",
    [
        server(url=URL),
        server(url=URL, directTools=False),
        {**server(url=URL, directTools=False), "settings": {"directTools": True}},
        server(url=URL, directTools=True, disabled=True),
        server("weather", url="https://weather.example.net/mcp", directTools=True),
    ],
)
def test_what_declares_no_palace_tool_is_no_owner(content: object) -> None:
    assert judged({AGENT: content}, settings=ADAPTER).verdict is Verdict.PASS


def test_without_the_adapter_its_files_and_words_mean_nothing() -> None:
    assert judged({GENERIC: server(url=URL, exposure="direct")}).verdict is Verdict.PASS
    assert judged({AGENT: server(url=URL, directTools=True)}).verdict is Verdict.PASS


@pytest.mark.parametrize("path", [AGENT, PROJECT_PI])
def test_bridge_and_direct_exposure_are_twice_the_tools(path: str) -> None:
    gate = judged({path: server(url=URL, exposure="direct")}, settings=TRUSTED)
    assert (gate.verdict, gate.message) == (Verdict.FAIL, "2 owners: every tool is there twice")
    assert judged({path: server(url=URL)}, settings=TRUSTED).verdict is Verdict.PASS
    off = b'{"extensions": ["-builtin:mcp"]}'
    assert judged({path: server(url=URL, exposure="direct")}, settings=off).verdict is Verdict.PASS


def test_a_project_changes_the_exposure_of_a_users_server() -> None:
    files = {AGENT: server(url=URL), PROJECT_PI: server(exposure="direct")}
    assert judged(files, settings=TRUSTED).verdict is Verdict.FAIL
    assert judged(files, settings=b'{"defaultProjectTrust": "never"}').verdict is Verdict.PASS
    gate = judged(files)
    assert gate.verdict is Verdict.NOT_CHECKED
    assert "pi asks its user first" in gate.message
    files = {AGENT: server(url=URL, exposure="direct"), PROJECT_PI: server(enabled=False)}
    assert judged(files, settings=TRUSTED).verdict is Verdict.PASS


def test_a_pi_of_before_has_no_servers_of_its_own() -> None:
    old = there(b'{"version": "0.87.1"}')
    gate = judged({AGENT: server(url=URL, exposure="direct")}, world=old)
    assert gate.verdict is Verdict.PASS
    assert "only pi 0.99 and later reads it" in gate.evidence[0]


def test_what_cannot_be_seen_is_not_checked() -> None:
    unknown = there(b"{}")
    direct = {AGENT: server(url=URL, exposure="direct")}
    assert judged(direct, world=unknown).verdict is Verdict.NOT_CHECKED
    assert judged({AGENT: "{ broken"}).verdict is Verdict.NOT_CHECKED
    assert judged(world=unreadable(there(), AGENT)).verdict is Verdict.NOT_CHECKED
    assert judged(world=unreadable(there(), SETTINGS)).verdict is Verdict.NOT_CHECKED


def test_without_a_bridge_the_cause_is_told_elsewhere() -> None:
    gate = judged(world=World().broken(PATH, State.ABSENT).launch())
    assert gate.follows == "bridge.placed"


@pytest.mark.parametrize(
    ("settings", "loaded"),
    [
        ({"packages": ["npm:pi-mcp-adapter"]}, True),
        ({"packages": ["npm:pi-mcp-adapter@^2"]}, True),
        ({"packages": [{"source": "git:github.com/nicobailon/pi-mcp-adapter.git"}]}, True),
        ({"packages": ["../src/pi-mcp-adapter"]}, True),
        ({"extensions": ["~/src/pi-mcp-adapter/index.ts"]}, True),
        ({"extensions": ["-extensions/pi-mcp-adapter"]}, False),
        ({"packages": ["npm:pi-mcp-adapter-theme"]}, False),
        ({"packages": "npm:pi-mcp-adapter"}, False),
        ([], False),
    ],
)
def test_where_the_adapter_comes_from(settings: object, loaded: bool) -> None:
    raw = json.dumps(settings).encode()
    gate = judged({AGENT: server(url=URL, directTools=True)}, settings=raw)
    assert (gate.verdict is Verdict.FAIL) is loaded


def test_the_real_pi_ends_where_the_gate_fails(tmp_path: Path) -> None:
    """Two extensions that declare one tool: what the fatal case comes down to."""
    pi: PiTool = pi_tool()
    extensions = tmp_path / ".pi/agent/extensions"
    extensions.mkdir(parents=True)
    tool = (
        'export default function (pi) { pi.registerTool({ name: "mempalace_status", label: "x",'
        ' description: "x", parameters: { type: "object", properties: {} },'
        " execute: async () => ({ content: [] }) }); }\n"
    )
    for name in ("one.ts", "two.ts"):
        (extensions / name).write_text(tool)
    ended = subprocess.run(
        [pi.pi_cli, "--offline", "--no-session", "-p", "hi"],
        env={"HOME": str(tmp_path), "PATH": f"{pi.bin_dir}:{os.defpath}"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 1
    assert b"mempalace_status" in ended.stderr
