"""The palace registered in pi's mcp.json, and the adapter installed, by the commands themselves."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.homes import CANARY, VARIABLE, Homes
from support.http import FakeModel
from support.mcp_server import ScriptedMcpServer
from support.pi import PiHome, declared_tools
from support.places import CASES
from support.tools import mcp_adapter, npm_bin, pi_tool

TOKEN = "tok-EXAMPLE-good"
#: One line, as programs write it: a diff of it shows all of it.
OTHERS = (
    '{"mcpServers": {"other": {"url": "https://o.example.net/mcp",  "headers":'
    ' {"Authorization": "Bearer tok-EXAMPLE-other"}}}, "autoEnableCodemode": false}'
)


@pytest.fixture
def palace() -> Iterator[ScriptedMcpServer]:
    with ScriptedMcpServer.from_file(CASES / "E00/behaviour.json") as server:
        yield server


@pytest.fixture
def homes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Homes:
    """One empty home, and an inventory that a test writes."""
    monkeypatch.setenv(VARIABLE, CANARY)
    (tmp_path / "one").mkdir()
    return Homes(tmp_path, tmp_path / "fleet.yml", ("one",))


def declared(homes: Homes, url: str, **variables: object) -> None:
    told = {"palace_url": url, "mcp_register": True, **variables}
    lines = [f"      {name}: {json.dumps(value)}" for name, value in told.items()]
    homes.inventory.write_text(
        f"hosts:\n  one:\n    local: {homes.home('one')}\n    shell: bash -lc\n"
        "    systems: [pi-mcp]\n    vars:\n"
        f"      palace_token: !secret env:{VARIABLE}\n" + "\n".join(lines) + "\n"
    )


def launched(homes: Homes, *folders: Path | str, **exports: str) -> None:
    """Let a login shell have these folders on its PATH, and these variables."""
    search = ":".join(map(str, folders)) + f":{os.defpath}"
    lines = [f"export {name}='{text}'" for name, text in {**exports, "PATH": search}.items()]
    (homes.home("one") / ".bash_profile").write_text("\n".join(lines) + "\n")


def test_a_registration_leaves_every_other_byte_and_shows_no_secret(homes: Homes) -> None:
    file = homes.home("one") / ".pi/agent/mcp.json"
    file.parent.mkdir(parents=True)
    file.write_text(OTHERS)
    declared(homes, "https://palace.example.net/mcp")
    homes.run("plan", "--format", "json")
    code, output = homes.run("apply", "--yes")
    assert code == 0, output
    assert not [text for text in homes.printed if CANARY in text or "tok-EXAMPLE" in text]
    made = file.read_text()
    assert CANARY not in made
    entry = json.loads(made)["mcpServers"]["mempalace"]
    assert entry == {
        "headers": {"Authorization": "Bearer ${MEMPALACE_REMOTE_TOKEN}"},
        "url": "https://palace.example.net/mcp",
    }
    assert made.startswith(OTHERS[: OTHERS.index("}}}") + 2])
    code, output = homes.run("plan")
    assert (code, "nothing to change" in output) == (0, True), output
    code, output = homes.run("uninstall", "--yes")
    assert code == 0, output
    assert file.read_text() == OTHERS


def test_a_registration_that_is_another_already_is_a_conflict(homes: Homes) -> None:
    file = homes.home("one") / ".pi/agent/mcp.json"
    file.parent.mkdir(parents=True)
    file.write_text('{"mcpServers": {"mempalace": {"url": "https://old.example.net/mcp"}}}')
    declared(homes, "https://palace.example.net/mcp")
    code, output = homes.run("plan")
    assert (code, "to another value already" in " ".join(output.split())) == (2, True), output


@pytest.mark.parametrize(
    ("version", "adapter", "tool"),
    [
        ("1.6.0", False, "mcp__mempalace__mempalace_status"),
        ("1.6.0", True, "mempalace_status"),
        ("0.84.0", True, "mempalace_status"),
    ],
)
def test_each_host_takes_the_registration(
    homes: Homes, palace: ScriptedMcpServer, version: str, adapter: bool, tool: str
) -> None:
    pi = PiHome(homes.home("one"), pi_tool(version))
    declared(homes, palace.url, mcp_direct=True)
    if adapter:
        pi.configure("settings.json", {"packages": ["npm:pi-mcp-adapter"]})
        (pi.agent / "npm").symlink_to(mcp_adapter())
    code, output = homes.run("apply", "--yes")
    assert code == 0, output
    exports = {"MEMPALACE_REMOTE_TOKEN": TOKEN}
    for _ in range(2):
        with FakeModel() as model:
            ended = pi.run(model, "hi", env=exports, options=("--no-session",))
        assert ended.returncode == 0, ended.stderr
    assert tool in declared_tools(model.bodies[-1])
    launched(homes, pi.tool.bin_dir, **exports)
    _code, found = homes.audit()
    told = {gate.removeprefix("mcp."): f["verdict"] for (_one, gate), f in found.items()}
    assert {told[gate] for gate in ("host", "files", "values", "tools")} == {"pass"}


@pytest.mark.network
def test_the_adapter_is_installed_once_and_taken_away(homes: Homes) -> None:
    tool, home = pi_tool(), homes.home("one")
    launched(homes, tool.bin_dir, npm_bin(), MEMPALACE_REMOTE_TOKEN=TOKEN)
    bundle = Path("/etc/ssl/certs/ca-certificates.crt")
    (home / ".npmrc").write_text(f"cafile={bundle}\n" if bundle.is_file() else "")
    declared(
        homes,
        "https://palace.example.net/mcp",
        install_mcp_adapter=True,
        mcp_adapter_version="2.36.0",
    )
    code, output = homes.run("apply", "--yes")
    assert code == 0, output
    _code, found = homes.audit()
    gate = found["one", "mcp.host"]
    assert gate["message"] == "pi-mcp-adapter 2.36.0 owns the servers"
    code, output = homes.run("plan")
    assert (code, "nothing to change" in output) == (0, True), output
    code, output = homes.run("uninstall", "--yes")
    assert code == 0, output
    assert not (home / ".pi/agent/npm/node_modules/pi-mcp-adapter").exists()
    assert json.loads((home / ".pi/agent/settings.json").read_text()) == {"packages": []}
