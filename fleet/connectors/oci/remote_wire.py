"""Sockets for a registry's requests: nothing on them outlasts the deadline, proxies are heeded.

A timeout of the HTTP layer begins anew with every byte, so a server that drips its answer would
never meet one. Here each read and write ends when the whole reading has to.
"""

import ssl
from collections.abc import Iterable, Iterator
from urllib.request import getproxies, proxy_bypass

import httpcore
import httpx

from fleet.connectors.deadline import Deadline


class TimedTransport(httpx.BaseTransport):
    """Carries httpx's requests; raises httpcore's exceptions."""

    def __init__(self, context: ssl.SSLContext, deadline: Deadline, *, proxies: bool) -> None:
        """Open nothing yet.

        Args:
            context: verifies certificates, a proxy's too.
            deadline: when every connection ends.
            proxies: whether the environment's proxies are heeded.
        """
        self._context = context
        self._backend = _Backend(deadline)
        self._proxies = proxies
        self._pools: dict[str, httpcore.ConnectionPool] = {}

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send one request.

        Raises:
            ValueError: a proxy variable names none that can be used; repeats nothing of it.
        """
        stream = request.stream
        response = self._pool(request.url).handle_request(
            httpcore.Request(
                method=request.method,
                url=httpcore.URL(
                    scheme=request.url.raw_scheme,
                    host=request.url.raw_host,
                    port=request.url.port,
                    target=request.url.raw_path,
                ),
                headers=request.headers.raw,
                content=stream if isinstance(stream, httpx.SyncByteStream) else None,
                extensions=request.extensions,
            )
        )
        return httpx.Response(response.status, headers=response.headers, stream=_Body(response))

    def close(self) -> None:
        """Close all connections."""
        for pool in self._pools.values():
            pool.close()

    def proxy_of(self, url: httpx.URL) -> str:
        """Return the host and port of the proxy that leads to a URL; empty where none does."""
        try:
            proxy = httpx.URL(_with_scheme(_proxy_of(url) if self._proxies else ""))
        except httpx.InvalidURL:
            return ""
        return f"{proxy.host}:{proxy.port}" if proxy.port else proxy.host

    def _pool(self, url: httpx.URL) -> httpcore.ConnectionPool:
        proxy = _proxy_of(url) if self._proxies else ""
        if proxy not in self._pools:
            self._pools[proxy] = self._proxied(proxy) if proxy else self._direct()
        return self._pools[proxy]

    def _direct(self) -> httpcore.ConnectionPool:
        return httpcore.ConnectionPool(ssl_context=self._context, network_backend=self._backend)

    def _proxied(self, proxy: str) -> httpcore.ConnectionPool:
        try:
            url = httpx.URL(_with_scheme(proxy))
        except httpx.InvalidURL:
            url = httpx.URL("")
        if url.scheme not in ("http", "https") or not url.host:
            raise ValueError("no proxy that can be used")
        return httpcore.HTTPProxy(
            proxy_url=str(url.copy_with(username=None, password=None)),
            proxy_auth=(url.username, url.password) if url.userinfo else None,
            ssl_context=self._context,
            proxy_ssl_context=self._context if url.scheme == "https" else None,
            network_backend=self._backend,
        )


def _with_scheme(proxy: str) -> str:
    return proxy if "://" in proxy else f"http://{proxy}"


def _proxy_of(url: httpx.URL) -> str:
    if proxy_bypass(f"{url.host}:{url.port}" if url.port else url.host):
        return ""
    known = getproxies()
    return known.get(url.scheme) or known.get("all") or ""


class _Body(httpx.SyncByteStream):
    """A response's bytes as they were sent."""

    def __init__(self, response: httpcore.Response) -> None:
        self._response = response

    def __iter__(self) -> Iterator[bytes]:
        return self._response.iter_stream()

    def close(self) -> None:
        self._response.close()


class _Backend(httpcore.SyncBackend):
    def __init__(self, deadline: Deadline) -> None:
        self._deadline = deadline

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        left = _left(self._deadline, timeout)
        stream = super().connect_tcp(host, port, left, local_address, socket_options)
        return _Stream(stream, self._deadline)


class _Stream(httpcore.NetworkStream):
    def __init__(self, stream: httpcore.NetworkStream, deadline: Deadline) -> None:
        self._stream = stream
        self._deadline = deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        if self._deadline.passed:
            raise httpcore.ReadTimeout
        return self._stream.read(max_bytes, _left(self._deadline, timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        if self._deadline.passed:
            raise httpcore.WriteTimeout
        self._stream.write(buffer, _left(self._deadline, timeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> "_Stream":
        left = _left(self._deadline, timeout)
        return _Stream(self._stream.start_tls(ssl_context, server_hostname, left), self._deadline)

    def get_extra_info(self, info: str) -> object:
        return self._stream.get_extra_info(info)


def _left(deadline: Deadline, timeout: float | None) -> float:
    return deadline.left() if timeout is None else min(timeout, deadline.left())
