"""Where the servers are declared, what leads around the gate, and what Claude Code starts."""

import json

import pytest
from support.facts import HOME, World, findings, target
from support.mcp_files import ADAPTER, AGENT, GENERIC, SETTINGS, declare, server, unreadable

from fleet.facts.jsonshape import json_shape
from fleet.facts.paths import State
from fleet.verifier.model import Finding, Verdict

MEMORY = "demarkus-memory"
PROGRAM = f"{HOME}/.demarkus/bin/demarkus-plugin"
SYSTEMS = "~/.demarkus/knowledge-systems"
INSTALLED = "~/.pi/agent/npm/node_modules/pi-mcp-adapter/package.json"
PI = json.dumps({"name": "@earendil-works/pi-coding-agent", "version": "1.6.0"}).encode()
CLOSED = {"scriptMode": False, "namespaceProxyTools": False}
CLAUDE, CLAUDE_SETTINGS = "~/.claude.json", "~/.claude/settings.json"


def world(*, adapter: bool = True, version: str = "2.36.0") -> World:
    made = World().launch(manifests={"pi": PI})
    if adapter:
        made.file(SETTINGS, ADAPTER).file(INSTALLED, json.dumps({"version": version}).encode())
    return made


def memory(**fields: object) -> dict[str, object]:
    return server(MEMORY, command=PROGRAM, args=["mcp-serve"], **fields)


def told(there: World, path: str, content: object) -> World:
    shape = json_shape(json.dumps(content).encode(), ("type", "url", "command"))
    there.file(path)
    update = {"shape": shape, "sha256": None}
    there.paths[path] = there.paths[path].model_copy(update=update)
    return there


def judged(gate: str, there: World, **variables: str) -> Finding:
    where = target("demarkus", require=["publish-gate"], **variables)
    return findings(where, there)[f"demarkus.{gate}"]


def test_the_adapter_reads_where_demarkus_declares_itself() -> None:
    gate = judged("declared", declare(world(), GENERIC, memory()))
    assert (gate.verdict, gate.required) == (Verdict.PASS, True)
    assert gate.evidence == (f"{MEMORY}: {GENERIC}",)


def test_pis_own_host_never_reads_that_file() -> None:
    gate = judged("declared", declare(world(adapter=False), GENERIC, memory()))
    assert gate.verdict is Verdict.FAIL
    assert gate.evidence == (
        f"server {MEMORY} in {GENERIC}: pi's own MCP host never reads that file",
    )
    there = declare(world(adapter=False), AGENT, memory())
    assert judged("declared", there).verdict is Verdict.PASS


def test_a_server_that_is_nowhere_or_turned_off_fails() -> None:
    gate = judged("declared", world())
    assert gate.evidence == (f"server {MEMORY} is declared in no file that its host reads",)
    off = judged("declared", declare(world(), GENERIC, memory(disabled=True)))
    assert off.evidence == (f"server {MEMORY} in {GENERIC} is turned off",)


def test_a_cache_of_tools_is_no_evidence() -> None:
    there = world().file("~/.pi/agent/mcp-cache.json", b'{"servers": {"demarkus-memory": {}}}')
    assert judged("declared", there).verdict is Verdict.FAIL


def test_files_that_were_not_read_are_not_judged() -> None:
    assert judged("declared", unreadable(world(), GENERIC)).verdict is Verdict.NOT_CHECKED
    assert judged("declared", declare(world(), AGENT, "{ broken")).verdict is Verdict.NOT_CHECKED


def test_every_knowledge_system_that_is_joined_is_declared() -> None:
    only = {"demarkus_memory": "", "demarkus_knowledge": "~/knowledge"}
    there = declare(world(), GENERIC, server("team", url="https://broker.example.net/mcp"))
    there.file(SYSTEMS, b"# joined\nteam\n")
    assert judged("declared", there, **only).verdict is Verdict.PASS
    there.file(SYSTEMS, b"team\norg\n")
    gate = judged("declared", there, **only)
    assert gate.evidence == ("server org is declared in no file that its host reads",)
    there.file(SYSTEMS, b"")
    assert "names none" in judged("declared", there, **only).evidence[0]
    there.broken(SYSTEMS, State.ABSENT)
    assert "no knowledge system is joined" in judged("declared", there, **only).evidence[0]
    there.file(SYSTEMS, b"team\n\x1b[31mscarlet\n")
    odd = judged("declared", there, **only)
    assert odd.verdict is Verdict.NOT_CHECKED
    assert "scarlet" not in str(odd)


@pytest.mark.parametrize(
    ("settings", "version", "verdict", "ways"),
    [
        (CLOSED, "2.36.0", Verdict.PASS, 2),
        ({}, "2.36.0", Verdict.FAIL, 2),
        ({"scriptMode": False}, "2.36.0", Verdict.FAIL, 1),
        ({"namespaceProxyTools": False}, "2.36.0", Verdict.FAIL, 1),
        ({"scriptMode": "false", "namespaceProxyTools": 0}, "2.36.0", Verdict.FAIL, 2),
        (CLOSED, "2.34.0", Verdict.FAIL, 1),
    ],
)
def test_ways_around_the_gate(
    settings: dict[str, object], version: str, verdict: Verdict, ways: int
) -> None:
    there = declare(world(version=version), AGENT, {"settings": settings})
    gate = judged("detours", there)
    assert (gate.verdict, gate.required, len(gate.evidence)) == (verdict, True, ways)


def test_ways_around_the_gate_that_are_not_there_or_not_seen() -> None:
    assert judged("detours", world(adapter=False)).verdict is Verdict.NOT_APPLICABLE
    assert judged("detours", unreadable(world(), AGENT)).verdict is Verdict.NOT_CHECKED
    assert judged("detours", unreadable(world(), SETTINGS)).verdict is Verdict.NOT_CHECKED


@pytest.mark.parametrize(
    ("command", "verdict"),
    [
        (PROGRAM, Verdict.PASS),
        ("${HOME}/.demarkus/bin/demarkus-plugin", Verdict.PASS),
        ("~/.demarkus/bin/demarkus-plugin", Verdict.PASS),
        ("/opt/demarkus/bin/demarkus-mcp", Verdict.FAIL),
    ],
)
def test_claude_code_starts_the_same_program(command: str, verdict: Verdict) -> None:
    there = declare(world(), GENERIC, memory())
    told(there, CLAUDE, {"mcpServers": {MEMORY: {"command": command}}})
    assert judged("shared", there).verdict is verdict


def test_a_token_of_its_own_is_told_and_not_shown() -> None:
    there = declare(world(), GENERIC, memory())
    env = {"DEMARKUS_TOKEN": "tok-EXAMPLE-1"}
    told(there, CLAUDE, {"mcpServers": {MEMORY: {"command": PROGRAM, "env": env}}})
    gate = judged("shared", there)
    assert gate.verdict is Verdict.FAIL
    assert gate.evidence == (f"{CLAUDE}: DEMARKUS_TOKEN is set for {MEMORY}",)
    assert "EXAMPLE" not in str(gate)


def test_claude_codes_plugin_uses_the_shared_program() -> None:
    plugins = {"enabledPlugins": {"demarkus-memory@demarkus": True, "other@x": True}}
    there = told(declare(world(), GENERIC, memory()), CLAUDE_SETTINGS, plugins)
    assert judged("shared", there).verdict is Verdict.PASS
    other = told(
        declare(world(), GENERIC, server(MEMORY, command="/opt/other")), CLAUDE_SETTINGS, plugins
    )
    assert judged("shared", other).verdict is Verdict.FAIL
    off = {"enabledPlugins": {"demarkus-memory@demarkus": False}}
    there = told(declare(world(), GENERIC, memory()), CLAUDE_SETTINGS, off)
    assert judged("shared", there).verdict is Verdict.NOT_APPLICABLE


def test_without_claude_code_nothing_is_shared() -> None:
    there = declare(world(), GENERIC, memory())
    assert judged("shared", there).verdict is Verdict.NOT_APPLICABLE
    assert judged("shared", unreadable(there, CLAUDE)).verdict is Verdict.NOT_CHECKED
