"""What every server of the tests shares: a free port, a thread of its own, an orderly end."""

from __future__ import annotations

import socket
import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from pathlib import Path

LOOPBACK = "127.0.0.1"


def free_port(address: str = LOOPBACK) -> int:
    """Return a port of an address that nothing listens on right now."""
    with socket.socket() as probe:
        probe.bind((address, 0))
        return int(probe.getsockname()[1])


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up is part of the tests."""


class ThreadedServer:
    """Serve HTTP on a free port while the `with` block runs.

    Args:
        handler: answers the requests.
        tls: a certificate's file and its key's, to serve HTTPS.
        address: one of this machine's.

    Attributes:
        stopping: set when the block ends; a handler that holds an answer back waits for it.
    """

    def __init__(
        self,
        handler: type[BaseHTTPRequestHandler],
        *,
        tls: tuple[Path, Path] | None = None,
        address: str = LOOPBACK,
    ) -> None:
        self.address = address
        self.scheme = "https" if tls else "http"
        self.stopping = threading.Event()
        self._server = _Server((address, 0), handler)
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*tls)
            self._server.socket = context.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self._server.server_address[1])

    @property
    def origin(self) -> str:
        """The base address, without a trailing slash."""
        return f"{self.scheme}://{self.address}:{self.port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stopping.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
