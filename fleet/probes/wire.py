"""HTTP over sockets that somebody else opens: a connector's, so questions start from the target.

Everything here is bounded: a budget of seconds covers dialling, the TLS handshake and every read,
so a server that drips bytes runs out of time like one that sends none. Failures are named as
:class:`fleet.facts.model.Trouble`; certificates are always verified.
"""

import select
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from typing import TypeAlias, TypeVar

import httpcore
import httpx

from fleet.dataclass import dataclass
from fleet.errors import FleetError, ProbeError, Unreachable, Unsupported
from fleet.facts.endpoints import Trouble

Dial: TypeAlias = Callable[[str, int], socket.socket]
T = TypeVar("T")

BODY_LIMIT = 4 * 1024 * 1024
_RECORD = 16 * 1024 + 2048  # one TLS record with its overhead

_TOTAL = frozenset({Trouble.TLS, Trouble.UNSUPPORTED})
_STAGES = {"resolve": Trouble.RESOLVE, "timeout": Trouble.TIMEOUT}


class Troubled(ProbeError):
    """A request did not bring what it asked for.

    Attributes:
        trouble: why.
        status: the HTTP status, where there was one.
        dialling: whether it came up before there was a connection.
    """

    def __init__(self, trouble: Trouble, what: str, *, status: int | None = None) -> None:
        self.trouble = trouble
        self.status = status
        self.dialling = False
        super().__init__(what)

    @property
    def is_total(self) -> bool:
        """Tell whether it is true of the whole server, whatever is asked of it."""
        return self.dialling or self.trouble in _TOTAL


class Budget:
    """Seconds that may still be spent: on everything, and on the request under way."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds
        self._share = seconds
        self._until = self._end

    def begin(self, seconds: float) -> None:
        """Start a request that may take ``seconds``, or what is left where that is less."""
        self._share = min(seconds, max(0.0, self._end - time.monotonic()))
        self._until = time.monotonic() + self._share

    def left(self, at_most: float | None = None) -> float:
        """Return the seconds left to the request under way, or ``at_most`` where that is less.

        Raises:
            Troubled: none are.
        """
        left = self._until - time.monotonic()
        if left <= 0:
            raise self.spent()
        return left if at_most is None else min(left, at_most)

    def spent(self) -> Troubled:
        """Return the error that says how long was waited in vain."""
        return Troubled(Trouble.TIMEOUT, f"no answer within {round(self._share, 1):g} s")


@dataclass(frozen=True, slots=True)
class Authority:
    """Certificates to trust beside the Mozilla roots, as ``NODE_EXTRA_CA_CERTS`` adds them.

    Attributes:
        file: where they lie, for messages; read from this machine where there is no ``pem``.
        pem: their text, where they lie elsewhere; empty for a file that gives none, which a Node
            client passes over with a warning.
    """

    file: str
    pem: str | None = None


def client(
    dial: Dial | None, authority: Authority | None, budget: Budget, *, encrypted: bool
) -> httpx.Client:
    """Return a client whose sockets come from ``dial``; None dials from here.

    It follows no redirect and heeds no proxy variable, so a token goes to the named host only.
    Trust is what a Node client's is: the Mozilla roots, and ``authority`` beside them. The
    machine's own store is not asked.

    Args:
        dial: opens sockets.
        authority: certificates to trust too.
        budget: what all requests together may take.
        encrypted: whether https will be asked for; certificates are loaded only then.

    Raises:
        Troubled: the authority's certificates cannot be read.
    """
    trust = _trust(authority) if encrypted else None
    return httpx.Client(
        transport=_Transport(dial or _direct(budget), trust, budget),
        follow_redirects=False,
        trust_env=False,
        timeout=None,  # noqa: S113 - the budget bounds every read, write and handshake
    )


def _trust(authority: Authority | None) -> ssl.SSLContext:
    context = httpx.create_ssl_context(trust_env=False)
    if authority is None or authority.pem == "":
        return context
    named = f"the CA file {authority.file}"
    try:
        if authority.pem is None:
            context.load_verify_locations(cafile=authority.file)
        else:
            context.load_verify_locations(cadata=authority.pem)
    except ssl.SSLError as error:
        raise Troubled(Trouble.TLS, f"{named} holds no certificate") from error
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "not a path"
        raise Troubled(Trouble.TLS, f"{named} cannot be read: {why}") from error
    return context


def _direct(budget: Budget) -> Dial:
    return lambda host, port: socket.create_connection((host, port), timeout=budget.left())


def named(error: Exception) -> Troubled:
    """Name what a socket, a connector or the HTTP layer says went wrong."""
    if isinstance(error, Troubled):
        return error
    if isinstance(error, FleetError):
        return _named_by_connector(error)
    if isinstance(error, OSError):
        return _named_by_system(error)
    if isinstance(error, httpx.RemoteProtocolError):
        gone = "disconnected" in str(error) or "peer closed" in str(error)
        return Troubled(
            Trouble.RESET if gone else Trouble.NOT_MCP,
            "the connection was closed before the answer ended"
            if gone
            else f"the answer is not HTTP: {error}",
        )
    if isinstance(error, httpx.NetworkError):
        return Troubled(Trouble.RESET, "the connection was lost")
    # Its text may quote a header, so only the kind is told.
    return Troubled(Trouble.UNSUPPORTED, f"cannot be asked ({type(error).__name__})")


def _named_by_connector(error: FleetError) -> Troubled:
    if isinstance(error, Unsupported):
        return Troubled(Trouble.UNSUPPORTED, error.what)
    stage = error.stage if isinstance(error, Unreachable) else ""
    refused = isinstance(error.__cause__, ConnectionRefusedError) or "refused" in error.what.lower()
    default = Trouble.REFUSED if refused else Trouble.UNREACHABLE
    return Troubled(_STAGES.get(stage, default), error.what)


def _named_by_system(error: OSError) -> Troubled:
    text = error.strerror or str(error) or type(error).__name__
    if isinstance(error, ssl.SSLCertVerificationError):
        return Troubled(Trouble.TLS, f"certificate not trusted: {error.verify_message}")
    if isinstance(error, ssl.SSLError):
        reason = (error.reason or text).replace("_", " ").lower()
        return Troubled(Trouble.TLS, f"TLS failed: {reason}")
    if isinstance(error, socket.gaierror):
        return Troubled(Trouble.RESOLVE, text)
    if isinstance(error, TimeoutError):
        return Troubled(Trouble.TIMEOUT, "no answer in time")
    if isinstance(error, ConnectionRefusedError):
        return Troubled(Trouble.REFUSED, text)
    if isinstance(error, ConnectionError):
        return Troubled(Trouble.RESET, text)
    return Troubled(Trouble.UNREACHABLE, text)


class _Plain(httpcore.NetworkStream):
    """A socket, or something like one (an ssh channel), read within the budget."""

    def __init__(self, sock: socket.socket, budget: Budget) -> None:
        self._sock = sock
        self._budget = budget
        with suppress(OSError, AttributeError):  # no TCP socket: a channel, or one end of a pair
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        self._sock.settimeout(self._budget.left(timeout))
        try:
            return self._sock.recv(max_bytes)
        except TimeoutError:
            raise self._budget.spent() from None

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        while buffer:
            self._sock.settimeout(self._budget.left(timeout))
            try:
                buffer = buffer[self._sock.send(buffer) :]
            except TimeoutError:
                raise self._budget.spent() from None
            except OSError as error:
                # Tells the HTTP layer to read on: a server may answer before it has heard all.
                raise httpcore.WriteError(str(error)) from error

    def close(self) -> None:
        self._sock.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> "_Tls":
        try:
            return _Tls(self, ssl_context, server_hostname, timeout)
        except BaseException:
            self.close()
            raise

    def get_extra_info(self, info: str) -> bool | None:
        return self._readable() if info == "is_readable" else None

    def _readable(self) -> bool:
        """Tell whether an idle connection has something to say: that it is over, most likely."""
        try:
            poll = select.poll()
            poll.register(self._sock.fileno(), select.POLLIN)
            return bool(poll.poll(0))
        except (OSError, ValueError):
            return True  # it was closed under us, which is being over


class _Tls(httpcore.NetworkStream):
    """TLS over a plain stream, in memory, so that it needs no real socket below."""

    def __init__(
        self, plain: _Plain, context: ssl.SSLContext, name: str | None, timeout: float | None
    ) -> None:
        self._plain = plain
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=name)
        self._pump(self._tls.do_handshake, timeout)

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        try:
            return self._pump(partial(self._tls.read, max_bytes), timeout)
        except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
            return b""

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        while buffer:
            buffer = buffer[self._pump(partial(self._tls.write, buffer), timeout) :]

    def close(self) -> None:
        self._plain.close()

    def get_extra_info(self, info: str) -> bool | None:
        return self._plain.get_extra_info(info)

    def _pump(self, step: Callable[[], T], timeout: float | None) -> T:
        """Run a TLS step, feeding it what the socket brings until it is content."""
        while True:
            try:
                result = step()
            except ssl.SSLWantReadError:
                self._plain.write(self._outgoing.read(), timeout)
                received = self._plain.read(_RECORD, timeout)
                if received:
                    self._incoming.write(received)
                else:
                    self._incoming.write_eof()
            else:
                self._plain.write(self._outgoing.read(), timeout)
                return result


class _Backend(httpcore.NetworkBackend):
    def __init__(self, dial: Dial, budget: Budget) -> None:
        self._dial = dial
        self._budget = budget

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,  # noqa: ARG002 - the dialler's own matter
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,  # noqa: ARG002 - as above
    ) -> _Plain:
        try:
            sock = self._dialled(host, port, self._budget.left(timeout))
        except Troubled as error:
            error.dialling = True
            raise
        return _Plain(sock, self._budget)

    def _dialled(self, host: str, port: int, seconds: float) -> socket.socket:
        """Dial in a thread of its own: resolving a name heeds no timeout."""
        future: Future[socket.socket] = Future()

        def work() -> None:
            try:
                future.set_result(self._dial(host, port))
            except Exception as error:  # noqa: BLE001 - handed to the waiting thread
                # Named here: the HTTP layer drops the cause, which tells refused from the rest.
                future.set_exception(named(error))

        threading.Thread(target=work, daemon=True, name=f"dial {host}").start()
        try:
            return future.result(timeout=seconds)
        except TimeoutError:
            future.add_done_callback(_close_late)
            raise self._budget.spent() from None


def _close_late(future: "Future[socket.socket]") -> None:
    if future.exception() is None:
        future.result().close()


class _Transport(httpx.BaseTransport):
    def __init__(self, dial: Dial, context: ssl.SSLContext | None, budget: Budget) -> None:
        self._budget = budget
        self._pool = httpcore.ConnectionPool(
            ssl_context=context, max_connections=1, network_backend=_Backend(dial, budget)
        )

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        try:
            response = self._pool.handle_request(
                httpcore.Request(
                    method=request.method,
                    url=httpcore.URL(
                        scheme=request.url.raw_scheme,
                        host=request.url.raw_host,
                        port=request.url.port,
                        target=request.url.raw_path,
                    ),
                    headers=request.headers.raw,
                    content=request.stream,
                )
            )
        except httpcore.RemoteProtocolError as error:
            raise httpx.RemoteProtocolError(str(error)) from error
        except httpcore.NetworkError as error:
            raise httpx.NetworkError("") from error
        return httpx.Response(
            response.status, headers=response.headers, stream=_Body(response, self._budget)
        )

    def close(self) -> None:
        self._pool.close()


class _Body(httpx.SyncByteStream):
    """A response's bytes as sent, no more than ``BODY_LIMIT`` of them."""

    def __init__(self, response: httpcore.Response, budget: Budget) -> None:
        self._response = response
        self._budget = budget

    def __iter__(self) -> Iterator[bytes]:
        size = 0
        try:
            for part in self._response.iter_stream():
                size += len(part)
                if size > BODY_LIMIT:
                    raise Troubled(Trouble.NOT_MCP, f"the answer is larger than {BODY_LIMIT} bytes")
                yield part
        except httpcore.RemoteProtocolError as error:
            raise httpx.RemoteProtocolError(str(error)) from error
        except httpcore.NetworkError as error:
            raise httpx.NetworkError("") from error

    def close(self) -> None:
        self._response.close()
