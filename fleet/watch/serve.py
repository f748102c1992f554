"""``/metrics`` and ``/healthz`` on a loopback port."""

import ipaddress
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from fleet.dataclass import dataclass
from fleet.errors import UsageError

TYPE = "text/plain; version=0.0.4; charset=utf-8"
SECONDS = 10  # that a client may take


@dataclass(frozen=True, slots=True)
class Page:
    """One answer."""

    status: int
    text: str


Pages = dict[str, Callable[[], Page]]


class Server:
    """Serves pages in a thread of its own until it is closed.

    Args:
        host: a loopback address.
        port: 0 takes one that is free.
        pages: what to answer, by path; called in any thread.

    Raises:
        UsageError: it is no loopback address, or the port cannot be had.
    """

    def __init__(self, host: str, port: int, pages: Pages) -> None:
        if not ipaddress.ip_address(host).is_loopback:
            raise UsageError(
                f"{host} is no loopback address, and whoever asks is not asked who it is",
                hint="listen on 127.0.0.1, and let a proxy with a login serve it further",
            )
        try:
            self._server = _Server((host, port), _handler(pages))
        except OSError as error:
            why = error.strerror or str(error)
            raise UsageError(
                f"cannot listen on {host}:{port}: {why}", hint="--listen names another port"
            ) from None
        self._thread = Thread(target=self._server.serve_forever, name="metrics", daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        """Return the port it listens on."""
        return int(self._server.server_address[1])

    def close(self) -> None:
        """Stop answering."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of a client that went away."""


def _handler(pages: Pages) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = SECONDS
        server_version = "fleet"
        sys_version = ""

        def do_GET(self) -> None:
            made = pages.get(self.path.partition("?")[0])
            page = made() if made else Page(404, "/metrics and /healthz are here\n")
            data = page.text.encode()
            self.send_response(page.status)
            self.send_header("Content-Type", TYPE)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data)

        def do_HEAD(self) -> None:
            self.do_GET()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its own name
            """Say nothing of who asked."""

    return Handler
