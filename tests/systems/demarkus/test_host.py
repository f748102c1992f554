"""Who hosts demarkus' servers for pi."""

import json

import pytest
from support.facts import World, findings, target
from support.mcp_files import ADAPTER, SETTINGS, unreadable

from fleet.facts.model import State
from fleet.verifier.model import Finding, Verdict

INSTALLED = "~/.pi/agent/npm/node_modules/pi-mcp-adapter/package.json"
RANGE = "^0.84.1 || ^0.85.0 || ^0.86.0"
OFF = b'{"extensions": ["-builtin:mcp"]}'


def pi(version: str) -> World:
    manifest = {"name": "@earendil-works/pi-coding-agent", "version": version}
    return World().launch(manifests={"pi": json.dumps(manifest).encode()})


def adapter(world: World, peers: object = None) -> World:
    peers = {"@earendil-works/pi-ai": RANGE} if peers is None else peers
    raw = json.dumps({"version": "2.36.0", "peerDependencies": peers}).encode()
    return world.file(SETTINGS, ADAPTER).file(INSTALLED, raw)


def judged(world: World) -> Finding:
    return findings(target("demarkus"), world)["demarkus.host"]


def test_the_adapter_names_the_range_it_was_made_for() -> None:
    gate = judged(adapter(pi("0.86.3")))
    assert (gate.verdict, gate.required) == (Verdict.PASS, True)
    assert gate.evidence == (f"pi-mcp-adapter 2.36.0 asks for @earendil-works/pi-ai {RANGE}",)


@pytest.mark.parametrize("version", ["0.84.0", "0.87.1", "1.6.0"])
def test_a_pi_out_of_that_range_is_a_warning(version: str) -> None:
    gate = judged(adapter(pi(version)))
    assert gate.verdict is Verdict.WARN
    assert gate.evidence[1] == f"bash -lc: pi {version}"


@pytest.mark.parametrize("peers", [{}, [], {"@earendil-works/pi-ai": "latest"}])
def test_a_range_that_says_nothing_excludes_nothing(peers: object) -> None:
    assert judged(adapter(pi("1.6.0"), peers)).verdict is Verdict.PASS


def test_an_adapter_that_is_named_and_not_installed_fails() -> None:
    gate = judged(pi("1.6.0").file(SETTINGS, ADAPTER))
    assert gate.verdict is Verdict.FAIL
    assert "is not installed" in gate.message
    broken = pi("1.6.0").file(SETTINGS, ADAPTER).file(INSTALLED, b"{ cut")
    assert judged(broken).verdict is Verdict.NOT_CHECKED
    elsewhere = pi("1.6.0").file(SETTINGS, b'{"packages": ["~/src/pi-mcp-adapter"]}')
    assert judged(elsewhere).verdict is Verdict.PASS


@pytest.mark.parametrize(
    ("version", "verdict"),
    [("0.87.1", Verdict.FAIL), ("0.99.0", Verdict.PASS), ("1.6.0", Verdict.PASS)],
)
def test_pi_has_a_host_of_its_own_since_0_99(version: str, verdict: Verdict) -> None:
    assert judged(pi(version)).verdict is verdict


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
