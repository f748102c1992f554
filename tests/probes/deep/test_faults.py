"""Planted faults: what a marker cannot see, each named by the gate whose business it is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.deep import Finding, Machine, carrying, told
from support.pi import BRIDGE, HELPER
from support.tools import mcp_adapter, pi_tool

pytestmark = pytest.mark.network

CASES = Path(__file__).parents[2] / "cases" / "deep"
SHIPPED = BRIDGE.read_text()


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    scratch = tmp_path / "tmp"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    return Machine.healthy(tmp_path, pi_tool())


def changed(old: str, new: str) -> str:
    """Return the shipped bridge with a fault in it."""
    assert old in SHIPPED
    return SHIPPED.replace(old, new)


def test_a_marker_in_a_comment_only(machine: Machine) -> None:
    unfed = changed("MEMPALACE_FEED", "SOMETHING_ELSE").replace("feeder.settled();", "")
    unfed = unfed.replace("await feeder.finish(", "void (")
    machine.bridge(f"// MEMPALACE_FEED=0 turns feeding off\n{unfed}")
    found = machine.deep()
    assert found["bridge.feed"]["verdict"] == "fail"
    assert found["deep.feed"]["verdict"] == "fail"
    assert found["deep.feed"]["message"] == "does not feed transcripts"


def test_a_marker_that_says_yes_where_behaviour_says_no(machine: Machine) -> None:
    unfed = changed("feeder.settled();", "").replace("await feeder.finish(", "void (")
    machine.bridge(unfed)
    found = machine.audit("--deep", "--timeout", "90", require=("feed",))
    assert found["bridge.feed"]["verdict"] == "pass"
    assert found["deep.feed"]["verdict"] == "fail"
    assert found["deep.feed"]["required"] is True
    assert found["deep.feed"]["message"] == (
        "its code says it can feed transcripts, and it does not"
    )


@pytest.fixture(scope="module")
def thrice(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Finding]:
    """A machine with three faults at once: no gate may tell another's."""
    machine = Machine.healthy(tmp_path_factory.mktemp("thrice"), pi_tool())
    machine.bridge(changed('pi.on("agent_settled"', 'pi.on("agent_setled"'))
    del machine.exports["MEMPALACE_PI_DEVICE"]
    (machine.bin / HELPER.name).unlink()
    return machine.deep()


def test_a_handler_of_a_misspelt_event(thrice: dict[str, Finding]) -> None:
    assert thrice["deep.events"]["verdict"] == "fail"
    assert "never fires agent_setled; is agent_settled meant?" in told(thrice["deep.events"])
    assert thrice["bridge.events"]["verdict"] == "pass"


def test_stamp_code_with_one_gate_unset(thrice: dict[str, Finding]) -> None:
    assert thrice["bridge.stamp"]["verdict"] == "pass"
    assert thrice["bridge.identity"]["verdict"] == "fail"
    assert thrice["deep.stamp"]["verdict"] == "fail"
    assert "MEMPALACE_PI_DEVICE is not set" in told(thrice["deep.stamp"])
    assert "a drawer was written by nobody" in told(thrice["deep.stamp"])


def test_a_feed_helper_that_is_missing(thrice: dict[str, Finding]) -> None:
    assert thrice["deep.feed"]["verdict"] == "fail"
    assert "mempalace-pi-session is not on the PATH" in told(thrice["deep.feed"])


def test_what_three_faults_leave_alone(thrice: dict[str, Finding]) -> None:
    for gate in ("deep.loaded", "deep.tools", "deep.wakeup", "deep.closed"):
        assert thrice[gate]["verdict"] == "pass", thrice[gate]


def test_a_device_without_a_shared_palace(machine: Machine) -> None:
    del machine.exports["MEMPALACE_REMOTE_URL"]
    (machine.bin / "mempalace-mcp").write_text("#!/bin/sh\nexit 1\n")
    (machine.bin / "mempalace-mcp").chmod(0o755)
    found = machine.deep()
    assert "MEMPALACE_REMOTE_URL is not set" in told(found["deep.stamp"])
    assert found["deep.stamp"]["verdict"] == "fail"
    assert found["deep.tools"]["verdict"] == "pass"


@pytest.fixture(scope="module")
def older(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Finding]:
    """An older bridge, which asks for its wake-up in a way that no palace knows."""
    eager = (CASES / "eager.ts").read_text()
    call = '{ name: "mempalace_status", arguments: {} }'
    assert call in eager
    machine = Machine.healthy(tmp_path_factory.mktemp("older"), pi_tool())
    machine.bridge(eager.replace(call, '{ name: "mempalace_stats", arguments: {} }'))
    return machine.deep()


def test_a_wake_up_that_carries_an_error(older: dict[str, Finding]) -> None:
    assert older["deep.wakeup"]["verdict"] == "fail"
    assert older["deep.wakeup"]["message"] == "the wake-up carries an error"
    assert "Unknown tool: mempalace_stats" in told(older["deep.wakeup"])


def test_an_older_bridge_is_told_by_what_it_cannot_do(older: dict[str, Finding]) -> None:
    verdicts = {gate: older[gate]["verdict"] for gate in older if gate.startswith("deep.")}
    assert verdicts == {
        "deep.loaded": "pass",
        "deep.tools": "pass",
        "deep.events": "fail",
        "deep.wakeup": "fail",
        "deep.feed": "fail",
        "deep.stamp": "fail",
        "deep.mailbox": "fail",
        "deep.closed": "fail",
    }
    assert "its code says" not in told(older["deep.stamp"])
    assert "a palace that is not there: pi ended with status 1" in told(older["deep.closed"])
    assert "a palace that never answers: pi hung" in told(older["deep.closed"])


def test_tools_that_conflict_with_an_adapter(machine: Machine) -> None:
    machine.bridge((CASES / "eager.ts").read_text())
    (machine.extensions / "zz-adapter.ts").symlink_to(CASES / "adapter.ts")
    found = machine.deep()
    assert found["deep.loaded"]["verdict"] == "fail"
    assert "its tools conflict" in told(found["deep.loaded"])
    assert "zz-adapter.ts" in told(found["deep.loaded"])
    assert found["deep.tools"]["follows"] == "deep.loaded"


def test_tools_that_the_real_adapter_registers_from_its_second_session_on(machine: Machine) -> None:
    """It learns the tools in the first session, and then registers them while pi loads it."""
    machine.bridge((CASES / "eager.ts").read_text())
    (machine.agent / "npm").symlink_to(mcp_adapter())
    settings = {"packages": ["npm:pi-mcp-adapter"]}
    (machine.agent / "settings.json").write_text(json.dumps(settings))
    server = {"url": machine.url, "lifecycle": "eager", "directTools": True}
    (machine.agent / "mcp.json").write_text(json.dumps({"mcpServers": {"mempalace": server}}))
    found = machine.deep()
    assert found["deep.loaded"]["verdict"] == "fail"
    assert found["deep.loaded"]["message"] == "pi starts once, and not a second time"
    assert "its tools conflict" in told(found["deep.loaded"])


def test_the_shipped_bridge_bears_an_adapter_and_says_so(machine: Machine) -> None:
    (machine.extensions / "zz-adapter.ts").symlink_to(CASES / "adapter.ts")
    found = machine.deep()
    assert found["deep.loaded"]["verdict"] == "pass"
    assert found["deep.tools"]["verdict"] == "warn"
    assert "zz-adapter.ts" in told(found["deep.tools"])


def test_a_dangling_link(machine: Machine) -> None:
    link = machine.extensions / BRIDGE.name
    link.unlink()
    link.symlink_to(machine.home / "gone" / BRIDGE.name)
    found = machine.deep()
    assert found["bridge.placed"]["verdict"] == "fail"
    assert found["deep.loaded"]["verdict"] == "fail"
    assert found["deep.loaded"]["message"] == "pi runs without the bridge"
    assert "dangling" in told(found["deep.loaded"])


def test_an_extension_that_hangs_at_load(machine: Machine, tmp_path: Path) -> None:
    (machine.extensions / "aa-hangs.ts").symlink_to(CASES / "hangs.ts")
    found = machine.deep()
    assert found["deep.loaded"]["verdict"] == "fail"
    assert found["deep.loaded"]["message"] == "pi hangs with these extensions"
    assert list((tmp_path / "tmp").iterdir()) == []
    assert carrying(str(tmp_path)) == []
