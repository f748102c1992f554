"""Files of a project that pi may not trust: what the real pi makes of them, and what is told."""

import json
import subprocess
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest
from support.facts import NONCE, target
from support.http import FakeModel
from support.living import Living
from support.mcp_files import server
from support.mcp_server import ScriptedMcpServer
from support.pi import PiHome
from support.places import CASES
from support.probing import answer, shells
from support.tools import mcp_adapter, pi_tool

from fleet.facts.compile import probe_script
from fleet.systems.ask import request_for
from fleet.systems.catalogue import load_catalogue
from fleet.systems.resolve import resolve
from fleet.verifier.judge import Expectations, look_of
from fleet.verifier.mcp_servers import built_in_servers
from fleet.verifier.model import Finding, Verdict

pytestmark = pytest.mark.network

NOWHERE = "http://127.0.0.1:9"
#: What the user has, and what a project says of it.
USERS: dict[str, dict[str, object]] = {
    "mempalace": {"url": f"{NOWHERE}/mcp", "exposure": "direct"},
    "turned-off": {"url": f"{NOWHERE}/off"},
    "kept": {"url": f"{NOWHERE}/kept"},
    "in-the-adapters-word": {"url": f"{NOWHERE}/on", "disabled": True},
    "old": {"type": "sse", "url": f"{NOWHERE}/sse"},
    "no-oauth": {"url": f"{NOWHERE}/oauth", "oauth": False},
    "of-nothing": {"enabled": True},
    "neither": {"url": f"{NOWHERE}/neither", "enabled": "no"},
}
PROJECTS: dict[str, dict[str, object]] = {
    "mempalace": {"url": f"{NOWHERE}/other"},
    "turned-off": {"enabled": False},
    "kept": {"enabled": False, "headers": {"A": "b"}},
    "of-the-project": {"command": "false"},
    "of-nobody": {"enabled": True},
}
#: Of these pi takes nothing from anybody.
REFUSED = {"old", "no-oauth", "of-nothing", "neither"}
YES, NO, ASKS = "yes", "no", "asks"
DECISIONS: dict[str, tuple[dict[str, bool], str, str]] = {
    "trusted": ({"home/work": True}, "", YES),
    "the folder above": ({"home": True}, "", YES),
    "the closest counts": ({"home": True, "home/work": False}, "never", NO),
    "the closest counts the other way": ({"home": False, "home/work": True}, "never", YES),
    "another folder": ({"home/workshop": True}, "", ASKS),
    "asked": ({}, "ask", ASKS),
    "asked by default": ({}, "", ASKS),
}


@dataclass(frozen=True)
class Project:
    """A home with the real pi, and a project in it that is reached through a link."""

    here: Living
    pi: PiHome

    @property
    def folder(self) -> Path:
        return self.here.home / "link"

    def decided(self, decisions: dict[str, bool], default: str) -> None:
        root = self.here.home.parent.resolve()
        kept = {str(root / name): trusted for name, trusted in decisions.items()}
        if kept:
            self.pi.configure("trust.json", kept)
        self.pi.configure("settings.json", {"defaultProjectTrust": default} if default else {})

    def by_pi(self) -> dict[str, tuple[str, bool]]:
        """Return what pi's own host makes of its files: the URL or program, and whether it is on.

        That command keeps to decisions that were saved, whatever the settings say.
        """
        ended = subprocess.run(
            [str(self.pi.tool.pi_cli), "mcp", "list", "--json"],
            cwd=self.folder,
            env=self.pi.environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        told = json.loads(ended.stdout)["servers"]
        return {one["name"]: (one["transport"].strip(), one["enabled"]) for one in told}

    def by_fleet(self) -> tuple[dict[str, tuple[str, bool]], dict[str, Finding]]:
        """Return the same as an audit has it, and its findings."""
        where = target("pi-mcp", address="local:", project_dir=str(self.folder))
        resolved = resolve([load_catalogue().system("pi-mcp")], where)
        request = request_for(where, resolved, nonce=NONCE)
        facts = answer(
            self.here.shell.run(probe_script(request), home=self.here.home).stdout, request
        )
        look = look_of(where, resolved[0], facts, Expectations(today=datetime.now(UTC).date()))
        servers = {
            name: (one.text("url") or one.text("command"), one.enabled)
            for name, one in built_in_servers(look).servers.items()
        }
        return servers, self.here.findings(where)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    (tmp_path / "tools").mkdir()
    here = Living(tmp_path / "home", shells(tmp_path / "tools")["dash"], ("pi-mcp",))
    pi = PiHome(here.home, pi_tool())
    (pi.work / ".pi").mkdir(parents=True)
    (here.home / "link").symlink_to(pi.work)
    pi.configure("mcp.json", {"mcpServers": USERS})
    (pi.work / ".pi/mcp.json").write_text(json.dumps({"mcpServers": PROJECTS}))
    return Project(here.path(pi.tool.bin_dir, "/usr/bin", "/bin"), pi)


@pytest.mark.parametrize("name", DECISIONS)
def test_pi_reads_a_projects_file_where_it_trusts_the_project(project: Project, name: str) -> None:
    decisions, default, trusted = DECISIONS[name]
    project.decided(decisions, default)
    servers, found = project.by_fleet()
    assert servers == project.by_pi()
    assert ("of-the-project" in servers) is (trusted == YES)
    assert servers["in-the-adapters-word"][1]
    told = found["mcp.files"]
    if trusted == ASKS:
        assert told.verdict is Verdict.NOT_CHECKED
        assert "pi asks its user first" in told.message
        return
    assert told.verdict is Verdict.WARN
    never = [line for line in told.evidence if "never reads that file" in line]
    assert len(never) == (0 if trusted == YES else len(PROJECTS)), told.evidence


def test_what_pi_refuses_is_told_with_the_reason(project: Project) -> None:
    project.decided({"home/work": True}, "")
    servers, found = project.by_fleet()
    assert not REFUSED & set(servers)
    told = found["mcp.values"]
    assert told.verdict is Verdict.FAIL
    named = {line.split()[1] for line in told.evidence if "pi's own MCP host refuses" in line}
    assert named == REFUSED | {"kept", "of-nobody"}


@pytest.mark.parametrize(("default", "reads"), [("always", True), ("never", False), ("ask", False)])
def test_a_session_keeps_to_the_setting(project: Project, default: str, reads: bool) -> None:
    """Where nothing was decided; one that asks has nobody to ask here."""
    project.decided({}, default)
    rules = CASES / "E00/behaviour.json"
    with ScriptedMcpServer.from_file(rules) as palace, FakeModel() as model:
        project.pi.configure("mcp.json", {"mcpServers": {}})
        (project.pi.work / ".pi/mcp.json").write_text(json.dumps(server(url=palace.url)))
        ended = project.pi.run(model, "hi", options=("--no-session",))
        assert ended.returncode == 0, ended.stderr
        assert ("initialize" in palace.asked) is reads
    servers, found = project.by_fleet()
    assert ("mempalace" in servers) is reads
    wanted = {"always": Verdict.PASS, "never": Verdict.WARN, "ask": Verdict.NOT_CHECKED}
    assert found["mcp.files"].verdict is wanted[default], found["mcp.files"]


def test_what_was_decided_and_cannot_be_read_is_not_guessed_at(project: Project) -> None:
    project.decided({}, "always")
    (project.pi.agent / "trust.json").write_text("{")
    told = project.by_fleet()[1]["mcp.files"]
    assert told.verdict is Verdict.NOT_CHECKED
    assert "trust.json" in told.message


def test_a_project_that_says_nothing_needs_no_trust(project: Project) -> None:
    (project.pi.work / ".pi/mcp.json").write_text('{"mcpServers": {}}')
    servers, found = project.by_fleet()
    assert servers == project.by_pi()
    assert found["mcp.files"].verdict is Verdict.PASS


def test_the_adapter_asks_nobody(project: Project) -> None:
    """It reads a project's file itself, trusted or not: the user's server is never asked."""
    (project.pi.agent / "npm").symlink_to(mcp_adapter())
    settings = {"packages": ["npm:pi-mcp-adapter"], "defaultProjectTrust": "never"}
    project.pi.configure("settings.json", settings)
    rules = CASES / "E00/behaviour.json"
    with (
        ScriptedMcpServer.from_file(rules) as users,
        ScriptedMcpServer.from_file(rules) as projects,
        FakeModel() as model,
    ):
        project.pi.configure("mcp.json", server(url=users.url, lifecycle="eager"))
        # The word of pi's own host turns nothing off here.
        entry = server(url=projects.url, lifecycle="eager", enabled=False)
        (project.pi.work / ".pi/mcp.json").write_text(json.dumps(entry))
        ended = project.pi.run(model, "hi", options=("--no-session",))
        assert ended.returncode == 0, ended.stderr
        assert (users.asked, "initialize" in projects.asked) == ([], True)
    told = project.by_fleet()[1]["mcp.files"]
    assert told.verdict is Verdict.WARN
    assert "/.pi/mcp.json wins over ~/.pi/agent/mcp.json" in told.evidence[0]
