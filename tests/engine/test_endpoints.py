"""Where the palace's token goes: to the declared server, and to no other."""

from collections.abc import Iterator

import pytest
from support.homes import CANARY, Homes
from support.http import LoopbackServer, Reply

from fleet.engine.palaces import same_origin

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


@pytest.fixture
def listener() -> Iterator[LoopbackServer]:
    """A server of somebody else's that hopes for a token."""
    with LoopbackServer(lambda _: Reply(status=401)) as server:
        yield server


def test_a_target_cannot_fetch_the_token_by_exporting_its_own_url(
    homes: Homes, listener: LoopbackServer
) -> None:
    homes.run("provision", "--yes", "--limit", "one")
    with (homes.home("one") / ".profile").open("a") as stream:
        stream.write(f"export MEMPALACE_REMOTE_URL={listener.url}/mcp\n")
    homes.audit("--limit", "one")
    assert listener.requests
    assert not [r for r in listener.requests if CANARY in f"{r.headers}{r.body!r}"]
