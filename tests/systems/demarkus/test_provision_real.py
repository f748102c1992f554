"""A machine that is provisioned by one command: what pi then loads, and what it holds back."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.demarkus import (
    MEMORY,
    SHARED_DECISION,
    UNWRAPS,
    manifest,
    sources,
    write_package,
    write_program,
    write_state,
)
from support.http import FakeModel, Json, ToolCall, Turn
from support.npm_registry import NpmRegistry
from support.pi import PiHome, declared_tools, said_to_model
from support.tools import mcp_adapter, npm_bin, pi_tool

from fleet.cli.main import cli

pytestmark = [pytest.mark.network, pytest.mark.timeout(600)]

MCP = ".config/mcp/mcp.json"
BAD: Json = {"url": "/plan.md"}
GOOD: Json = {"url": "/plan.md", "metadata": {"tags": "plan"}}
CONNECT = ToolCall("mcp", {"connect": "demarkus-memory"})
PROXY = ToolCall("mcp", {"tool": "demarkus_memory_mark_publish", "args": json.dumps(BAD)})
FINE = ToolCall("mcp", {"tool": "demarkus_memory_mark_publish", "args": json.dumps(GOOD)})
NAMESPACE = ToolCall("mcp__demarkus_memory", {"tool": "mark_publish", "args": BAD})
CODE = f"emit(await tools.call('demarkus_memory_mark_publish', {json.dumps(BAD)}))"
SCRIPT = ToolCall("mcpScript", {"code": CODE})


@dataclass
class Machine:
    """A home on this machine with the real pi on the PATH of its login shell."""

    home: Path
    pi: PiHome

    @classmethod
    def bare(cls, folder: Path) -> Machine:
        home = folder / "home"
        made = cls(home, PiHome(home, pi_tool()))
        made.pi.agent.mkdir(parents=True)
        search = f"{made.pi.tool.bin_dir}:{npm_bin()}:/usr/bin:/bin"
        (home / ".bash_profile").write_text(f"export PATH='{search}'\n")
        return made

    def fleet(self, *words: str, **variables: object) -> tuple[int, str]:
        inventory = self.home.parent / "fleet.yml"
        vars_ = {"demarkus_strictness": "block", **variables}
        text = {
            "hosts": {
                "here": {
                    "local": str(self.home),
                    "shell": "bash -lc",
                    "systems": ["env", "demarkus"],
                    "require": ["publish-gate"],
                    "vars": vars_,
                }
            }
        }
        inventory.write_text(json.dumps(text))
        result = CliRunner().invoke(cli, [*words, "-i", str(inventory)])
        assert not result.exception or isinstance(result.exception, SystemExit), result.exception
        assert "tok-EXAMPLE-demarkus" not in result.output
        return result.exit_code, result.output

    def verdicts(self, **variables: object) -> dict[str, str]:
        _code, output = self.fleet("audit", "--format", "json", **variables)
        return {f["gate"]: f["verdict"] for f in json.loads(output)["findings"]}

    def ask(self, *calls: ToolCall) -> tuple[set[str], str]:
        """Let the model make calls; returns the tools it was given, and what it was told."""
        turns: list[Turn] = [[call] for call in calls]
        with FakeModel(turns) as model:
            ended = self.pi.run(model, "publish it")
            assert ended.returncode == 0, ended.stderr
            bodies = model.bodies
        return set(declared_tools(bodies[-1])), said_to_model(bodies[-1])

    def published(self) -> list[Json]:
        path = self.home / ".demarkus/published"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def test_a_folder_the_adapter_and_no_way_around(tmp_path: Path) -> None:
    """From a checkout on the machine, to a gate that nothing passes by."""
    machine = Machine.bare(tmp_path)
    (machine.pi.agent / "npm").symlink_to(mcp_adapter())
    machine.pi.configure("settings.json", {"packages": ["npm:pi-mcp-adapter"]})
    folder = write_package(tmp_path / "src/pi-memory", files=sources(UNWRAPS, SHARED_DECISION))
    ledger = machine.home / ".local/state/fleet/ledger.json"
    said = {"demarkus_memory": str(folder)}
    open_ = {**said, "demarkus_close_detours": False}
    closed = {**said, "demarkus_close_detours": True}
    code, output = machine.fleet("plan", **open_)
    assert code == 2, output
    machine.fleet("provision", "--yes", **open_)
    verdicts = machine.verdicts(**open_)
    assert verdicts["demarkus.placed"] == verdicts["demarkus.declared"] == "pass"
    assert (verdicts["demarkus.program"], verdicts["demarkus.state"]) == ("fail", "fail")

    write_program(machine.home)
    write_state(machine.home)
    verdicts = machine.verdicts(**open_)
    assert verdicts["demarkus.program"] == verdicts["demarkus.state"] == "pass"
    failing = {gate for gate, verdict in verdicts.items() if verdict == "fail"}
    assert failing == {"demarkus.detours"}, verdicts
    tools, told = machine.ask(CONNECT, PROXY, FINE)
    assert machine.published() == [GOOD], told
    assert {"mcpScript", "mcp__demarkus_memory"} <= tools
    machine.ask(CONNECT, SCRIPT, NAMESPACE)
    assert machine.published() == [GOOD, BAD, BAD]

    machine.fleet("provision", "--yes", **closed)
    code, output = machine.fleet("audit", **closed)
    assert code == 0, output
    assert machine.verdicts(**closed)["demarkus.detours"] == "pass"
    tools, told = machine.ask(CONNECT, SCRIPT, NAMESPACE, PROXY)
    assert tools & {"mcp", "mcpScript", "mcp__demarkus_memory"} == {"mcp"}
    assert machine.published() == [GOOD, BAD, BAD], told
    assert machine.fleet("plan", **closed)[0] == 0

    code, output = machine.fleet("uninstall", "--yes", **closed)
    assert code == 0, output
    agent = machine.pi.agent
    links = (agent / "extensions/demarkus-pi-memory", agent / "skills/memory")
    assert not any(os.path.lexists(path) for path in (*links, machine.home / MCP, ledger))
    assert (folder / "src/index.ts").exists()


def test_a_package_of_npm_and_pis_own_host(tmp_path: Path) -> None:
    machine = Machine.bare(tmp_path)
    skill = "---\nname: memory\ndescription: What is kept, and where.\n---\nKeep it.\n"
    files = {f"src/{n}": text for n, text in sources(UNWRAPS, SHARED_DECISION).items()}
    files |= {"skills/memory/SKILL.md": skill, "package.json": json.dumps(manifest())}
    said = {
        "demarkus_memory": f"npm:{MEMORY}",
        "demarkus_memory_version": "0.13.83",
        "demarkus_mcp_file": "~/.pi/agent/mcp.json",
    }
    with NpmRegistry({MEMORY: {"0.13.83": files}}) as registry:
        registry.configure(machine.home)
        code, output = machine.fleet("provision", "--yes", **said)
        assert "demarkus-pi-memory 0.13.83 with pi" in output, (code, output)
    write_program(machine.home)
    write_state(machine.home)
    code, output = machine.fleet("audit", **said)
    assert code == 0, output
    call = f"return await tools.mcp__demarkus_memory__mark_publish({json.dumps(BAD)})"
    _tools, told = machine.ask(ToolCall("codemode", {"code": call}))
    assert "it has no tags" in told
    assert machine.published() == []
    machine.fleet("uninstall", "--yes", **said)
    assert not (machine.pi.agent / "npm/node_modules" / MEMORY).exists()
    assert not os.path.lexists(machine.pi.agent / "mcp.json")


def test_a_checkout_that_pi_makes_and_pis_own_host(tmp_path: Path) -> None:
    machine = Machine.bare(tmp_path)
    repository = write_package(tmp_path / f"{MEMORY}.git", files=sources(UNWRAPS, SHARED_DECISION))
    for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "one"), ("tag", "v0.13.83")):
        named = ("-c", "user.name=t", "-c", "user.email=t@example.net")
        subprocess.run(["git", *named, *words], cwd=repository, check=True)
    (machine.home / ".gitconfig").write_text(
        f'[url "file://{tmp_path}/"]\n\tinsteadOf = https://github.com/latebit-io/\n'
    )
    said = {"demarkus_memory_version": "v0.13.83", "demarkus_mcp_file": "~/.pi/agent/mcp.json"}
    code, output = machine.fleet("provision", "--yes", **said)
    assert "changes made" in output, (code, output)
    write_program(machine.home)
    write_state(machine.home)
    code, output = machine.fleet("audit", **said)
    assert code == 0, output
    checkout = machine.pi.agent / "git/github.com/latebit-io" / MEMORY
    assert (checkout / "src/index.ts").exists()
    call = f"return await tools.mcp__demarkus_memory__mark_publish({json.dumps(BAD)})"
    _tools, told = machine.ask(ToolCall("codemode", {"code": call}))
    assert "it has no tags" in told
    assert machine.published() == []
    assert machine.fleet("plan", **said)[0] == 0
    machine.fleet("uninstall", "--yes", **said)
    assert not checkout.exists()
