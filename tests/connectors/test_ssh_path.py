"""Ways to a host: jump hosts, a ProxyCommand, and TCP through the connection."""

import http.server
import shlex
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.client import Client
from support.loopback import free_port
from support.sshd import Sshd

from fleet.errors import Unreachable, Unsupported
from fleet.secrets import Secret

pytestmark = pytest.mark.usefixtures("no_thread_is_left")
StartSshd = Callable[..., Sshd]
CARRY = """
import os, select, socket, sys
peer = socket.create_connection((sys.argv[1], int(sys.argv[2])))
while True:
    ready, _, _ = select.select([0, peer], [], [])
    data = os.read(0, 65536) if 0 in ready else b"?"
    if not data: break
    if 0 in ready: peer.sendall(data)
    if peer in ready:
        answer = peer.recv(65536)
        if not answer: break
        os.write(1, answer)
"""


@pytest.fixture(scope="module")
def edge(start_sshd: StartSshd) -> Sshd:
    return start_sshd()


@pytest.fixture(scope="module")
def inner(start_sshd: StartSshd) -> Sshd:
    return start_sshd()


def reach(client: Client, alias: str = "palace") -> bytes:
    return client.connect(alias).apply("echo hello", Secret("")).output


def failure(client: Client, alias: str = "palace") -> Unreachable:
    with pytest.raises(Unreachable) as caught:
        reach(client, alias)
    return caught.value


def test_a_chain_of_jump_hosts(client: Client, edge: Sshd, inner: Sshd, sshd: Sshd) -> None:
    for server in (edge, inner):
        server.forget()
    client.host("edge", edge)
    client.host("inner", inner)
    client.host("palace", sshd, "ProxyJump edge,inner")
    client.know(edge.known(), inner.known(), sshd.known())
    connector = client.connect("palace")
    assert connector.apply("echo hello", Secret("")).output == b"hello\n"
    assert (edge.connections, inner.connections, sshd.connections) == (1, 1, 1)
    assert (edge.sessions, inner.sessions, sshd.sessions) == (0, 0, 1)
    assert connector.connects == 1


def test_an_unreachable_hop_is_named(client: Client, edge: Sshd, sshd: Sshd) -> None:
    closed = free_port()
    client.host("edge", edge)
    client.host("inner", sshd, port=closed)
    client.host("palace", sshd, "ProxyJump edge,inner")
    client.know(edge.known(), sshd.known())
    error = failure(client)
    assert error.stage == "connect"
    assert f":{closed} (jump host to palace)" in error.where
    assert error.what == "from the jump host before it: connection refused"


def test_a_first_hop_that_is_down_is_named(client: Client, sshd: Sshd) -> None:
    closed = free_port()
    client.host("edge", sshd, port=closed)
    client.host("palace", sshd, "ProxyJump edge")
    error = failure(client)
    assert f":{closed} (jump host to palace)" in error.where
    assert error.what == "connection refused"


def test_the_target_behind_a_hop_is_named(client: Client, edge: Sshd, sshd: Sshd) -> None:
    closed = free_port()
    client.host("edge", edge)
    client.host("palace", sshd, "ProxyJump edge", port=closed)
    client.know(edge.known())
    error = failure(client)
    assert error.where.endswith(f":{closed}")


@pytest.fixture
def carrier(tmp_path: Path) -> str:
    program = tmp_path / "carry.py"
    program.write_text(CARRY)
    return f"{shlex.quote(sys.executable)} {shlex.quote(str(program))}"


def test_a_proxy_command_carries_the_connection(client: Client, sshd: Sshd, carrier: str) -> None:
    client.host("palace", sshd, f"ProxyCommand {carrier} %h %p 2>/dev/null")
    client.know(sshd.known())
    assert reach(client) == b"hello\n"


@pytest.mark.parametrize(
    "command", ["printf 'no \\033[1mway\\n' >&2; exit 1", "nonexistent-program %h", "sleep 30"]
)
def test_a_proxy_command_that_fails_is_quoted(client: Client, sshd: Sshd, command: str) -> None:
    client.host("palace", sshd, f"ProxyCommand sh -c {shlex.quote(command)}", "ConnectTimeout 1")
    error = failure(client)
    assert error.stage in ("connect", "timeout")
    assert "ProxyCommand" in error.hint
    assert "\x1b" not in str(error)
    if "way" in command:
        assert "no \\x1b[1mway" in error.hint


@pytest.fixture
def echo() -> Iterator[int]:
    """A server that answers what it hears, in capitals, until its peer stops talking."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    peer, _ = server.accept()
                except OSError:
                    return
                with peer:
                    while data := peer.recv(65536):
                        peer.sendall(data.upper())

        thread = threading.Thread(target=serve)
        thread.start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
        thread.join()


@pytest.fixture
def palace(client: Client, sshd: Sshd) -> Client:
    client.host("palace", sshd)
    client.know(sshd.known())
    return client


def test_tcp_from_the_target(palace: Client, echo: int) -> None:
    connector = palace.connect("palace")
    with connector.open_tcp("localhost", echo) as stream:
        stream.sendall(b"hello")
        stream.shutdown(socket.SHUT_WR)
        assert stream.makefile("rb").read() == b"HELLO"
    connector.close()


def test_tcp_carries_more_than_any_buffer_both_ways(palace: Client, echo: int) -> None:
    connector = palace.connect("palace")
    sent = bytes(range(97, 123)) * 200_000
    with connector.open_tcp("127.0.0.1", echo) as stream:

        def feed() -> None:
            stream.sendall(sent)
            stream.shutdown(socket.SHUT_WR)

        feeder = threading.Thread(target=feed)
        feeder.start()
        with stream.makefile("rb") as reader:
            assert reader.read() == sent.upper()
        feeder.join()


def test_a_tunnel_ends_when_the_caller_closes_it(palace: Client, echo: int) -> None:
    connector = palace.connect("palace")
    stream = connector.open_tcp("127.0.0.1", echo)
    stream.close()
    deadline = time.monotonic() + 5
    while any(thread.name.startswith("tunnel") for thread in threading.enumerate()):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_close_ends_an_open_tunnel(palace: Client, echo: int) -> None:
    connector = palace.connect("palace")
    with connector.open_tcp("127.0.0.1", echo) as stream:
        connector.close()
        stream.settimeout(5)
        assert stream.recv(1) == b""


def test_tls_works_through_a_tunnel(palace: Client, tmp_path: Path) -> None:
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    subject = [
        "-subj",
        "/CN=palace.example.net",
        "-addext",
        "subjectAltName=DNS:palace.example.net",
    ]
    out = ["-keyout", str(key), "-out", str(certificate)]
    subprocess.run([*command, *subject, *out], check=True, capture_output=True)
    here = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    here.load_cert_chain(certificate, key)

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"over tls")

        def log_message(self, *_: object) -> None:
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Quiet) as server:
        server.socket = here.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        trust = ssl.create_default_context(cafile=str(certificate))
        with (
            palace.connect("palace").open_tcp("127.0.0.1", server.server_port) as plain,
            trust.wrap_socket(plain, server_hostname="palace.example.net") as stream,
        ):
            stream.sendall(b"GET / HTTP/1.0\r\n\r\n")
            assert stream.makefile("rb").read().endswith(b"over tls")
        server.shutdown()
        thread.join()


def test_a_port_that_is_closed_on_the_target_is_refused(palace: Client) -> None:
    connector = palace.connect("palace")
    with pytest.raises(Unreachable) as caught:
        connector.open_tcp("127.0.0.1", free_port())
    assert (caught.value.stage, caught.value.what) == ("connect", "connection refused")
    assert connector.apply("echo still", Secret("")).output == b"still\n"


def test_a_name_unknown_to_the_target_is_told(palace: Client) -> None:
    with pytest.raises(Unreachable) as caught:
        palace.connect("palace").open_tcp("no-such-host.invalid", 80)
    assert caught.value.stage == "resolve"
    assert "no-such-host.invalid:80 from palace" in str(caught.value)


def test_a_server_that_forbids_forwarding_is_unsupported(
    client: Client, start_sshd: StartSshd
) -> None:
    closed = start_sshd("AllowTcpForwarding no")
    client.host("palace", closed)
    client.know(closed.known())
    with pytest.raises(Unsupported, match="forbids forwarding"):
        client.connect("palace").open_tcp("127.0.0.1", 80)
