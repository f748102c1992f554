"""Who hosts demarkus' servers for pi."""

import json

import pytest
from support.facts import World, findings, target
from support.mcp_files import ADAPTER, AGENT, SETTINGS, declare, server, unreadable

from fleet.facts.paths import State
from fleet.verifier.model import Finding, Verdict

INSTALLED = "~/.pi/agent/npm/node_modules/pi-mcp-adapter/package.json"
RANGE = "^0.84.1 || ^0.85.0 || ^0.86.0"
OFF = b'{"extensions": ["-builtin:mcp"]}'


def pi(version: str) -> World:
    manifest = {"name": "@earendil-works/pi-coding-agent", "version": version}
    return World().launch(manifests={"pi": json.dumps(manifest).encode()})


def adapter(world: World) -> World:
    peers = {"@earendil-works/pi-ai": RANGE}
    raw = json.dumps({"version": "2.36.0", "peerDependencies": peers}).encode()
    return world.file(SETTINGS, ADAPTER).file(INSTALLED, raw)


def judged(world: World) -> Finding:
    return findings(target("demarkus"), world)["demarkus.host"]


def test_the_adapter_names_the_range_it_was_made_for() -> None:
    gate = judged(adapter(pi("1.6.0")))
    assert (gate.verdict, gate.required) == (Verdict.PASS, True)
    assert gate.evidence[-1] == f"it asks for pi {RANGE}, and this is 1.6.0: not enforced by pi"
    assert judged(adapter(pi("0.86.3"))).evidence == (f"pi-mcp-adapter 2.36.0: {INSTALLED}",)


def test_an_adapter_that_is_named_and_not_installed_fails() -> None:
    gate = judged(pi("1.6.0").file(SETTINGS, ADAPTER))
    assert gate.verdict is Verdict.FAIL
    assert "is not installed" in gate.message
    broken = pi("1.6.0").file(SETTINGS, ADAPTER).file(INSTALLED, b"{ cut")
    assert judged(broken).verdict is Verdict.NOT_CHECKED


@pytest.mark.parametrize(
    ("version", "verdict"),
    [("0.87.1", Verdict.FAIL), ("0.99.0", Verdict.PASS), ("1.6.0", Verdict.PASS)],
)
@pytest.mark.parametrize("declares", [True, False])
def test_pi_has_a_host_of_its_own_since_0_99(
    version: str, verdict: Verdict, declares: bool
) -> None:
    there = pi(version)
    if declares:
        declare(there, AGENT, server("demarkus-memory", command="demarkus-plugin"))
    assert judged(there).verdict is verdict


def test_no_host_at_all_fails() -> None:
    gate = judged(pi("1.6.0").file(SETTINGS, OFF))
    assert (gate.verdict, gate.severity.value) == (Verdict.FAIL, "critical")


def test_what_cannot_be_seen_is_not_checked() -> None:
    assert judged(World().launch()).verdict is Verdict.NOT_CHECKED
    assert judged(World().launch(state="timeout")).verdict is Verdict.NOT_CHECKED
    assert judged(unreadable(pi("1.6.0"), SETTINGS)).verdict is Verdict.NOT_CHECKED
    hidden = adapter(pi("1.6.0")).broken(INSTALLED, State.UNREADABLE, why="permission denied")
    assert judged(hidden).verdict is Verdict.NOT_CHECKED
    where = target("demarkus", launches=())
    found = findings(where, World())["demarkus.host"]
    assert found.verdict is Verdict.NOT_CHECKED
