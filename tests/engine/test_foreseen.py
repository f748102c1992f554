"""What would end pi is told by the plan, before anything is there."""

import json
from pathlib import Path

import pytest
from support.homes import Homes
from support.mcp_files import server

URL = "https://palace.example.net/mcp"
DIRECT = server(url=URL, directTools=True)


@pytest.fixture
def home(homes: Homes) -> Path:
    return homes.home("one")


def declared(homes: Homes, **variables: object) -> None:
    """Let the machine have the bridge, and pi's MCP servers."""
    told = {"palace_url": URL, "toolkit": "~/kit", "toolkit_source": "builtin", **variables}
    systems = ["mempalace-bridge", "pi-mcp"]
    one = {"local": str(homes.home("one")), "systems": systems, "vars": told}
    homes.inventory.write_text(json.dumps({"hosts": {"one": one}}))


def configured(home: Path, name: str, content: object) -> None:
    path = home / ".pi/agent" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))


def conflicts(homes: Homes) -> list[str]:
    code, output = homes.run("plan", "--format", "json")
    assert code == 2, output
    [found] = json.loads(output)["targets"]
    return [f"{c['key']}: {c['what']}" for c in found["conflicts"]]


def test_the_adapter_is_not_brought_beside_a_bridge_of_the_same_tools(
    homes: Homes, home: Path
) -> None:
    configured(home, "mcp.json", DIRECT)
    declared(homes, install_mcp_adapter=True)
    told = (
        "pi would end at its start: pi-mcp-adapter, direct tools of server mempalace in "
        "~/.pi/agent/mcp.json, would declare the bridge's tools again"
    )
    assert conflicts(homes) == [f"pi-mcp.adapter: {told}"]
    _code, output = homes.run("plan")
    assert "pi-mcp.adapter: pi-mcp-adapter: pi would end" in " ".join(output.split())


@pytest.mark.parametrize(
    "content",
    [
        server(url=URL),
        server(url=URL, exposure="direct"),
        server("shared", url=URL, directTools=True),
        server("weather", url="https://weather.example.net/mcp", directTools=True),
        server(url=URL, directTools=True, disabled=True),
    ],
)
def test_an_adapter_that_does_no_harm_is_brought(homes: Homes, home: Path, content: object) -> None:
    configured(home, "mcp.json", content)
    declared(homes, install_mcp_adapter=True)
    assert conflicts(homes) == []


def test_a_registration_of_direct_tools_is_not_brought_beside_the_bridge(
    homes: Homes, home: Path
) -> None:
    declared(homes, install_mcp_adapter=True, mcp_register=True, mcp_direct=True)
    [told] = conflicts(homes)
    assert told.startswith("pi-mcp.registration: pi would end at its start: pi-mcp-adapter")
    declared(homes, install_mcp_adapter=True, mcp_register=True)
    assert conflicts(homes) == []
    declared(homes, mcp_register=True, mcp_direct=True)  # pi's own host has names of its own
    assert conflicts(homes) == []
    configured(home, "mcp.json", server(url=URL, toolPrefix="mcp"))
    declared(homes, install_mcp_adapter=True, mcp_register=True, mcp_direct=True)
    assert conflicts(homes) == []


def test_the_bridge_is_not_brought_where_an_adapter_declares_its_tools(
    homes: Homes, home: Path
) -> None:
    configured(home, "mcp.json", DIRECT)
    configured(home, "settings.json", {"packages": ["npm:pi-mcp-adapter"]})
    declared(homes)
    told = (
        "pi would end at its start: pi-mcp-adapter, direct tools of server mempalace in "
        "~/.pi/agent/mcp.json, declares the bridge's tools already"
    )
    assert conflicts(homes) == [f"mempalace-bridge.bridge: {told}"]
    configured(home, "settings.json", {})
    assert conflicts(homes) == []


def test_a_target_without_the_bridge_may_have_the_adapters_tools(homes: Homes, home: Path) -> None:
    configured(home, "mcp.json", DIRECT)
    declared(homes, install_mcp_adapter=True)
    text = homes.inventory.read_text().replace('"mempalace-bridge", ', "")
    homes.inventory.write_text(text)
    assert conflicts(homes) == []
    configured(home, "extensions/mempalace.ts", "not the one of a declared system")
    assert len(conflicts(homes)) == 1
