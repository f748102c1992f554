"""What a deep check may touch and tell, and the ways in which it cannot be made."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from support.deep import CANARY, Machine, carrying, told
from support.pi import BRIDGE
from support.tools import pi_tool

from fleet.demo.stage import snapshot
from fleet.facts.saved import file_name
from fleet.probes.deep.script import deep_script

pytestmark = pytest.mark.network

CASES = Path(__file__).parents[2] / "cases" / "deep"
SECRET = "sk-EXAMPLE-0123456789abcdefghij"
WRITTEN = "hidden-EXAMPLE-in-the-settings"


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files, where nothing may be left."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


@pytest.fixture
def machine(tmp_path: Path, scratch: Path) -> Machine:
    return Machine.healthy(tmp_path, pi_tool())


def program(folder: Path, name: str, content: bytes) -> None:
    """Place a program in a folder of the PATH."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(content)
    (folder / name).chmod(0o755)


def deep_verdicts(machine: Machine, *words: str) -> dict[str, object]:
    found = machine.audit(*words)
    return {gate: f["verdict"] for gate, f in found.items() if gate.startswith("deep.")}


def test_no_secret_leaves_no_file_stays_and_saved_facts_judge_alike(
    machine: Machine, scratch: Path, tmp_path: Path
) -> None:
    (machine.extensions / "noisy.ts").symlink_to(CASES / "noisy.ts")
    machine.exports["SOME_API_KEY"] = SECRET
    (machine.agent / "auth.json").write_text(json.dumps({"anthropic": CANARY}))
    (machine.agent / "settings.json").write_text(json.dumps({"theme": "dark", "apiKey": WRITTEN}))
    server = {"url": "https://mempalace.example.net", "headers": {"Authorization": CANARY}}
    (machine.agent / "mcp.json").write_text(json.dumps({"mcpServers": {"mempalace": server}}))
    machine.inventory()
    before = snapshot(machine.home)
    saved = tmp_path / "saved"
    code, _output = machine.run("facts", "--deep", "--timeout", "90", "-o", str(saved))
    assert code == 0
    text = (saved / file_name("laptop")).read_text()
    assert "noisy: " in text
    assert CANARY not in text
    assert SECRET not in text
    assert WRITTEN not in text
    assert snapshot(machine.home) == before
    assert list(scratch.iterdir()) == []
    assert carrying(str(tmp_path)) == []
    assert json.loads(text)["deep"]["escaped"] > 0
    verdicts = deep_verdicts(machine, "--from", str(saved))
    assert len(verdicts) == 8
    assert set(verdicts.values()) <= {"pass", "warn"}
    _code, shown = machine.run("audit", "-v", "--from", str(saved))
    assert "\x1b]0" not in shown


def test_an_extension_that_the_settings_name_is_found_in_the_copy(machine: Machine) -> None:
    (machine.extensions / BRIDGE.name).unlink()
    file = machine.home / "elsewhere" / BRIDGE.name
    file.parent.mkdir()
    file.symlink_to(BRIDGE)
    settings = {"extensions": [f"../../elsewhere/{BRIDGE.name}"]}
    (machine.agent / "settings.json").write_text(json.dumps(settings))
    verdicts = deep_verdicts(machine, "--deep", "--timeout", "90")
    assert set(verdicts.values()) == {"pass"}


def test_a_solitary_palace_is_tried_over_stdio_and_never_started(machine: Machine) -> None:
    for name in ("MEMPALACE_REMOTE_URL", "MEMPALACE_REMOTE_TOKEN", "MEMPALACE_PI_DEVICE"):
        del machine.exports[name]
    started = machine.home / "started"
    program(machine.bin, "mempalace-mcp", f"#!/bin/sh\n: >'{started}'\n".encode())
    found = machine.deep()
    assert found["deep.tools"]["verdict"] == "pass"
    assert found["deep.wakeup"]["verdict"] == "pass"
    assert found["deep.feed"]["verdict"] == "pass"
    assert "/export" in told(found["deep.feed"])
    assert "pi@fleet-deep (a name for this check)" in told(found["deep.stamp"])
    assert not started.exists()


def test_a_solitary_palace_whose_program_is_missing(machine: Machine) -> None:
    for name in ("MEMPALACE_REMOTE_URL", "MEMPALACE_REMOTE_TOKEN", "MEMPALACE_PI_DEVICE"):
        del machine.exports[name]
    found = machine.deep()
    assert found["deep.tools"]["verdict"] == "fail"
    assert "mempalace-mcp is not on the PATH" in told(found["deep.tools"])


@pytest.mark.parametrize(
    ("programs", "why"),
    [
        ({"pi": b"#!/bin/sh\n"}, "there is no node on the PATH"),
        ({"node": b"#!/bin/sh\necho v20.11.1\nexit 9\n"}, "node v20.11.1 is older than 22.19"),
        ({"node": b"", "pi": b"\x7fELF\x02\x01"}, "is one compiled program"),
        ({"node": b""}, "there is no pi on the PATH"),
    ],
)
def test_what_cannot_be_run_is_not_checked_and_says_why(
    machine: Machine, programs: dict[str, bytes], why: str
) -> None:
    folder = machine.home / "programs"
    for name, content in programs.items():
        program(folder, name, content)
        if not content:
            (folder / name).unlink()
            (folder / name).symlink_to(machine.tool.node.resolve())
    tools = machine.home / "tools"
    tools.mkdir()
    for name in ("cat", "sh", "env"):
        (tools / name).symlink_to(f"/bin/{name}" if name != "env" else "/usr/bin/env")
    machine.search = [folder, tools]
    machine.only = True
    found = machine.deep()
    assert {found[f"deep.{n}"]["verdict"] for n in ("loaded", "tools", "feed")} == {"not-checked"}
    assert why in told(found["deep.loaded"])


def test_too_little_time_is_told_and_nothing_is_started(machine: Machine) -> None:
    found = machine.deep("--timeout", "9")
    assert found["deep.loaded"]["verdict"] == "not-checked"
    assert "--timeout of 11 s or more" in told(found["deep.loaded"])


def test_nothing_stays_when_the_check_is_cut_off(machine: Machine, scratch: Path) -> None:
    (machine.extensions / "noisy.ts").symlink_to(CASES / "noisy.ts")
    machine.inventory()
    script = deep_script(
        nonce="cafe", seconds=40, launch="bash -lc", agent_dir="~/.pi/agent", assume=False
    )
    shell = subprocess.Popen(
        ["sh"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={"HOME": str(machine.home), "PATH": "/usr/bin:/bin", "TMPDIR": str(scratch)},
        start_new_session=True,
    )
    assert shell.stdin
    shell.stdin.write(script.encode())
    shell.stdin.close()
    until = time.monotonic() + 30
    while not list(scratch.glob("*/runs/healthy/spy")) and time.monotonic() < until:
        time.sleep(0.05)
    assert list(scratch.glob("*/runs/healthy/spy")), "pi was never started"
    os.killpg(shell.pid, signal.SIGKILL)
    shell.wait()
    until = time.monotonic() + 15
    while (list(scratch.iterdir()) or carrying(str(scratch))) and time.monotonic() < until:
        time.sleep(0.1)
    assert list(scratch.iterdir()) == []
    assert carrying(str(scratch)) == []
