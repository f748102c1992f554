"""The flip as a client meets it: which palace answers, and why none does."""

import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.facts import BRIDGE, HOME, World, findings, target
from support.mcp_server import Rule, ScriptedMcpServer, self_signed
from support.places import CASES

from fleet.errors import Unreachable
from fleet.facts.endpoints import Answer, EndpointFact, Trouble
from fleet.probes.mcp import ask_palace
from fleet.secrets import Secret
from fleet.verifier.answers import remedy_of
from fleet.verifier.model import Finding, Verdict

LINK = "~/.pi/agent/extensions/mempalace.ts"
URL = "https://palace.example.net/mcp"
TOOLS = ("mempalace_status", "mempalace_mine")


def heard(palace: str | None, *, tools: tuple[str, ...] = TOOLS, **answer: object) -> EndpointFact:
    """What a palace answers that lets the client in; ``answer`` is that of its status."""
    said = {"initialize": Answer(status=200), "tools": Answer(status=200)}
    said["status"] = Answer.model_validate(answer or {"status": 200})
    return EndpointFact(url=URL, place="target", answers=said, palace=palace, tools=tools)


def mute(trouble: Trouble, status: int | None = None) -> EndpointFact:
    answer = Answer(status=status, trouble=trouble, detail="so it is")
    return EndpointFact(url=URL, place="target", answers={"initialize": answer})


def flips(
    *endpoints: EndpointFact, url: str = URL, state: str = "ok", **variables: Any
) -> dict[str, Finding]:
    """Judge a client at ``url``; findings by the gate's last word."""
    there = World().file(LINK, BRIDGE).folder("~/.pi/agent/extensions", "mempalace.ts")
    there.launch(variables={"MEMPALACE_REMOTE_URL": url} if url else {}, state=state)
    for endpoint in endpoints:
        there.heard(endpoint)
    where = target("mempalace-bridge", **{"palace_url": URL, **variables})
    found = findings(where, there)
    return {name: found[f"flip.{name}"] for name in ("path", "symptom")}


# --- which palace it is


def test_the_declared_palace_passes_and_another_does_not() -> None:
    good = flips(heard("/data/palace"), palace_path="/data/palace")
    assert {f.verdict for f in good.values()} == {Verdict.PASS}
    other = flips(heard("/data/other"), palace_path="/data/palace")
    assert other["path"].verdict is Verdict.FAIL
    # Its tools are there all the same.
    assert other["symptom"].verdict is Verdict.PASS


def test_a_client_that_reaches_its_own_default_palace_is_half_flipped() -> None:
    for path in (f"{HOME}/.mempalace/palace", f"{HOME}/.config/mempalace/palace"):
        assert flips(heard(path))["path"].verdict is Verdict.FAIL
    assert flips(heard("/data/palace"))["path"].verdict is Verdict.PASS


def test_a_launch_without_the_url_stays_local() -> None:
    found = flips(url="")
    assert found["path"].verdict is Verdict.FAIL
    assert "half flipped" in found["path"].message
    assert found["symptom"].follows == "flip.path"


def test_a_palace_that_does_not_tell_its_path_is_told_by_the_path_s_gate() -> None:
    found = flips(heard(None, status=500, trouble=Trouble.HTTP, detail="HTTP 500"))
    assert found["path"].verdict is Verdict.FAIL
    assert "HTTP 500" in found["path"].evidence[0]
    assert found["symptom"].verdict is Verdict.PASS


def test_a_solitary_palace_is_not_asked_about() -> None:
    found = findings(target("mempalace-bridge"), World().launch())
    for gate in ("flip.path", "flip.symptom"):
        assert found[gate].verdict is Verdict.NOT_APPLICABLE


def test_what_could_not_be_asked_is_not_checked() -> None:
    for found in (flips(mute(Trouble.UNSUPPORTED)), flips(), flips(state="timeout")):
        assert found["path"].verdict is Verdict.NOT_CHECKED
        assert found["symptom"].verdict is Verdict.NOT_CHECKED
        assert found["symptom"].follows == "flip.path"


def test_tools_that_nobody_asked_for_are_not_offered() -> None:
    older = heard("/data/palace").model_copy(update={"answers": {"initialize": Answer(status=200)}})
    found = flips(older)["symptom"]
    assert found.verdict is Verdict.NOT_CHECKED


# --- why there are no tools


def test_the_cause_is_told_once_and_never_decides_alone() -> None:
    found = flips(mute(Trouble.REFUSED))
    assert found["path"].verdict is Verdict.FAIL
    assert found["path"].required
    assert "flip.symptom" in found["path"].message
    assert "refused" not in found["path"].message + "".join(found["path"].evidence)
    symptom = found["symptom"]
    assert (symptom.verdict, symptom.required) == (Verdict.WARN, False)
    assert symptom.message == "pi has no mempalace_* tools: refused: so it is"
    assert symptom.remedy == found["path"].remedy


@pytest.mark.parametrize("trouble", [t for t in Trouble if t is not Trouble.UNSUPPORTED])
def test_every_cause_has_a_remedy_of_its_own(trouble: Trouble) -> None:
    fact = mute(trouble, 404 if trouble is Trouble.HTTP else None)
    found = flips(fact)["symptom"]
    assert found.verdict is Verdict.WARN
    assert found.remedy == remedy_of(fact.answers["initialize"]) is not None


def test_an_mcp_server_that_is_no_palace_offers_no_tool_of_a_palace() -> None:
    found = flips(heard(None, tools=("search", "fetch")))
    assert found["symptom"].verdict is Verdict.WARN
    assert "2 tools, none of them a palace's" in found["symptom"].message
    assert "something else answers there" in str(found["symptom"].remedy)


def test_a_list_of_tools_that_fails_is_the_cause() -> None:
    fact = heard("/data/palace")
    late = Answer(trouble=Trouble.TIMEOUT, detail="no answer within 5 s")
    fact = fact.model_copy(update={"answers": {**fact.answers, "tools": late}})
    found = flips(fact)["symptom"]
    assert found.message == "pi has no mempalace_* tools: timeout: no answer within 5 s"


# --- real servers that fail


def asked(server: ScriptedMcpServer, **more: Any) -> EndpointFact:
    fact = ask_palace(
        f"{server.scheme}://127.0.0.1:{server.port}/mcp",
        token=Secret("tok-EXAMPLE-good"),
        place="target",
        dial=lambda _host, _port: socket.create_connection(("127.0.0.1", server.port)),
        **more,
    )
    return fact.model_copy(update={"url": URL})


def refused(_host: str, _port: int) -> socket.socket:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    return socket.create_connection(("127.0.0.1", port))


def unknown(host: str, _port: int) -> socket.socket:
    raise Unreachable(f"{host} is not known there", stage="resolve")


@pytest.mark.parametrize(("dial", "name"), [(refused, "refused"), (unknown, "dns")])
def test_a_palace_that_cannot_be_dialled(
    dial: Callable[[str, int], socket.socket], name: str
) -> None:
    fact = ask_palace(URL, token=None, place="target", dial=dial)
    found = flips(fact)
    assert found["path"].verdict is Verdict.FAIL
    assert found["symptom"].message.startswith(f"pi has no mempalace_* tools: {name}: ")


@pytest.mark.parametrize("status", [401, 403, 404, 406, 421, 500, 502, 503])
def test_a_status_is_named_with_its_remedy(status: int) -> None:
    with ScriptedMcpServer([{"if": {"method": "POST"}, "do": {"status": status}}]) as server:
        fact = asked(server)
    found = flips(fact)["symptom"]
    assert f"HTTP {status}" in found.message
    assert found.remedy == remedy_of(fact.answers["initialize"]) is not None


PAGE: Rule = {"if": {}, "do": {"body": "<html>welcome</html>"}}
ELSEWHERE: Rule = {
    "if": {},
    "do": {"status": 308, "headers": {"location": "https://elsewhere.example.net/mcp"}},
}


@pytest.mark.parametrize(("rule", "name"), [(PAGE, "not-mcp"), (ELSEWHERE, "redirect")])
def test_what_is_no_palace_is_named(rule: Rule, name: str) -> None:
    with ScriptedMcpServer([rule]) as server:
        found = flips(asked(server))["symptom"]
    assert found.message.startswith(f"pi has no mempalace_* tools: {name}: ")


def test_a_certificate_that_is_not_trusted_is_named(tmp_path: Path) -> None:
    behaviour = CASES / "E08" / "behaviour.json"
    with ScriptedMcpServer.from_file(behaviour, tls=self_signed(tmp_path)) as server:
        found = flips(asked(server))["symptom"]
    assert "tls: certificate not trusted" in found.message
    assert "certificate authority" in str(found.remedy)


def test_a_healthy_palace_offers_its_tools() -> None:
    with ScriptedMcpServer.from_file(CASES / "E00" / "behaviour.json") as server:
        found = flips(asked(server))["symptom"]
    assert found.verdict is Verdict.PASS, found
