"""The adapter's cache of tools outlives a palace: what the real pi makes of it, and an audit."""

import json
import os
import shutil
from pathlib import Path

import pytest
from support.homes import Homes
from support.http import FakeModel
from support.mcp_server import ScriptedMcpServer
from support.pi import PiHome, declared_tools
from support.places import CASES
from support.tools import mcp_adapter, pi_tool

pytestmark = [pytest.mark.network, pytest.mark.timeout(300)]

TOKEN = "tok-EXAMPLE-good"  # of the case's healthy server
VARIABLE = "FLEET_TEST_TOKEN"
TOOL = "mempalace_status"


@pytest.fixture
def homes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Homes:
    """One home with pi and its adapter; its login shell exports the token."""
    monkeypatch.setenv(VARIABLE, TOKEN)
    home = tmp_path / "one"
    pi = PiHome(home, pi_tool())
    pi.configure("settings.json", {"packages": ["npm:pi-mcp-adapter"]})
    (pi.agent / "npm").symlink_to(mcp_adapter())
    search = f"{pi.tool.bin_dir}:{os.defpath}"
    (home / ".bash_profile").write_text(
        f"export PATH='{search}' MEMPALACE_REMOTE_TOKEN='{TOKEN}'\n"
    )
    return Homes(tmp_path, tmp_path / "fleet.yml", ("one",))


def registered(homes: Homes, url: str) -> None:
    """Let the palace be registered, with its tools as pi's own."""
    homes.inventory.write_text(
        f"hosts:\n  one:\n    local: {homes.home('one')}\n    shell: bash -lc\n"
        f"    systems: [pi-mcp]\n    vars: {{palace_url: {url}, mcp_register: true,"
        f" mcp_direct: true, palace_token: !secret env:{VARIABLE}}}\n"
    )
    code, output = homes.run("apply", "--yes")
    assert code == 0, output


def declared(homes: Homes) -> set[str]:
    """Return the tools that one session of the real pi gives its model."""
    with FakeModel() as model:
        pi = PiHome(homes.home("one"), pi_tool())
        exports = {"MEMPALACE_REMOTE_TOKEN": TOKEN}
        ended = pi.run(model, "hi", env=exports, options=("--no-session",))
    assert ended.returncode == 0, ended.stderr
    return set(declared_tools(model.bodies[-1]))


def answers(homes: Homes) -> tuple[object, object]:
    _code, found = homes.audit()
    gate = found["one", "mcp.answers"]
    return gate["verdict"], gate["message"]


def test_tools_of_a_cache_are_declared_for_a_palace_that_is_down(homes: Homes) -> None:
    with ScriptedMcpServer.from_file(CASES / "E00/behaviour.json") as palace:
        registered(homes, palace.url)
        declared(homes)
        assert TOOL in declared(homes)
        assert answers(homes)[0] == "pass"
    cache = json.loads((homes.home("one") / ".pi/agent/mcp-cache.json").read_text())
    assert TOOL in json.dumps(cache["servers"]["mempalace"])
    assert TOOL in declared(homes)
    assert answers(homes) == ("fail", "the palace does not answer")


def test_d08_a_cache_that_looks_stale_harms_no_palace_that_is_up(homes: Homes) -> None:
    cache = homes.home("one") / ".pi/agent/mcp-cache.json"
    shutil.copy(CASES / "D08/mcp-cache.json", cache)
    with ScriptedMcpServer.from_file(CASES / "E00/behaviour.json") as palace:
        registered(homes, palace.url)
        assert answers(homes)[0] == "pass"
    assert answers(homes) == ("fail", "the palace does not answer")
    assert cache.read_bytes() == (CASES / "D08/mcp-cache.json").read_bytes()
