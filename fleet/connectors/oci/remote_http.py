"""HTTP as registries need it: certificates verified, patience within a deadline, errors named.

No URL is shown past its host: a redirect to a storage host carries a signature in its query.
"""

import email.utils
import os
import re
import socket
import ssl
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from ipaddress import ip_address
from pathlib import Path
from typing import Self

import httpcore
import httpx

from fleet.connectors.deadline import Deadline
from fleet.connectors.oci.remote_wire import TimedTransport
from fleet.connectors.text import one_line
from fleet.dataclass import dataclass
from fleet.errors import ProbeError, Unreachable

TRIES = 5
REDIRECTS = 5
_HTTP = (
    httpx.HTTPError,
    httpcore.NetworkError,
    httpcore.ProtocolError,
    httpcore.ProxyError,
    httpcore.UnsupportedProtocol,
)
_STAGES = {"resolve": "resolve", "timeout": "timeout", "tls": "tls", "certificate": "tls"}
_FIRST_WAIT = 0.5
_AGAIN = frozenset({429, 500, 502, 503, 504})
_MOVED = frozenset({301, 302, 303, 307, 308})


class WireFault(Unreachable):
    """No answer came.

    Attributes:
        kind: ``resolve``, ``refused``, ``certificate``, ``tls``, ``timeout``, ``lost``,
            ``not-http``.
    """

    def __init__(self, kind: str, what: str, *, where: str, hint: str = "") -> None:
        self.kind = kind
        super().__init__(what, stage=_STAGES.get(kind, "connect"), where=where, hint=hint)


@dataclass(frozen=True, slots=True)
class Trust:
    """Whom to talk to, and how.

    Attributes:
        insecure: the inventory says that plain HTTP will do; certificates are verified all the
            same wherever there are any.
        authority: a PEM file of certificates to trust beside the machine's own; empty for none.
    """

    insecure: bool = False
    authority: str = ""

    def plain(self, host: str) -> bool:
        """Tell whether a host may be asked without TLS."""
        return self.insecure or is_loopback(host)

    def context(self, where: str) -> ssl.SSLContext:
        """Return what verifies certificates: the machine's own trust, or ``SSL_CERT_FILE``.

        Raises:
            Unreachable: stage ``tls``; a file of certificates cannot be used.
        """
        named = [name for name in (os.environ.get("SSL_CERT_FILE"), self.authority) if name]
        paths = ssl.get_default_verify_paths()
        kept = paths.cafile or paths.capath or named
        # Some Pythons come without certificates, on machines that keep no file of them.
        context = ssl.create_default_context() if kept else httpx.create_ssl_context()
        for name in named:
            _add(name, context, where)
        return context


def _add(name: str, context: ssl.SSLContext, where: str) -> None:
    try:
        context.load_verify_locations(cafile=Path(name).expanduser())
    except (OSError, ValueError, RuntimeError) as error:
        none = "it holds no certificate" if isinstance(error, ssl.SSLError) else ""
        why = none or getattr(error, "strerror", None) or "it is no path"
        raise Unreachable(
            f"the CA file {one_line(name, 120)} cannot be used: {why}",
            stage="tls",
            where=where,
            hint="the variable registry_ca, or SSL_CERT_FILE, names a PEM file",
        ) from None


def is_loopback(host: str) -> bool:
    """Tell whether a host name or address never leaves this machine."""
    name = host.strip("[]").lower()
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return name == "localhost"


class Wire:
    """Sends requests; a context manager that closes its connections."""

    def __init__(self, trust: Trust, deadline: Deadline, where: str, *, proxies: bool) -> None:
        """Connect to nothing yet.

        Args:
            trust: whom to talk to.
            deadline: of all requests together.
            where: the target.
            proxies: whether the environment's proxies are heeded.

        Raises:
            Unreachable: a CA file cannot be used.
        """
        self._deadline = deadline
        self._where = where
        self._transport = TimedTransport(trust.context(where), deadline, proxies=proxies)
        self._client = httpx.Client(transport=self._transport, follow_redirects=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    @contextmanager
    def sent(
        self,
        url: httpx.URL,
        headers: Mapping[str, str],
        *,
        form: Mapping[str, str] | None = None,
        seconds: float | None = None,
    ) -> Iterator[httpx.Response]:
        """Send a request, again where the server is busy; the body is still to be read.

        Args:
            url: where to.
            headers: beside those that every request has.
            form: posted where there is one.
            seconds: the most that connecting and each read may take.

        Raises:
            WireFault: no answer came; stage ``timeout`` too where the server says to wait longer
                than there is time.
            ProbeError: it was busy each time.
        """
        for number in range(TRIES):
            wait = _FIRST_WAIT * 2**number
            try:
                response = self._answer(url, headers, form, seconds)
            except WireFault as error:
                if error.kind != "lost" or number > 0:
                    raise
                self._wait(error.what, wait)
                continue
            with closing(response):
                if response.status_code not in _AGAIN:
                    with self._named(url, seconds):
                        yield response
                    return
                busy = f"{shown_host(url)} answered HTTP {response.status_code}"
                wait = _wished(response.headers.get("retry-after", ""), wait)
            if number + 1 < TRIES:
                self._wait(busy, wait)
        raise ProbeError(
            f"{busy}, {TRIES} times",
            where=self._where,
            hint="it is busy or broken: try again later",
        )

    def body(self, response: httpx.Response, limit: int) -> bytes | None:
        """Return a body as it was sent; None when it is longer than ``limit`` bytes."""
        held = bytearray()
        for part in self.parts(response):
            held += part
            if len(held) > limit:
                return None
        return bytes(held)

    def _answer(
        self,
        url: httpx.URL,
        headers: Mapping[str, str],
        form: Mapping[str, str] | None,
        seconds: float | None,
    ) -> httpx.Response:
        every = {"user-agent": "fleet", "accept-encoding": "identity"}
        left = self._left(seconds)
        with self._named(url, seconds):
            request = self._client.build_request(
                "GET" if form is None else "POST",
                url,
                headers={**every, **headers},
                data=form,
                timeout=left,
            )
            return self._client.send(request, stream=True)

    def parts(self, response: httpx.Response) -> Iterator[bytes]:
        """Yield a body's bytes as they come."""
        for part in response.iter_raw():
            if self._deadline.passed:
                raise httpcore.ReadTimeout
            yield part

    def _left(self, seconds: float | None) -> float:
        left = self._deadline.left()
        return left if seconds is None else min(left, seconds)

    def _wait(self, why: str, seconds: float) -> None:
        if seconds >= self._deadline.left():
            raise WireFault(
                "timeout",
                f"{why}; it is to be asked again in {seconds:g} s, and there is less time",
                where=self._where,
                hint="raise --timeout, or try again later",
            )
        time.sleep(seconds)

    @contextmanager
    def _named(self, url: httpx.URL, seconds: float | None) -> Iterator[None]:
        """Name what went wrong on the way."""
        try:
            yield
        except httpcore.TimeoutException:
            limit = self._deadline.seconds if seconds is None else seconds
            raise WireFault(
                "timeout",
                f"no answer from {shown_host(url)} within {limit:g} s",
                where=self._where,
                hint="raise --timeout",
            ) from None
        except _HTTP as error:
            proxy = self._transport.proxy_of(url)
            raise _fault(error, shown_host(url), proxy, self._where) from None
        except ValueError:
            raise Unreachable(
                "a proxy variable of the environment cannot be used",
                stage="connect",
                where=self._where,
                hint="https_proxy and all_proxy take http:// URLs",
            ) from None


def moved_to(response: httpx.Response) -> httpx.URL | None:
    """Return where a redirect leads; None for any other answer, or where it leads nowhere."""
    location = response.headers.get("location", "")
    if response.status_code not in _MOVED or not location:
        return None
    try:
        return response.url.join(location)
    except (httpx.InvalidURL, ValueError):
        return None


def shown_host(url: httpx.URL) -> str:
    """Return a URL's host and port, fit for an error."""
    return one_line(f"{url.host}:{url.port}" if url.port else url.host, 120)


def _wished(told: str, otherwise: float) -> float:
    """Return how many seconds a server wishes to be left alone: ``Retry-After``, either form."""
    if told.strip().isdecimal():
        return float(told)
    try:
        moment = email.utils.parsedate_to_datetime(told).timestamp()
    except (TypeError, ValueError, OverflowError):
        return otherwise
    return max(0.0, moment - time.time())


def _fault(error: Exception, host: str, proxy: str, where: str) -> WireFault:
    peer = f"the proxy {one_line(proxy, 120)} of the environment" if proxy else host
    cause = _system_error(error)
    if isinstance(cause, ssl.SSLCertVerificationError):
        return WireFault(
            "certificate",
            f"the certificate of {host} is not trusted: {one_line(cause.verify_message)}",
            where=where,
            hint="name its authority's PEM file by the variable registry_ca, or by SSL_CERT_FILE",
        )
    if isinstance(cause, ssl.SSLError):
        reason = (cause.reason or str(cause)).replace("_", " ").lower()
        return WireFault(
            "tls",
            f"no TLS with {host}: {one_line(reason)}",
            where=where,
            hint="if it speaks plain HTTP, and may: -e registry_insecure=true",
        )
    if isinstance(cause, socket.gaierror):
        return WireFault(
            "resolve",
            f"{peer} has no address: {one_line(cause.strerror or '')}",
            where=where,
            hint="is the name right?",
        )
    if isinstance(cause, ConnectionRefusedError):
        return WireFault("refused", f"nothing listens at {peer}: connection refused", where=where)
    if isinstance(error, httpcore.ProxyError):
        return WireFault("refused", f"{peer} does not lead to {host}{_status(error)}", where=where)
    return _broken(error, cause, host, where)


def _broken(error: Exception, cause: OSError | None, host: str, where: str) -> WireFault:
    if isinstance(error, httpcore.RemoteProtocolError) and "disconnected" not in str(error):
        if "peer closed" in str(error):
            return WireFault("lost", f"the answer of {host} broke off", where=where)
        return WireFault("not-http", f"what answers at {host} does not speak HTTP", where=where)
    why = cause.strerror if cause and cause.strerror else "it was closed without an answer"
    return WireFault("lost", f"the connection to {host} was lost: {one_line(why)}", where=where)


def _status(error: Exception) -> str:
    """Return the status that a proxy answered, and none of its words."""
    match = re.match(r"[0-9]{3}\b", str(error))
    return f" (HTTP {match[0]})" if match else ""


def _system_error(error: BaseException) -> OSError | None:
    """Find the system's own error in a chain; the HTTP layers wrap it."""
    met: set[int] = set()
    pending: list[BaseException | None] = [error]
    while pending:
        each = pending.pop()
        if each is None or id(each) in met:
            continue
        met.add(id(each))
        if isinstance(each, OSError) and not isinstance(each, TimeoutError):
            return each
        pending += [each.__cause__, each.__context__]
    return None
