"""Sockets from elsewhere: how failures are named, and that nothing outlasts its budget."""

import errno
import socket
import ssl
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.mcp_server import ScriptedMcpServer, palace_rules, self_signed

from fleet.errors import ProbeError, Unreachable, Unsupported
from fleet.facts.endpoints import Answer, EndpointFact, Trouble
from fleet.probes.mcp import ask_palace
from fleet.probes.wire import Authority
from fleet.secrets import Secret

TOKEN = Secret("tok-EXAMPLE-good")


def ask(
    dial: Callable[[str, int], socket.socket] | None,
    url: str = "http://palace.example.net:8765/mcp",
    ca_file: str | None = None,
    deadline: float = 3.0,
) -> EndpointFact:
    authority = Authority(ca_file) if ca_file else None
    return ask_palace(
        url, token=TOKEN, place="target", dial=dial, authority=authority, deadline=deadline
    )


def raising(error: Exception) -> Callable[[str, int], socket.socket]:
    def dial(host: str, port: int) -> socket.socket:
        raise error

    return dial


def from_refusal() -> Unreachable:
    error = Unreachable("cannot open palace:8765", stage="connect")
    error.__cause__ = ConnectionRefusedError()
    return error


@pytest.mark.parametrize(
    "error, trouble",
    [
        (socket.gaierror(socket.EAI_NONAME, "Name or service not known"), Trouble.RESOLVE),
        (ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused"), Trouble.REFUSED),
        (OSError(errno.EHOSTUNREACH, "No route to host"), Trouble.UNREACHABLE),
        (TimeoutError(errno.ETIMEDOUT, "timed out"), Trouble.TIMEOUT),
        (ConnectionResetError(errno.ECONNRESET, "Connection reset by peer"), Trouble.RESET),
        (Unreachable("no such name", stage="resolve"), Trouble.RESOLVE),
        (Unreachable("no answer", stage="timeout"), Trouble.TIMEOUT),
        (Unreachable("Connection refused", stage="connect"), Trouble.REFUSED),
        (from_refusal(), Trouble.REFUSED),
        (Unreachable("administratively prohibited", stage="connect"), Trouble.UNREACHABLE),
        (ProbeError("the channel went away"), Trouble.UNREACHABLE),
        (Unsupported("an image has no network"), Trouble.UNSUPPORTED),
        (EOFError(), Trouble.UNSUPPORTED),
    ],
)
def test_a_dial_that_fails_is_named(error: Exception, trouble: Trouble) -> None:
    answers = ask(raising(error)).answers
    assert answers["initialize"].trouble is trouble
    assert answers["initialize"].detail


def test_what_is_true_of_the_whole_server_is_asked_once() -> None:
    dialled: list[tuple[str, int]] = []

    def dial(host: str, port: int) -> socket.socket:
        dialled.append((host, port))
        raise ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused")

    fact = ask(dial)
    assert dialled == [("palace.example.net", 8765)]
    assert {a.trouble for a in fact.answers.values()} == {Trouble.REFUSED}
    assert {"healthz", "no-token", "wrong-token", "initialize", "statusz"} == set(fact.answers)


@pytest.mark.parametrize(
    "url, host, port",
    [
        ("http://palace/mcp", "palace", 80),
        ("https://palace/mcp", "palace", 443),
        ("http://[fd00::1]:8765/mcp", "fd00::1", 8765),
        ("http://bücher.example.net/mcp", "xn--bcher-kva.example.net", 80),
    ],
)
def test_the_name_is_left_to_the_dialler(url: str, host: str, port: int) -> None:
    dialled: list[tuple[str, int]] = []

    def dial(*where: str | int) -> socket.socket:
        dialled.append((str(where[0]), int(where[1])))
        raise OSError(errno.EHOSTUNREACH, "No route to host")

    ask(dial, url)
    assert dialled == [(host, port)]


def test_a_dial_that_never_returns_does_not_outlast_the_budget() -> None:
    release, closed = threading.Event(), threading.Event()

    class Late(socket.socket):
        def close(self) -> None:
            super().close()
            closed.set()

    dialled = 0

    def dial(host: str, port: int) -> socket.socket:
        nonlocal dialled
        dialled += 1
        release.wait(20)
        return Late()

    start = time.monotonic()
    fact = ask(dial, deadline=0.6)
    assert time.monotonic() - start < 10  # the dial takes 20
    assert fact.answers["initialize"].trouble is Trouble.TIMEOUT
    assert fact.answers["initialize"].detail == "no answer within 0.2 s"
    assert dialled == 1, "a server that cannot be reached was dialled again"
    release.set()
    assert closed.wait(5), "a socket that came late was left open"


def test_a_tls_handshake_that_drips_does_not_outlast_the_budget() -> None:
    ours, theirs = socket.socketpair()
    stop = threading.Event()

    def drip() -> None:
        # A TLS record header that promises 16 KiB, then a byte at a time.
        with suppress(BrokenPipeError):
            theirs.send(b"\x16\x03\x03\x40\x00")
            while not stop.wait(0.02):
                theirs.send(b"\x02")

    thread = threading.Thread(target=drip)
    thread.start()
    start = time.monotonic()
    fact = ask(lambda *_: ours, "https://palace/mcp", deadline=0.9)
    took = time.monotonic() - start
    stop.set()
    thread.join()
    theirs.close()
    assert fact.answers["healthz"].trouble is Trouble.TIMEOUT
    assert took < 10  # the record takes minutes


class Channel:
    """What an ssh channel offers of a socket: no more than this."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self.recv = sock.recv
        self.send = sock.send
        self.settimeout = sock.settimeout
        self.close = sock.close
        self.fileno = sock.fileno


def test_tls_needs_no_real_socket_below_it(tmp_path: Path) -> None:
    cert, key = self_signed(tmp_path)
    with ScriptedMcpServer(palace_rules(), tls=(cert, key)) as server:

        def dial(host: str, port: int) -> socket.socket:
            return Channel(socket.create_connection(("127.0.0.1", server.port)))  # type: ignore[return-value] # a stand-in, as an ssh channel is one

        fact = ask(dial, "https://localhost/mcp", ca_file=str(cert))
        other = ask(dial, "https://palace.example.net/mcp", ca_file=str(cert))
    assert fact.usable is True
    assert server.connections == 2
    assert other.answers["initialize"].trouble is Trouble.TLS
    assert "palace.example.net" in other.answers["initialize"].detail


def test_plain_http_on_a_tls_port_and_the_reverse(tmp_path: Path) -> None:
    tls = self_signed(tmp_path)
    with ScriptedMcpServer(palace_rules(), tls=tls) as server:
        url = server.url.replace("https", "http")
        assert ask(None, url).answers["initialize"].trouble is Trouble.RESET
    with ScriptedMcpServer(palace_rules()) as server:
        fact = ask(None, server.url.replace("http", "https"))
    assert fact.answers["initialize"].trouble is Trouble.TLS
    assert fact.answers["initialize"].detail.startswith("TLS failed: ")


@pytest.mark.parametrize(
    "content, detail",
    [(None, "cannot be read: No such file"), ("no certificate", "holds no certificate")],
)
def test_a_ca_file_that_is_none_is_told(tmp_path: Path, content: str | None, detail: str) -> None:
    file = tmp_path / "ca.pem"
    if content is not None:
        file.write_text(content)
    answer = ask(None, "https://127.0.0.1:1/mcp", ca_file=str(file)).answers["initialize"]
    assert answer.trouble is Trouble.TLS
    assert detail in answer.detail


def test_nothing_listens() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    fact = ask(None, f"http://127.0.0.1:{port}/mcp")
    assert fact.answers["initialize"].trouble is Trouble.REFUSED


def test_proxy_variables_are_not_heeded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    with ScriptedMcpServer(palace_rules()) as server:
        assert ask(None, server.url).usable is True


def test_no_context_ever_skips_verification(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modes: list[ssl.VerifyMode] = []
    wrap = ssl.SSLContext.wrap_bio

    def spy(
        self: ssl.SSLContext,
        incoming: ssl.MemoryBIO,
        outgoing: ssl.MemoryBIO,
        *,
        server_hostname: str | None = None,
    ) -> ssl.SSLObject:
        modes.append(self.verify_mode)
        assert self.check_hostname
        return wrap(self, incoming, outgoing, server_hostname=server_hostname)

    monkeypatch.setattr(ssl.SSLContext, "wrap_bio", spy)
    with ScriptedMcpServer(palace_rules(), tls=self_signed(tmp_path)) as server:
        ask(None, server.url)
    assert set(modes) == {ssl.CERT_REQUIRED}


def spoken(data: bytes) -> Callable[[str, int], socket.socket]:
    """Dial a peer that says ``data`` and hangs up, whatever it is asked."""

    def dial(host: str, port: int) -> socket.socket:
        ours, theirs = socket.socketpair()
        theirs.sendall(data)
        theirs.shutdown(socket.SHUT_WR)
        theirs.close()
        return ours

    return dial


def test_an_answer_before_all_was_heard_counts() -> None:
    fact = ask(spoken(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n"))
    assert fact.answers["initialize"].status == 403


def test_events_that_carry_no_message_are_silence() -> None:
    held: list[socket.socket] = []

    def dial(host: str, port: int) -> socket.socket:
        ours, theirs = socket.socketpair()
        theirs.sendall(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
            b"event: ping\ndata: {}\n\nevent: message\nid: 1\n\n"
        )
        held.append(theirs)
        return ours

    answer = ask(dial, deadline=0.6).answers["initialize"]
    for sock in held:
        sock.close()
    assert answer.trouble is Trouble.SILENT


HEADS = st.sampled_from(
    [
        b"",
        b"HTTP/1.1 200 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"HTTP/1.1 302 Found\r\nLocation: ",
        b"HTTP/1.1 200 OK\r\nMcp-Session-Id: ",
    ]
)
BODIES = st.one_of(
    st.binary(max_size=200),
    st.sampled_from(
        [
            b'{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"x","serverInfo":{"name":[]}}}',
            b'data: {"id":3,"result":{"protocolVersion":"\\ud800","serverInfo":{}}}\n\n',
            b'{"id":1,"error":{"code":1e999,"message":null}}',
            b"[1e400]",
            b"9" * 5000,
        ]
    ),
)


@settings(max_examples=60, deadline=None)
@given(HEADS, BODIES)
def test_no_bytes_whatever_raise(head: bytes, body: bytes) -> None:
    fact = ask(spoken(head + body), deadline=0.6)
    assert isinstance(fact.answers["initialize"], Answer)
    assert EndpointFact.model_validate_json(fact.model_dump_json()) == fact
