"""Who owns the servers of a session: the adapter, pi's own host, or nobody."""

import json

import pytest
from support.facts import World, findings, target
from support.mcp_files import ADAPTER, AGENT, GENERIC, SETTINGS, declare, server, unreadable

from fleet.verifier.model import Finding, Verdict

URL = "https://palace.example.net/mcp"
MANIFEST = "~/.pi/agent/npm/node_modules/pi-mcp-adapter/package.json"
PEERS = {"@earendil-works/pi-ai": "^0.84.1 || ^0.85.0 || ^0.86.0"}
PACKAGE = json.dumps({"version": "2.36.0", "peerDependencies": PEERS}).encode()


def pi(*versions: str) -> World:
    """Launches that start these releases of pi."""
    world = World()
    for number, version in enumerate(versions):
        world.launch(f"sh{number} -c", manifests={"pi": json.dumps({"version": version}).encode()})
    return world


def judged(world: World, path: str | None = AGENT) -> Finding:
    if path:
        declare(world, path, server(url=URL))
    launches = list(world.launches)
    return findings(target("pi-mcp", launches=launches, palace_url=URL), world)["mcp.host"]


def installed(world: World, settings: bytes = ADAPTER) -> World:
    return world.file(SETTINGS, settings).file(MANIFEST, PACKAGE)


def test_the_adapter_replaces_pis_own_host() -> None:
    gate = judged(installed(pi("1.6.0")))
    assert (gate.verdict, gate.required) == (Verdict.PASS, True)
    assert gate.message == "pi-mcp-adapter 2.36.0 owns the servers"
    assert any("`pi mcp list` shows pi's own host all the same" in e for e in gate.evidence)


@pytest.mark.parametrize(
    ("version", "named"),
    [("0.84.0", True), ("0.84.1", False), ("0.86.3", False), ("0.87.1", True), ("1.6.0", True)],
)
def test_a_range_that_leaves_this_pi_out_is_named(version: str, named: bool) -> None:
    gate = judged(installed(pi(version)))
    assert gate.verdict is Verdict.PASS
    told = f"it asks for pi {PEERS['@earendil-works/pi-ai']}, and this is {version}"
    assert any(line.startswith(told) for line in gate.evidence) is named


def test_an_adapter_that_is_named_and_not_installed() -> None:
    gate = judged(pi("1.6.0").file(SETTINGS, ADAPTER))
    assert gate.verdict is Verdict.FAIL
    assert gate.message == "npm:pi-mcp-adapter@2.36.0 is in pi's settings, and is not installed"
    elsewhere = json.dumps({"packages": ["~/src/pi-mcp-adapter"]}).encode()
    assert judged(pi("1.6.0").file(SETTINGS, elsewhere)).verdict is Verdict.PASS


def test_pi_has_a_host_of_its_own_from_0_99_on() -> None:
    gate = judged(pi("0.99.0", "1.6.0"))
    assert gate.verdict is Verdict.PASS
    assert gate.message == "pi's own MCP host owns the servers (pi 0.99.0)"
    gate = judged(pi("1.6.0", "0.87.1"))
    assert gate.verdict is Verdict.FAIL
    assert gate.message == "pi 0.87.1 has no MCP host, and pi-mcp-adapter is not there"
    assert gate.evidence == (f"server mempalace in {AGENT}",)


def test_a_launch_that_was_not_seen_may_start_a_pi_without_a_host() -> None:
    gate = judged(pi("1.6.0").launch("zsh -ic", state="timeout"))
    assert gate.verdict is Verdict.NOT_CHECKED
    assert gate.message.startswith("not every pi that is launched was seen: zsh -ic: ")
    gate = judged(pi("0.87.1").launch("zsh -ic", state="timeout"))
    assert gate.verdict is Verdict.FAIL


def test_a_host_that_is_turned_off_is_nobody() -> None:
    off = b'{"extensions": ["-builtin:mcp"]}'
    gate = judged(pi("1.6.0").file(SETTINGS, off))
    assert gate.verdict is Verdict.FAIL
    assert gate.message == "pi's own MCP host is turned off, and nothing replaces it"
    both = json.dumps({"extensions": ["-builtin:mcp"], "packages": ["npm:pi-mcp-adapter"]})
    assert judged(installed(pi("1.6.0"), both.encode())).verdict is Verdict.PASS


def test_without_servers_nobody_has_to_own_them() -> None:
    assert judged(pi("0.87.1"), None).verdict is Verdict.NOT_APPLICABLE
    assert judged(pi("0.87.1"), GENERIC).verdict is Verdict.FAIL


def test_what_cannot_be_seen_is_not_checked() -> None:
    assert judged(World().launch()).verdict is Verdict.NOT_CHECKED
    assert judged(unreadable(pi("1.6.0"), SETTINGS)).verdict is Verdict.NOT_CHECKED
    broken = pi("1.6.0").file(SETTINGS, ADAPTER).file(MANIFEST, b"{")
    assert judged(broken).verdict is Verdict.NOT_CHECKED
