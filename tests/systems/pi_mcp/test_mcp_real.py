"""The real pi and the real adapter: who owns the servers, and what the model is given then.

Each claim of the gates is one run of pi against a scripted palace and a fake model. The adapter
learns tools in a first session and registers them from the second one on, so it gets two.
"""

import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from support.facts import NONCE, target
from support.http import FakeModel
from support.mcp_files import server
from support.mcp_server import ScriptedMcpServer
from support.pi import PiHome, declared_tools
from support.places import CASES
from support.probing import Shell, answer, shells
from support.tools import mcp_adapter, pi_tool

from fleet.facts.compile import probe_script
from fleet.systems.ask import request_for
from fleet.systems.catalogue import load_catalogue
from fleet.systems.resolve import resolve
from fleet.verifier.judge import Expectations, judge
from fleet.verifier.model import Finding, Verdict

TOKEN = "tok-EXAMPLE-good"
EXPORTS = {"MEMPALACE_REMOTE_TOKEN": TOKEN}
HEADERS = {"Authorization": "Bearer ${MEMPALACE_REMOTE_TOKEN}"}
BY_PI, BY_ADAPTER = "mcp__mempalace__mempalace_status", "mempalace_status"
TOOL = (
    'export default function (pi) { pi.registerTool({ name: "mempalace_status", label: "x",'
    ' description: "x", parameters: { type: "object", properties: {} },'
    " execute: async () => ({ content: [] }) }); }\n"
)


@pytest.fixture
def palace() -> Iterator[ScriptedMcpServer]:
    # The healthy server of the cases: its tools have the schemas that both hosts insist on.
    with ScriptedMcpServer.from_file(CASES / "E00/behaviour.json") as server:
        yield server


@pytest.fixture
def sh(tmp_path: Path) -> Shell:
    (tmp_path / "tools").mkdir()
    return shells(tmp_path / "tools")["dash"]


class Session:
    """A home with this pi, and with the adapter where it is wanted."""

    def __init__(self, folder: Path, version: str, *, adapter: bool) -> None:
        self.pi = PiHome(folder / "home", pi_tool(version))
        self.pi.configure("settings.json", {})
        if adapter:
            self.pi.configure("settings.json", {"packages": ["npm:pi-mcp-adapter"]})
            (self.pi.agent / "npm").symlink_to(mcp_adapter())

    def declared(self, runs: int = 1) -> set[str]:
        """Return the tools that pi declares to the model in the last of some sessions."""
        for _ in range(runs):
            with FakeModel() as model:
                ended = self.pi.run(model, "hi", env=EXPORTS, options=("--no-session",))
            assert ended.returncode == 0, ended.stderr
        return set(declared_tools(model.bodies[-1]))

    def findings(self, shell: Shell, url: str = "") -> dict[str, Finding]:
        """Ask and judge this home; findings by the gate's last word."""
        exports = "".join(f"export {name}='{text}'\n" for name, text in EXPORTS.items())
        search = f"{self.pi.tool.bin_dir}:{os.defpath}"
        (self.pi.home / ".bash_profile").write_text(f"{exports}export PATH='{search}'\n")
        where = target("pi-mcp", address="local:", palace_url=url)
        catalogue = load_catalogue()
        resolved = resolve([catalogue.system("pi-mcp")], where)
        request = request_for(where, resolved, nonce=NONCE)
        done = shell.run(probe_script(request), home=self.pi.home)
        assert TOKEN.encode() not in done.stdout
        facts = answer(done.stdout, request)
        expectations = Expectations(today=datetime.now(UTC).date())
        found = judge(where, resolved, facts, catalogue, expectations)
        return {finding.gate.removeprefix("mcp."): finding for finding in found}


def test_pis_own_host_declares_what_its_exposure_says(
    tmp_path: Path, palace: ScriptedMcpServer, sh: Shell
) -> None:
    session = Session(tmp_path, "1.6.0", adapter=False)
    session.pi.configure("mcp.json", server(url=palace.url, headers=HEADERS))
    tools = session.declared()
    assert not {name for name in tools if "mempalace" in name}
    found = session.findings(sh)
    assert found["host"].message == "pi's own MCP host owns the servers (pi 1.6.0)"
    assert found["values"].verdict is Verdict.PASS
    assert found["tools"].verdict is Verdict.FAIL

    session.pi.configure(
        "mcp.json", server(url=palace.url, headers=HEADERS, exposure="direct", directTools=True)
    )
    assert BY_PI in session.declared()
    assert BY_PI in session.findings(sh)["tools"].message


def test_the_adapter_replaces_pis_own_host(
    tmp_path: Path, palace: ScriptedMcpServer, sh: Shell
) -> None:
    session = Session(tmp_path, "1.6.0", adapter=True)
    declared = server(url=palace.url, headers=HEADERS, exposure="direct", lifecycle="eager")
    session.pi.configure("mcp.json", declared)
    tools = session.declared(2)
    assert not tools & {BY_PI, BY_ADAPTER}
    assert "mcp" in tools
    found = session.findings(sh)
    assert found["host"].message == "pi-mcp-adapter 2.36.0 owns the servers"
    assert any("this is 1.6.0: not enforced by pi" in line for line in found["host"].evidence)
    assert found["tools"].verdict is Verdict.FAIL

    direct = server(url=palace.url, headers=HEADERS, directTools=True, lifecycle="eager")
    session.pi.configure("mcp.json", direct)
    tools = session.declared(2)
    assert BY_ADAPTER in tools
    assert BY_PI not in tools
    assert BY_ADAPTER in session.findings(sh)["tools"].message


def test_pi_0_84_has_no_host_but_the_adapter(
    tmp_path: Path, palace: ScriptedMcpServer, sh: Shell
) -> None:
    alone = Session(tmp_path / "alone", "0.84.0", adapter=False)
    direct = server(
        url=palace.url, headers=HEADERS, directTools=True, exposure="direct", lifecycle="eager"
    )
    alone.pi.configure("mcp.json", direct)
    assert not {name for name in alone.declared() if "mempalace" in name}
    assert palace.asked == []
    found = alone.findings(sh)
    assert found["host"].verdict is Verdict.FAIL
    assert found["host"].message == "pi 0.84.0 has no MCP host, and pi-mcp-adapter is not there"

    adapted = Session(tmp_path / "adapted", "0.84.0", adapter=True)
    adapted.pi.configure("mcp.json", direct)
    assert BY_ADAPTER in adapted.declared(2)
    assert adapted.findings(sh)["tools"].verdict is Verdict.PASS


def test_a_file_that_only_the_adapter_reads(
    tmp_path: Path, palace: ScriptedMcpServer, sh: Shell
) -> None:
    content = server(
        url=palace.url, headers=HEADERS, directTools=True, exposure="direct", lifecycle="eager"
    )
    for adapter in (False, True):
        session = Session(tmp_path / str(adapter), "1.6.0", adapter=adapter)
        generic = session.pi.home / ".config/mcp/mcp.json"
        generic.parent.mkdir(parents=True)
        generic.write_text(json.dumps(content))
        tools = session.declared(2)
        assert bool(tools & {BY_PI, BY_ADAPTER}) is adapter
        verdict = Verdict.PASS if adapter else Verdict.WARN
        assert session.findings(sh)["files"].verdict is verdict


@pytest.mark.parametrize("prefix", ["server", "none", "mcp"])
def test_direct_tools_and_a_bridge_of_the_same_names_end_pi(
    tmp_path: Path, palace: ScriptedMcpServer, sh: Shell, prefix: str
) -> None:
    session = Session(tmp_path, "1.6.0", adapter=True)
    name = "mempalace" if prefix == "server" else "shared"
    direct = server(
        name,
        url=palace.url,
        headers=HEADERS,
        directTools=True,
        lifecycle="eager",
        toolPrefix=prefix,
    )
    session.pi.configure("mcp.json", direct)
    session.declared()
    bridge = tmp_path / "mempalace.ts"
    bridge.write_text(TOOL)
    session.pi.link_extension(bridge)
    with FakeModel() as model:
        ended = session.pi.run(model, "hi", env=EXPORTS, options=("--no-session",))
    fatal = prefix != "mcp"
    assert (ended.returncode == 1) is fatal, ended.stderr
    told = session.findings(sh, palace.url)["tools"].message
    assert ("pi ends with a conflict of tools" in told) is fatal
