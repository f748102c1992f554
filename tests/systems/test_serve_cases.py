"""Palaces that failed others, asked as an audit asks and judged (E00 to E14): the scripted ones.

`test_serve_cases_real.py` meets the same cases on a real palace, and finds the same.
"""

import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from support.endpoint_cases import TOLD, Told, known_cases
from support.mcp_server import Rule, ScriptedMcpServer, self_signed
from support.places import CASES
from support.serve import Serving, container, healthy, process, route_cells, silent, target

from fleet.facts.endpoints import EndpointFact, Trouble
from fleet.facts.running import EnvValue
from fleet.probes.mcp import Further, ask_palace
from fleet.probes.wire import Authority
from fleet.secrets import Secret
from fleet.systems.mempalace_serve.routes import ROUTES
from fleet.systems.mempalace_serve.running import IDLE_HOURS
from fleet.verifier.answers import remedy_of
from fleet.verifier.model import Finding, Verdict

FAIL, NOT_CHECKED = Verdict.FAIL, Verdict.NOT_CHECKED
GOOD = Secret("tok-EXAMPLE-good")
WITH = Further(tuple(route.path for route in ROUTES), strangers=True)

Findings = dict[str, Finding]


def asked(server: ScriptedMcpServer, host: str = "", **more: Any) -> EndpointFact:
    return ask_palace(
        f"{server.scheme}://{host or f'127.0.0.1:{server.port}'}/mcp",
        token=GOOD,
        place="target",
        dial=lambda _host, _port: socket.create_connection(("127.0.0.1", server.port)),
        further=WITH,
        **more,
    )


def judged(*facts: EndpointFact, **variables: Any) -> Findings:
    world = Serving().seen(processes={"server": (process(),)})
    for fact in facts:
        world.heard(fact)
    return world.judged(target(**{"palace_url": facts[0].url, **variables}))


@contextmanager
def case(name: str, file: str = "behaviour.json", **more: Any) -> Iterator[ScriptedMcpServer]:
    with ScriptedMcpServer.from_file(CASES / name / file, **more) as server:
        yield server


# --- each case is met, and told as what it is


def plain(name: str, file: str = "behaviour.json", host: str = "", **more: Any) -> Findings:
    with case(name, file) as server:
        return judged(asked(server, host, **more))


def encrypted(folder: Path, *, declared: bool) -> Findings:
    tls = self_signed(folder)
    with case("E08", tls=tls) as server:
        return judged(asked(server, authority=Authority(str(tls[0])) if declared else None))


def idle(restart: str) -> Findings:
    unset = {IDLE_HOURS: EnvValue(set=False)}
    world = healthy().containers(container(variables=unset, restart=restart))
    world.seen(interfaces={"docker0": ("172.17.0.1",)})
    compose = (CASES / "E12" / "docker-compose.yml").read_text()
    written = f'{compose.rstrip()}\n    restart: "{restart}"\n'
    world.file("~/mempalace-serve/compose.yml", written.encode())
    return world.judged(target(serve_mode="compose"))


ROUTE_RULES: list[Rule] = [
    {"if": {"path": route.path}, "do": {"headers": {"content-type": route.kind}}}
    for route in ROUTES
    if route.since
]


@contextmanager
def both_views(blocked: Sequence[str]) -> Iterator[tuple[EndpointFact, EndpointFact]]:
    """The server of E13, asked past the proxy and through one that keeps paths to itself."""
    with case("E13", "direct.json") as server:
        server.rules[:0] = ROUTE_RULES
        direct = asked(server)
        server.rules[:0] = [{"if": {"path": path}, "do": {"status": 404}} for path in blocked]
        yield direct, asked(server, host="palace.example.net")


def behind(*blocked: str) -> Findings:
    with both_views(blocked) as (direct, proxied):
        return judged(proxied, direct, direct_url=direct.url)


#: How each is met: what is found on it, given a folder to write in.
MET: dict[str, Callable[[Path], Findings]] = {
    "E00": lambda _: plain("E00"),
    "E04": lambda _: plain("E04"),
    "E05": lambda _: plain("E05"),
    "E07": lambda _: plain("E07", deadline=1.5),
    "E07 late": lambda _: plain("E07", "slow.json"),
    "E08": lambda folder: encrypted(folder, declared=False),
    "E08 declared": lambda folder: encrypted(folder, declared=True),
    "E12": lambda _: idle("no"),
    "E12 kept": lambda _: idle("unless-stopped"),
    "E13": lambda _: behind("/logstream/stream"),
    "E13 absent": lambda _: behind(),
    "E14": lambda _: plain("E14", host="palace:8765"),
    "E14 known": lambda _: plain("E14", host="palace"),
}


def test_every_case_is_met() -> None:
    assert set(MET) == set(TOLD)
    assert {name.partition(" ")[0] for name in TOLD} == known_cases()


@pytest.mark.parametrize(("name", "told"), TOLD.items())
def test_a_case_is_told_as_what_it_is(name: str, told: Told, tmp_path: Path) -> None:
    found = MET[name](tmp_path)
    told.check({gate: finding._asdict() for gate, finding in found.items()})


def test_e07_who_was_not_let_in_was_not_let_in() -> None:
    assert plain("E07", deadline=1.5)["auth"].verdict is NOT_CHECKED


def test_e13_the_route_was_never_there_or_is_blocked_on_the_way() -> None:
    with both_views(["/logstream/stream"]) as (direct, proxied):
        found = judged(proxied, direct, direct_url=direct.url)["routes"]
        alone = judged(proxied)["routes"]
    assert found.message == "blocked on the way: /logstream/stream"
    for route in ("/health", "/logstream/events"):
        assert (
            f"{route}: no such route in this server, nor in any release "
            f"{route_cells(404, 404, 404)}"
        ) in found.evidence
    assert f"/healthz: present {route_cells(200, 200, 200)}" in found.evidence
    # One view alone blames nobody.
    assert alone.verdict is NOT_CHECKED


# --- every failure has a name and a remedy


@pytest.mark.parametrize("status", [401, 403, 404, 405, 406, 413, 421, 429, 500, 502, 503, 504])
def test_a_status_has_a_remedy_of_its_own(status: int) -> None:
    with ScriptedMcpServer([{"if": {"method": "POST"}, "do": {"status": status}}]) as server:
        answer = asked(server).answers["initialize"]
    assert (answer.status, answer.trouble) == (status, Trouble.HTTP)
    assert f"HTTP {status}" in answer.detail
    assert remedy_of(answer)


def test_a_redirect_elsewhere_is_told_with_the_token_it_would_drop() -> None:
    do = {"status": 308, "headers": {"location": "https://elsewhere.example.net/mcp"}}
    with ScriptedMcpServer([{"if": {}, "do": do}]) as server:
        found = judged(asked(server))["health"]
    assert found.verdict is FAIL
    assert any("redirected to https://elsewhere.example.net/mcp" in e for e in found.evidence)
    assert "drops the token" in str(found.remedy)
    assert all(h.host.startswith("127.0.0.1") for h in server.heard if h.rpc != "initialize")


@pytest.mark.parametrize("trouble", [t for t in Trouble if t is not Trouble.UNSUPPORTED])
def test_every_trouble_has_a_remedy(trouble: Trouble) -> None:
    status = 404 if trouble is Trouble.HTTP else None
    fact = silent(trouble, status=status)
    found = judged(fact, palace_url=fact.url)["health"]
    assert found.verdict is FAIL
    assert found.remedy == remedy_of(fact.answers["initialize"]) is not None
