"""Palaces that failed others, asked as an audit asks and judged (E00 to E14)."""

import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from support.mcp_server import Rule, ScriptedMcpServer, self_signed
from support.places import CASES
from support.serve import Serving, process, silent, target

from fleet.facts.model import EndpointFact, Trouble
from fleet.probes.mcp import Further, ask_palace
from fleet.probes.wire import Authority
from fleet.secrets import Secret
from fleet.systems.mempalace_serve.routes import ROUTES
from fleet.verifier.answers import remedy_of
from fleet.verifier.model import Finding, Verdict

FAIL, PASS, NOT_CHECKED = Verdict.FAIL, Verdict.PASS, Verdict.NOT_CHECKED
GOOD = Secret("tok-EXAMPLE-good")
WITH = Further(tuple(route.path for route in ROUTES), strangers=True)


def asked(server: ScriptedMcpServer, host: str = "", **more: Any) -> EndpointFact:
    return ask_palace(
        f"{server.scheme}://{host or f'127.0.0.1:{server.port}'}/mcp",
        token=GOOD,
        place="target",
        dial=lambda _host, _port: socket.create_connection(("127.0.0.1", server.port)),
        further=WITH,
        **more,
    )


def judged(*facts: EndpointFact, **variables: Any) -> dict[str, Finding]:
    world = Serving().seen(processes={"server": (process(),)})
    for fact in facts:
        world.heard(fact)
    return world.judged(target(**{"palace_url": facts[0].url, **variables}))


@contextmanager
def case(name: str, file: str = "behaviour.json", **more: Any) -> Iterator[ScriptedMcpServer]:
    with ScriptedMcpServer.from_file(CASES / name / file, **more) as server:
        yield server


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("E00", "behaviour.json"),
        ("E04", "behaviour.json"),
        ("E05", "behaviour.json"),
        ("E07", "slow.json"),
    ],
)
def test_a_palace_that_only_looks_odd_is_healthy(name: str, file: str) -> None:
    with case(name, file) as server:
        found = judged(asked(server))
    for gate in ("reach", "auth", "version", "health"):
        assert found[gate].verdict is PASS, found[gate]


def test_e07_a_buffered_stream_fails_in_time_and_names_buffering() -> None:
    with case("E07") as server:
        found = judged(asked(server, deadline=1.5))
    assert found["health"].verdict is FAIL
    assert any("silent: headers came, but no data within" in e for e in found["health"].evidence)
    assert "proxy_buffering off" in str(found["health"].remedy)
    assert found["auth"].verdict is NOT_CHECKED


def test_e08_an_authority_of_its_own_is_trusted_only_where_it_is_declared(tmp_path: Path) -> None:
    tls = self_signed(tmp_path)
    with case("E08", tls=tls) as server:
        blind = judged(asked(server))
        found = judged(asked(server, authority=Authority(str(tls[0]))))
    assert blind["health"].verdict is FAIL
    assert any("tls: certificate not trusted" in e for e in blind["health"].evidence)
    assert "palace_ca" in str(blind["health"].remedy)
    assert found["health"].verdict is PASS


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


def test_e13_the_route_was_never_there_or_is_blocked_on_the_way() -> None:
    with both_views(["/logstream/stream"]) as (direct, proxied):
        found = judged(proxied, direct, direct_url=direct.url)["routes"]
        alone = judged(proxied)["routes"]
    assert found.message == "blocked on the way: /logstream/stream"
    for route in ("/health", "/logstream/events"):
        assert (
            f"{route}: no such route in this server, nor in any release (direct 404, proxied 404)"
        ) in found.evidence
    assert "/healthz: present (direct 200, proxied 200)" in found.evidence
    # One view alone blames nobody.
    assert alone.verdict is NOT_CHECKED


def test_e13_without_a_block_nothing_is_blamed() -> None:
    with both_views([]) as (direct, proxied):
        found = judged(proxied, direct, direct_url=direct.url)["routes"]
    assert found.verdict is PASS


def test_e14_the_name_with_its_port_is_refused_and_named() -> None:
    with case("E14") as server:
        found = judged(asked(server, host="palace:8765"))
        bare = judged(asked(server, host="palace"))
    assert found["health"].verdict is FAIL
    assert any("HTTP 421 for Host palace:8765" in e for e in found["health"].evidence)
    assert "with its port" in str(found["health"].remedy)
    assert bare["health"].verdict is PASS


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
