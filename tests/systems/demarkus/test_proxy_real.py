"""What a publish gate sees of a write, by the real pi with the real adapter."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.demarkus import (
    BLIND,
    OWN_DECISION,
    SHARED_DECISION,
    UNWRAPS,
    sources,
    write_package,
    write_program,
)
from support.http import FakeModel, Json, RecordingMcpServer, ToolCall, Turn
from support.living import Living
from support.pi import PiHome, said_to_model
from support.probing import shells
from support.tools import mcp_adapter, pi_tool

from fleet.verifier.model import Verdict

pytestmark = [pytest.mark.network, pytest.mark.timeout(300)]

SERVER = "demarkus-memory"
TOOL = "demarkus_memory_mark_publish"
PUBLISH: Json = {
    "name": "mark_publish",
    "description": "Publish a document.",
    "inputSchema": {
        "type": "object",
        "properties": {"url": {"type": "string"}, "metadata": {"type": "object"}},
        "required": ["url"],
    },
}
BAD: Json = {"url": "/plan.md"}
GOOD: Json = {"url": "/plan.md", "metadata": {"tags": "plan"}}


@dataclass
class Agent:
    """A home with a real pi, the package, and a server to publish to."""

    home: Path
    pi: PiHome

    @classmethod
    def of(cls, home: Path, files: dict[str, str], *, version: str, adapter: bool) -> Agent:
        made = cls(home, PiHome(home, pi_tool(version)))
        package = write_package(home / "demarkus-pi-memory", files=files)
        packages = [str(package)]
        made.pi.agent.mkdir(parents=True)
        if adapter:
            (made.pi.agent / "npm").symlink_to(mcp_adapter())
            packages.append("npm:pi-mcp-adapter")
        made.pi.configure("settings.json", {"packages": packages})
        return made

    def publish(self, *calls: ToolCall, **fields: object) -> tuple[list[Json], str]:
        """Let the model make calls; returns what reached the server, and what pi said of them."""
        turns: list[Turn] = [[call] for call in calls]
        settings = fields.pop("settings", {})
        with RecordingMcpServer([PUBLISH]) as server, FakeModel(turns) as model:
            entry = {"url": f"{server.url}/mcp", "lifecycle": "eager", **fields}
            self.pi.configure("mcp.json", {"mcpServers": {SERVER: entry}, "settings": settings})
            ended = self.pi.run(model, "publish it")
            assert ended.returncode == 0, ended.stderr
            return [arguments for _name, arguments in server.calls], said_to_model(model.bodies[-1])

    def gate(self, name: str, **variables: str) -> Verdict:
        """Return what an audit of this home says."""
        (self.home / "tools").mkdir(exist_ok=True)
        machine = Living(self.home, shells(self.home / "tools")["dash"], ("demarkus",))
        machine.path(self.pi.tool.bin_dir, "/usr/bin", "/bin")
        where = machine.declared(demarkus_memory=str(self.home / "demarkus-pi-memory"), **variables)
        return machine.findings(where)[name].verdict


def through_proxy(arguments: Json) -> ToolCall:
    return ToolCall("mcp", {"tool": TOOL, "args": json.dumps(arguments)})


SCRIPT = f"return await tools.mcp__demarkus_memory__mark_publish({json.dumps(BAD)})"


@pytest.mark.parametrize("version", ["0.84.0", "1.6.0"])
@pytest.mark.parametrize("unwraps", [True, False])
def test_the_gate_that_passes_is_the_one_that_holds_back_a_write(
    tmp_path: Path, version: str, unwraps: bool
) -> None:
    """Both gates hold back the same write that comes by its own name; only one this one."""
    files = sources(UNWRAPS if unwraps else BLIND, OWN_DECISION)
    agent = Agent.of(tmp_path, files, version=version, adapter=True)
    reached, said = agent.publish(through_proxy(BAD), through_proxy(GOOD))
    assert reached == ([GOOD] if unwraps else [BAD, GOOD])
    assert ("it has no tags" in said) is unwraps
    assert agent.gate("demarkus.proxy") is (Verdict.PASS if unwraps else Verdict.FAIL)


@pytest.mark.parametrize(
    ("call", "fields"),
    [
        (ToolCall("mcp__demarkus_memory__mark_publish", BAD), {"exposure": "direct"}),
        (ToolCall("codemode", {"code": SCRIPT}), {}),
    ],
    ids=["direct", "codemode"],
)
def test_pis_own_host_calls_each_tool_by_its_name(
    tmp_path: Path, call: ToolCall, fields: dict[str, object]
) -> None:
    agent = Agent.of(tmp_path, sources(BLIND), version="1.6.0", adapter=False)
    reached, said = agent.publish(call, **fields)
    assert reached == []
    assert "it has no tags" in said
    assert agent.gate("demarkus.proxy") is Verdict.WARN


def test_a_shared_program_decides_and_without_it_everything_passes(tmp_path: Path) -> None:
    files = sources(UNWRAPS, SHARED_DECISION)
    agent = Agent.of(tmp_path, files, version="1.6.0", adapter=True)
    program = write_program(tmp_path)
    assert agent.publish(through_proxy(BAD))[0] == []
    program.unlink()
    assert agent.publish(through_proxy(BAD))[0] == [BAD]
