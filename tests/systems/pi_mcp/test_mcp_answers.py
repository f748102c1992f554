"""Whether the palace behind a registration answers: asked, and never read from a cache."""

import json

from support.facts import World, findings, target
from support.loopback import free_port
from support.mcp_files import ADAPTER, AGENT, SETTINGS, declare, server
from support.mcp_server import ScriptedMcpServer
from support.places import CASES

from fleet.facts.endpoints import Answer, EndpointFact, Trouble
from fleet.probes.mcp import ask_palace
from fleet.secrets import Secret
from fleet.systems.ask import request_for
from fleet.systems.catalogue import load_catalogue
from fleet.systems.resolve import resolve
from fleet.verifier.model import Finding, Verdict

URL = "https://palace.example.net/mcp"
CACHE = "~/.pi/agent/mcp-cache.json"


def judged(content: object, *heard: EndpointFact, url: str = URL, cache: bytes = b"") -> Finding:
    world = World().launch().file(SETTINGS, ADAPTER)
    if cache:
        world.file(CACHE, cache)
    declare(world, AGENT, content)
    for endpoint in heard:
        world.heard(endpoint)
    return findings(target("pi-mcp", palace_url=url), world)["mcp.answers"]


def asked(url: str) -> EndpointFact:
    """What is really heard at a URL."""
    return ask_palace(url, token=Secret("tok-EXAMPLE-good"), place="target", deadline=20)


def test_d08_a_cache_is_no_evidence() -> None:
    """Tools in a cache do not help a server that is down, nor a stale cache harm one that is up."""
    cache = (CASES / "D08/mcp-cache.json").read_bytes()
    rules = json.loads((CASES / "E00/behaviour.json").read_text())["rules"]
    down = f"http://127.0.0.1:{free_port()}/mcp"
    gate = judged(server(url=down, directTools=True), asked(down), url=down, cache=cache)
    assert gate.verdict is Verdict.FAIL
    assert gate.message == "the palace does not answer"
    assert gate.remedy is not None
    assert "start the server" in gate.remedy
    with ScriptedMcpServer(rules) as palace:
        up = palace.url
        gate = judged(server(url=up, directTools=True), asked(up), url=up, cache=cache)
    assert gate.verdict is Verdict.PASS, gate


def test_a_cache_is_not_even_asked_for() -> None:
    systems = [load_catalogue().system("pi-mcp")]
    where = target("pi-mcp")
    request = request_for(where, resolve(systems, where), nonce="n0nce")
    assert not [question.path for question in request.paths if "cache" in question.path]


def test_what_a_refusal_means() -> None:
    refused = Answer(status=401, trouble=Trouble.HTTP, detail="Unauthorized")
    heard = EndpointFact(url=URL, place="target", answers={"initialize": refused})
    gate = judged(server(url=URL), heard)
    assert gate.verdict is Verdict.FAIL
    assert gate.remedy is not None
    assert gate.remedy.startswith("give the server and the inventory the same token")


def test_what_was_not_asked_is_not_checked() -> None:
    good = Answer(status=200)
    elsewhere = EndpointFact(url=URL, place="controller", answers={"initialize": good})
    unsent = EndpointFact(url=URL, place="target", answers={})
    for heard in (elsewhere, unsent):
        assert judged(server(url=URL), heard).verdict is Verdict.NOT_CHECKED
    here = EndpointFact(url=URL, place="target", answers={"initialize": good})
    assert judged(server(url=URL), here).verdict is Verdict.PASS
    other = server("mempalace", url="https://other.example.net/mcp")
    gate = judged(other, here)
    assert gate.verdict is Verdict.NOT_CHECKED
    assert gate.message.endswith("its URL was not asked; declare it as palace_url")
    local = server(command="mempalace-mcp")
    assert judged(local, here).verdict is Verdict.NOT_CHECKED
    two = {"mcpServers": {"mempalace": {"url": URL}, "mempalace-local": {"command": "x"}}}
    assert judged(two, here).verdict is Verdict.NOT_CHECKED


def test_without_a_palace_nothing_is_asked() -> None:
    other = server("weather", url="https://weather.example.net/mcp")
    assert judged(other).verdict is Verdict.NOT_APPLICABLE
    assert judged(server(url=URL, disabled=True)).verdict is Verdict.NOT_APPLICABLE
