"""The cases E00 to E14 on a real palace behind a real nginx that answers as in each of them.

What is found is what `test_serve_cases.py` finds on the scripted servers. Each proxy is first seen
to do what its case says, by a client that takes no care.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from support.endpoint_cases import TOLD, known_cases
from support.http import EmbeddingStub, LoopbackServer, Reply, Request
from support.places import CASES
from support.proxy import proxied
from support.vault import TOKEN, Vault, vault

from fleet.systems.mempalace_serve.running import IDLE_HOURS

pytestmark = pytest.mark.network

SECONDS = 3.0
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "careless", "version": "0"},
    },
}

# A proxy that lets through only who accepts both, and answers a bare GET with 406.
PICKY = """
if ($http_accept !~ "application/json") { return 406; }
if ($http_accept !~ "text/event-stream") { return 406; }
"""
# The palace's own answer in the frame of an event stream: a comment, a notification, and then the
# answer over two lines of data.
FRAMED = r"""
proxy_hide_header Content-Type;
add_header Content-Type text/event-stream;
sub_filter_types *;
set $ping ': ping\n\nevent: message\n';
set $told 'data: {"jsonrpc": "2.0", "method": "notifications/message", "params": {}}\n\n';
sub_filter '{"jsonrpc":' '${ping}${told}event: message\ndata: {"jsonrpc":';
sub_filter '"result":' '\ndata: "result":';
addition_types *;
add_after_body /ending;
"""
ENDING = r"""location = /ending { internal; default_type text/plain; return 200 "\n\n"; }"""
# The palace's own stream of events in place of its answer: headers, and nothing until much later.
SILENT = """
proxy_method GET;
proxy_pass_request_body off;
proxy_set_header Content-Length "";
proxy_buffering off;
rewrite ^ /logstream/stream break;
"""
# A service that says who may enter, and takes its time over that.
LATE = """
location = /late {
  internal;
  proxy_pass {late};
  proxy_pass_request_body off;
  proxy_set_header Content-Length "";
  proxy_set_header X-Host $host;
}
"""
# A server that knows one name, and no other.
KNOWS = 'if ($http_host != "{}") {{ return 421; }}'


@dataclass(frozen=True, slots=True)
class Met:
    """How a case is met on a real palace.

    Attributes:
        endpoint: what nginx does with /mcp.
        beside: what else its server has; ``{late}`` is the address of a server that takes its time.
        careless: what a client gets that accepts anything: status, content type, how its body
            begins; None for a body that never comes. It is not tried where this is None.
        how: further words for the proxy.
        trusted: whether the proxy's authority is declared.
    """

    endpoint: str = ""
    beside: str = ""
    careless: tuple[int, str, str | None] | None = None
    how: Mapping[str, Any] = field(default_factory=dict)
    trusted: bool = False


JSON, STREAM, HTML = "application/json", "text/event-stream", "text/html"
BLOCKED = ["/logstream/stream"]
MET: dict[str, Met] = {
    "E00": Met(careless=(200, JSON, '{"jsonrpc": "2.0"')),
    "E04": Met(PICKY, careless=(406, HTML, "<html>")),
    "E05": Met(FRAMED, ENDING, careless=(200, STREAM, ": ping\n\nevent: message\ndata: {")),
    "E07": Met(SILENT, careless=(200, STREAM, None)),
    "E07 late": Met("auth_request /late;", LATE),
    "E08": Met(how={"tls": True}),
    "E08 declared": Met(how={"tls": True}, trusted=True),
    "E13": Met(how={"blocked": BLOCKED}),
    "E13 absent": Met(),
    "E14": Met(KNOWS.format("localhost"), careless=(421, HTML, "<html>")),
    "E14 known": Met(KNOWS.format("$host:$server_port"), careless=(200, JSON, "{")),
}
#: Met where no proxy takes part.
ALONE = {"E12", "E12 kept"}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vault]:
    """A palace that holds a drawer, for an empty one is not yet healthy."""
    folder = tmp_path_factory.mktemp("vault")
    with EmbeddingStub() as embedding:
        # A stream that nobody reads any more is let go only after some seconds.
        more = {"MEMPALACE_MCP_EXTRA_ALLOWED_HOSTS": "localhost", "MEMPALACE_SSE_MAX_CLIENTS": "99"}
        more |= embedding.environment
        with vault(folder, more=more) as made:
            written(made)
            yield made


def written(at: Vault) -> None:
    """Write a first drawer, as an agent does."""
    drawer = {"wing": "house", "room": "hall", "content": "the key hangs by the door"}
    call = {"name": "mempalace_add_drawer", "arguments": drawer}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    status, _, body = said(at.palace.url, message)
    assert status == 200
    assert "drawer_id" in body, body


def said(url: str, message: Mapping[str, Any], *, whole: bool = True) -> tuple[int, str, str]:
    """Ask as a client that accepts anything; returns the status, content type and body."""
    headers = {"authorization": f"Bearer {TOKEN}", "accept": "*/*"}
    with (
        httpx.Client(trust_env=False, timeout=60) as client,
        client.stream("POST", url, json=message, headers=headers) as response,
    ):
        kind = response.headers.get("content-type", "").partition(";")[0]
        return response.status_code, kind, response.read().decode() if whole else ""


def late(request: Request) -> Reply:
    """Take three seconds for the client's first question, as the scripted case does."""
    headers = request.headers
    first = (
        headers.get("authorization") == f"Bearer {TOKEN}"
        and "mcp-protocol-version" not in headers
        and "origin" not in headers
        and headers["x-host"] == "127.0.0.1"
    )
    return Reply(hold=SECONDS if first else 0)


@pytest.fixture(scope="module")
def clock() -> Iterator[LoopbackServer]:
    with LoopbackServer(late) as server:
        yield server


def test_every_case_is_met() -> None:
    assert {*MET, *ALONE} == set(TOLD)
    assert {name.partition(" ")[0] for name in TOLD} == known_cases()


@pytest.mark.parametrize("name", MET)
def test_a_case_is_told_as_what_it_is(
    name: str, served: Vault, clock: LoopbackServer, tmp_path: Path
) -> None:
    met = MET[name]
    with proxied(
        served.palace.port,
        tmp_path / "proxy",
        endpoint=met.endpoint,
        beside=met.beside.replace("{late}", clock.url),
        **met.how,
    ) as proxy:
        if met.careless:
            status, kind, body = met.careless
            got = said(proxy.url, HELLO, whole=body is not None)
            assert (got[0], got[1], got[2][: len(body or "")]) == (status, kind, body or "")
        trusted = str(proxy.authority) if met.trusted else ""
        found = served.audit(proxy.url, palace_ca=trusted, allow_empty=False)
    TOLD[name].check(found)


def test_a_damaged_palace_is_up_and_not_usable(tmp_path: Path) -> None:
    with EmbeddingStub() as embedding, vault(tmp_path, more=embedding.environment) as made:
        written(made)
        whole = made.audit(made.palace.url, allow_empty=False)["health"]
        database = made.palace.path / "chroma.sqlite3"
        with database.open("r+b") as file:
            file.write(b"\xff" * 8192)
        damaged = made.audit(made.palace.url)["health"]
        up = httpx.get(made.palace.url.removesuffix("mcp") + "healthz", trust_env=False)
    assert whole["verdict"] == "pass", whole
    assert (up.status_code, up.text.strip()) == (200, "ok")
    assert damaged["verdict"] == "fail", damaged
    assert damaged["message"] == "answers, but is not usable"


@pytest.mark.parametrize(("name", "hours"), [("E12", "8"), ("E12 kept", "0")])
def test_e12_a_palace_that_ends_by_itself(name: str, hours: str, tmp_path: Path) -> None:
    with vault(tmp_path, more={IDLE_HOURS: hours}) as idle:
        folder = tmp_path / "serve"
        folder.mkdir()
        compose = (CASES / "E12" / "docker-compose.yml").read_text().replace("172.17.0.1", "::1")
        kept = '    restart: "unless-stopped"\n' if hours == "0" else ""
        (folder / "compose.yml").write_text(f"{compose.rstrip()}\n{kept}")
        found = idle.audit(idle.palace.url, serve_mode="compose", compose_dir=str(folder))
    TOLD[name].check(found)
