"""What is deployed for each client is what its gates ask for, and comes away again."""

import json
from pathlib import Path

import pytest
from support.homes import CANARY, VARIABLE, Homes
from support.mcp_server import ScriptedMcpServer, palace_rules

from fleet.demo.stage import snapshot

CLIENTS = "generic, cursor, vscode, windsurf, gemini"
TOKEN = "MEMPALACE_REMOTE_TOKEN"


@pytest.fixture
def homes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Homes:
    """One home in which Gemini CLI has settings of its own, with comments."""
    monkeypatch.setenv(VARIABLE, CANARY)
    monkeypatch.chdir(tmp_path)
    settings = tmp_path / "one/.gemini/settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_text('{\n  // mine\n  "theme": "plain",\n}\n')
    return Homes(tmp_path, tmp_path / "fleet.yml", ("one",))


def declare(homes: Homes, clients: str, *lines: str) -> None:
    variables = "".join(f"  {line}\n" for line in (f"mcp_clients: {clients}", *lines))
    homes.inventory.write_text(
        f"vars:\n{variables}hosts:\n  one:\n    local: {homes.home('one')}\n"
        "    shell: bash -lc\n    systems: [mcp-clients, env]\n"
    )


def test_every_client_gets_its_form_and_gives_it_back(homes: Homes) -> None:
    home = homes.home("one")
    before = {name: told.rpartition(" ")[0] for name, told in snapshot(home).items()}
    with ScriptedMcpServer(palace_rules(CANARY)) as server:
        declare(
            homes, CLIENTS, f"palace_url: {server.url}", f"palace_token: !secret env:{VARIABLE}"
        )
        code, output = homes.run("provision", "--yes")
        assert code == 0, output
        _, found = homes.audit()
        for gate in ("form", "palace", "answers", "variables", "token"):
            assert found["one", f"clients.{gate}"]["verdict"] == "pass", gate
        code, output = homes.run("plan")
        assert code == 0, output
        url, bearer = server.url, f"Bearer ${{env:{TOKEN}}}"
    vscode = json.loads((home / ".config/Code/User/mcp.json").read_text())
    entry = {"type": "http", "url": url, "headers": {"Authorization": bearer}}
    assert vscode == {"servers": {"mempalace": entry}}
    windsurf = json.loads((home / ".codeium/windsurf/mcp_config.json").read_text())
    entry = {"serverUrl": url, "headers": {"Authorization": bearer}}
    assert windsurf == {"mcpServers": {"mempalace": entry}}
    assert "// mine" in (home / ".gemini/settings.json").read_text()
    for file in home.rglob("*.json"):
        assert CANARY not in file.read_text()
    homes.run("uninstall", "--yes")
    assert {name: told.rpartition(" ")[0] for name, told in snapshot(home).items()} == before
    assert all(CANARY not in printed for printed in homes.printed)


def test_a_solitary_palace_that_becomes_remote_leaves_no_program_behind(homes: Homes) -> None:
    declare(homes, "claude-desktop, cursor", "mempalace_mcp: /opt/bin/mempalace-mcp")
    homes.run("provision", "--yes")
    home = homes.home("one")
    desktop = home / ".config/Claude/claude_desktop_config.json"
    started = {"mcpServers": {"mempalace": {"command": "/opt/bin/mempalace-mcp"}}}
    assert json.loads(desktop.read_text()) == started
    _, found = homes.audit()
    assert found["one", "clients.palace"]["verdict"] == "pass"
    assert found["one", "clients.command"]["verdict"] == "fail", "there is no such program"
    declare(homes, "cursor", "palace_url: https://palace.example.net/mcp")
    homes.run("provision", "--yes")
    cursor = json.loads((home / ".cursor/mcp.json").read_text())
    assert cursor == {"mcpServers": {"mempalace": {"url": "https://palace.example.net/mcp"}}}
    _, found = homes.audit()
    assert found["one", "clients.form"]["verdict"] == "pass"
    assert found["one", "clients.answers"]["verdict"] == "fail", "there is no such host"
