"""Whether the model is given the palace's tools, and by what names."""

import json

import pytest
from support.facts import BRIDGE, World, findings, target
from support.mcp_files import ADAPTER, AGENT, SETTINGS, declare, server, unreadable

from fleet.verifier.mcp_owners import adapter_tool, built_in_tool
from fleet.verifier.mcp_servers import Server
from fleet.verifier.model import Finding, Verdict

URL = "https://palace.example.net/mcp"
PI = b'{"version": "1.6.0"}'


def judged(
    content: object,
    *,
    adapter: bool = True,
    systems: tuple[str, ...] = ("pi-mcp",),
    world: World | None = None,
) -> Finding:
    there = (world or World()).launch(manifests={"pi": PI})
    if adapter:
        there.file(SETTINGS, ADAPTER)
    declare(there, AGENT, content)
    where = target(*systems, palace_url=URL, require=["palace-tools"])
    return findings(where, there)["mcp.tools"]


def test_direct_tools_are_given_to_the_model() -> None:
    gate = judged(server(url=URL, directTools=True))
    assert (gate.verdict, gate.required) == (Verdict.PASS, True)
    assert gate.message == "the model is given the palace's tools, such as mempalace_status"
    gate = judged(server(url=URL, exposure="direct"), adapter=False)
    named = "such as mcp__mempalace__mempalace_status"
    assert gate.message == f"the model is given the palace's tools, {named}"


def test_a_launch_that_was_not_seen_may_start_a_pi_that_reads_it() -> None:
    declared = server(url=URL, exposure="direct")
    old = World().launch("sh -c", manifests={"pi": b'{"version": "0.87.1"}'})
    where = target("pi-mcp", palace_url=URL, launches=("sh -c", "zsh -ic"))
    for state, verdict in (("ok", Verdict.FAIL), ("timeout", Verdict.NOT_CHECKED)):
        there = declare(old.launch("zsh -ic", state=state), AGENT, declared)
        assert findings(where, there)["mcp.tools"].verdict is verdict


@pytest.mark.parametrize("exposure", ["", "codemode", "deferred", "hidden"])
def test_what_is_not_declared_is_not_given(exposure: str) -> None:
    fields = {"exposure": exposure} if exposure else {}
    gate = judged(server(url=URL, **fields), adapter=False)
    assert gate.verdict is Verdict.FAIL
    assert gate.message == "the model reaches the palace's tools through `codemode` only"
    gate = judged(server(url=URL, exposure="direct"))
    assert gate.message == "the model reaches the palace's tools through the proxy tool `mcp` only"


def test_a_bridge_beside_it_is_another_owner() -> None:
    there = World().file("~/.pi/agent/extensions/mempalace.ts", BRIDGE)
    gate = judged(server(url=URL, directTools=True), world=there)
    assert gate.verdict is Verdict.FAIL
    assert gate.message.endswith("declares them too: pi ends with a conflict of tools")
    both = ("pi-mcp", "mempalace-bridge")
    gate = judged(server(url=URL, directTools=True), systems=both, world=there)
    assert gate.verdict is Verdict.NOT_APPLICABLE


def test_two_servers_of_one_palace_are_two_owners() -> None:
    entry = {"url": URL, "directTools": True}
    gate = judged({"mcpServers": {"mempalace": entry, "shared": entry}})
    assert gate.message == "more than one server declares the palace's tools"


def test_what_is_no_palace_is_not_asked_about() -> None:
    other = server("weather", url="https://weather.example.net/mcp", directTools=True)
    assert judged(other).verdict is Verdict.NOT_APPLICABLE
    assert judged("{ broken").verdict is Verdict.NOT_CHECKED
    world = unreadable(World(), SETTINGS)
    assert judged(server(url=URL), adapter=False, world=world).verdict is Verdict.NOT_CHECKED


@pytest.mark.parametrize(
    ("name", "fields", "settings", "called"),
    [
        ("mempalace", {}, {}, "mempalace_status"),
        ("palace", {}, {}, "palace_mempalace_status"),
        ("mempalace-mcp", {}, {}, "mempalace-mcp_mempalace_status"),
        ("mempalace-mcp", {}, {"toolPrefix": "short"}, "mempalace_status"),
        ("mcp", {"toolPrefix": "short"}, {}, "mcp_mempalace_status"),
        ("palace", {"toolPrefix": "none"}, {}, "mempalace_status"),
        ("palace", {"toolPrefix": "server"}, {"toolPrefix": "none"}, "palace_mempalace_status"),
        ("mempalace", {"toolPrefix": "mcp"}, {}, "mcp__mempalace_mempalace_status"),
        ("my palace", {}, {}, "my_20_palace_mempalace_status"),
    ],
)
def test_the_adapters_names(
    name: str, fields: dict[str, object], settings: dict[str, object], called: str
) -> None:
    assert adapter_tool(Server(name, fields, AGENT), settings) == called


def test_the_names_of_pis_own_host() -> None:
    assert built_in_tool(Server("mem-palace", {}, AGENT)) == "mcp__mem_palace__mempalace_status"


def test_a_prefix_decides_whether_a_conflict_is_fatal() -> None:
    there = {"url": URL, "directTools": True, "toolPrefix": "none"}
    for entry, told in ((there, "conflict"), ({**there, "toolPrefix": "mcp"}, "twice")):
        world = World().file("~/.pi/agent/extensions/mempalace.ts", BRIDGE)
        content = {"mcpServers": {"shared": entry}}
        assert told in judged(json.loads(json.dumps(content)), world=world).message
