"""The real Claude Code takes what fleet deploys, and decides between its files as fleet says."""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from support.homes import CANARY, VARIABLE, Homes
from support.mcp_server import ScriptedMcpServer, palace_rules
from support.tools import claude_code_tool

pytestmark = [pytest.mark.network, pytest.mark.timeout(600)]
SYSTEM = "/usr/bin:/bin"


def claude(home: Path, *words: str, folder: Path | None = None, token: str = "") -> str:
    env = {"HOME": str(home), "PATH": SYSTEM}
    if token:
        env["MEMPALACE_REMOTE_TOKEN"] = token
    ended = subprocess.run(
        [str(claude_code_tool() / "claude"), "mcp", *words],
        cwd=folder or home,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    return ended.stdout + ended.stderr


@pytest.fixture
def homes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Homes:
    """One home with a file of Claude Code's own."""
    monkeypatch.setenv(VARIABLE, CANARY)
    monkeypatch.chdir(tmp_path)
    home = tmp_path / "one"
    home.mkdir()
    (home / ".claude.json").write_text('{\n  "userID": "mine"\n}\n')
    return Homes(tmp_path, tmp_path / "fleet.yml", ("one",))


def declare(homes: Homes, url: str) -> None:
    homes.inventory.write_text(
        f"vars: {{palace_url: {url}, palace_token: !secret env:{VARIABLE}}}\nhosts:\n  one:\n"
        f"    local: {homes.home('one')}\n    shell: bash -lc\n    systems: [claude-code, env]\n"
    )


def test_what_is_deployed_is_taken_by_claude_code_and_comes_away_again(homes: Homes) -> None:
    home = homes.home("one")
    with ScriptedMcpServer(palace_rules(CANARY)) as server:
        declare(homes, server.url)
        code, output = homes.run("provision", "--yes")
        assert code == 0, output
        assert CANARY not in (home / ".claude.json").read_text()
        _, found = homes.audit()
        for gate in ("form", "palace", "answers", "variables", "token"):
            told = found["one", f"claude-code.{gate}"]
            assert told["verdict"] == "pass", told

        told_by_claude = claude(home, "list", token=CANARY)
        assert "mempalace" in told_by_claude
        assert "Connected" in told_by_claude, told_by_claude
        assert f"Bearer {CANARY}" in {heard.authorization for heard in server.heard}
        # Claude Code has written its own state into the file by now.
        again, output = homes.run("plan")
        assert again == 0, output
        homes.run("uninstall", "--yes")
    _, found = homes.audit()
    assert found["one", "claude-code.answers"]["verdict"] == "fail", "nobody listens any more"
    left = json.loads((home / ".claude.json").read_text())
    assert left["userID"] == "mine"
    assert "mcpServers" not in left
    assert all(CANARY not in printed for printed in homes.printed)


def entry(number: int) -> Mapping[str, object]:
    return {"mempalace": {"type": "http", "url": f"http://127.0.0.{number}:9/mcp"}}


def test_the_file_that_decides_is_the_one_that_claude_code_takes(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    user: dict[str, object] = {"mcpServers": entry(1)}
    (tmp_path / ".claude.json").write_text(json.dumps(user))
    assert "127.0.0.1" in claude(tmp_path, "get", "mempalace", folder=project)
    (project / ".mcp.json").write_text(json.dumps({"mcpServers": entry(2)}))
    assert "127.0.0.1" in claude(tmp_path, "get", "mempalace", folder=project), "nobody agreed"
    agreed = {"hasTrustDialogAccepted": True, "enabledMcpjsonServers": ["mempalace"]}
    user["projects"] = {str(project): agreed}
    (tmp_path / ".claude.json").write_text(json.dumps(user))
    assert "127.0.0.2" in claude(tmp_path, "get", "mempalace", folder=project)
    user["projects"] = {str(project): {"mcpServers": entry(3)}}
    (tmp_path / ".claude.json").write_text(json.dumps(user))
    assert "127.0.0.3" in claude(tmp_path, "get", "mempalace", folder=project)


def test_a_remote_server_without_a_type_is_left_out(tmp_path: Path) -> None:
    (tmp_path / ".claude.json").write_text('{"mcpServers": {"m": {"url": "http://a.example/"}}}')
    assert "Skipped" in claude(tmp_path, "list")
