"""Where the palace's token goes: to the declared server, and to no other."""

import http.server
import threading
from collections.abc import Iterator

import pytest
from support.homes import CANARY, Homes

from fleet.engine.facts import same_origin

DECLARED = "https://palace.example.net/mcp"


@pytest.mark.parametrize(
    "url",
    [DECLARED, "https://palace.example.net:443/mcp", "https://PALACE.example.net/other/mcp"],
)
def test_the_same_server_is_the_same_server(url: str) -> None:
    assert same_origin(url, DECLARED)


@pytest.mark.parametrize(
    "url",
    [
        "http://palace.example.net/mcp",
        "https://palace.example.net:8443/mcp",
        "https://palace.example.net.evil.example/mcp",
        "https://palace.example.net@evil.example/mcp",
        "https://evil.example/?https://palace.example.net/mcp",
        "ftp://palace.example.net/mcp",
        "https://[::1/mcp",
        "palace.example.net/mcp",
        "",
    ],
)
def test_another_server_is_another_server(url: str) -> None:
    assert not same_origin(url, DECLARED)
    assert not same_origin(DECLARED, None)


class Listener(http.server.BaseHTTPRequestHandler):
    heard: tuple[str, ...] = ()

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("content-length", "0")))
        type(self).heard += (str(self.headers.get("authorization")),)
        self.send_error(401)

    def do_GET(self) -> None:
        type(self).heard += (str(self.headers.get("authorization")),)
        self.send_error(404)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base names it
        pass


@pytest.fixture
def listener() -> Iterator[str]:
    Listener.heard = ()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Listener)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/mcp"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_target_cannot_fetch_the_token_by_exporting_its_own_url(
    homes: Homes, listener: str
) -> None:
    homes.run("provision", "--yes", "--limit", "one")
    with (homes.home("one") / ".profile").open("a") as stream:
        stream.write(f"export MEMPALACE_REMOTE_URL={listener}\n")
    homes.audit("--limit", "one")
    assert Listener.heard
    assert not [header for header in Listener.heard if CANARY in header]
