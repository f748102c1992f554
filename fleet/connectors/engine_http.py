"""The few questions an image needs of its engine, asked over plain HTTP.

The docker library is right for everything else; but to import it takes longer than to judge a
whole image.
"""

import http.client
import json
import socket
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol
from urllib.parse import quote, quote_from_bytes, urlsplit

from fleet.connectors.deadline import Deadline
from fleet.connectors.engine import Endpoint, silent
from fleet.connectors.text import one_line
from fleet.errors import ProbeError, TargetError, Unreachable, Unsupported

OK, CREATED, NO_CONTENT, ABSENT = 200, 201, 204, 404
_ANSWER_LIMIT = 32 * 1024 * 1024
_REFUSAL_LIMIT = 64 * 1024
_PLAIN_PORT, _TLS_PORT = 2375, 2376


class Answer(Protocol):
    """An answer whose body has not come yet."""

    @property
    def status(self) -> int:
        """Return the HTTP status."""
        ...

    def header(self, name: str) -> str:
        """Return a header; empty when there is none of that name."""
        ...

    def read(self, size: int, /) -> bytes:
        """Return up to ``size`` bytes of the body; none at its end."""
        ...


class EngineHttp:
    """One connection to an engine, for one thread; close it when done.

    Attributes:
        at: the engine.
        deadline: when the last answer must have come.
        asked: how often it was asked.
    """

    def __init__(self, at: Endpoint, deadline: Deadline, where: str) -> None:
        """Connect to nothing yet.

        Args:
            at: the engine.
            deadline: for all questions together.
            where: the target, for the errors' text.

        Raises:
            Unsupported: the engine is reached in a way that is not known here.
            Unreachable: its TLS files cannot be used.
        """
        self.at = at
        self.deadline = deadline
        self.asked = 0
        self._where = where
        self._connection = _connection(at)

    def close(self) -> None:
        """Let go of the connection."""
        self._connection.close()

    def json(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: object = None,
    ) -> tuple[int, object]:
        """Ask, and return the status and the document that came.

        Raises:
            Unreachable: stage ``engine`` or ``timeout``.
            ProbeError: the answer broke off, is no JSON or is too large.
        """
        with self.open(method, path, query, body) as answer:
            parts, size = [], 0
            while part := answer.read(1 << 16):
                size += len(part)
                if size > _ANSWER_LIMIT:
                    raise ProbeError("the engine's answer is too large", where=self._where)
                parts.append(part)
            status = answer.status
        try:
            return status, json.loads(b"".join(parts) or b"null")
        except (ValueError, RecursionError):
            raise ProbeError("the engine's answer is no JSON", where=self._where) from None

    @contextmanager
    def open(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: object = None,
    ) -> Iterator[Answer]:
        """Ask, and read the answer as it comes; what is not read is not sent.

        Args:
            method: the HTTP method.
            path: a path of the API, quoted by :func:`segment` where it holds a name.
            query: its values may hold surrogate escapes.
            body: a JSON document to send; None for none.

        Raises:
            Unreachable: stage ``engine`` or ``timeout``; while the answer is read, too.
            ProbeError: the answer broke off.
        """
        self.asked += 1
        with self._faults("the engine's answer broke off"):
            with self._faults():
                answer = self._sent(method, path, query, body)
            try:
                yield answer
            finally:
                # The rest of an answer would be taken for the next one's beginning.
                if not answer.response.isclosed():
                    self._connection.close()

    def _sent(
        self, method: str, path: str, query: Mapping[str, str] | None, body: object
    ) -> "_Answer":
        headers = {"Accept-Encoding": "identity"}
        content = None
        if body is not None:
            content = json.dumps(body).encode()
            headers["Content-Type"] = "application/json"
        self._connection.timeout = self.deadline.left()
        if self._connection.sock is not None:
            self._connection.sock.settimeout(self.deadline.left())
        self._connection.request(method, _target(path, query), content, headers)
        return _Answer(self._connection.getresponse(), self.deadline)

    @contextmanager
    def _faults(self, broke: str = "") -> Iterator[None]:
        """Name the engine's faults; ``broke`` is what it means where an answer had begun."""
        try:
            yield
        except TargetError:
            self._connection.close()
            raise
        except TimeoutError as error:
            self._connection.close()
            raise late(self.at, self.deadline, self._where) from error
        except http.client.HTTPException as error:
            self._connection.close()
            raise ProbeError("the engine's answer broke off", where=self._where) from error
        except OSError as error:
            self._connection.close()
            if broke:
                raise ProbeError(broke, where=self._where) from error
            raise silent(self.at, one_line(error.strerror or str(error)), self._where) from error


def late(at: Endpoint, deadline: Deadline, where: str) -> Unreachable:
    """Say that an engine's answer did not come in time."""
    return Unreachable(
        f"the engine at {at} sent nothing more within {deadline.seconds:g} s",
        stage="timeout",
        where=where,
        hint="it prepares a large image before it sends it: raise --timeout",
    )


def said(document: object) -> str:
    """Return what an engine's error document says, in one line."""
    message = document.get("message") if isinstance(document, dict) else None
    return one_line(message) if isinstance(message, str) else "it does not say why"


def refusal(answer: Answer) -> str:
    """Return what an engine says instead of what it was asked for, in one line."""
    head = answer.read(_REFUSAL_LIMIT)
    try:
        return said(json.loads(head))
    except (ValueError, RecursionError):
        return f"it answers {answer.status}"


def segment(name: str) -> str:
    """Quote a name for an API path; the slashes of an image's name stay."""
    return quote(name, safe="/:@")


class _Answer:
    """An :class:`Answer`; what is read from it is read within the deadline."""

    def __init__(self, response: http.client.HTTPResponse, deadline: Deadline) -> None:
        self.response = response
        self._deadline = deadline

    @property
    def status(self) -> int:
        return self.response.status

    def header(self, name: str) -> str:
        return self.response.headers.get(name, "")

    def read(self, size: int, /) -> bytes:
        if self._deadline.passed:
            raise TimeoutError
        data = self.response.read(size)
        if not data and self.response.length:  # of a body whose length was told, that is no end
            raise http.client.IncompleteRead(data, self.response.length)
        return data


class _UnixConnection(http.client.HTTPConnection):
    """HTTP through a socket file."""

    def __init__(self, path: str) -> None:
        super().__init__("docker")
        self._path = path

    def connect(self) -> None:
        opened = socket.socket(socket.AF_UNIX)
        try:
            opened.settimeout(self.timeout)
            opened.connect(self._path)
        except OSError:
            opened.close()
            raise
        self.sock = opened


def _connection(at: Endpoint) -> http.client.HTTPConnection:
    if at.local:
        return _UnixConnection(at.url.removeprefix("unix:").replace("//", "/", 1))
    url = urlsplit(at.url)
    try:
        port = url.port
    except ValueError:
        port = None
    if url.scheme not in ("tcp", "http", "https") or not url.hostname:
        raise Unsupported(
            f"the engine is reached in a way that is not known here: {at}",
            hint="declare that machine as a host, or give it a unix:// or tcp:// endpoint",
        )
    if at.tls is not None or url.scheme == "https":
        context = _tls(at)
        return http.client.HTTPSConnection(url.hostname, port or _TLS_PORT, context=context)
    return http.client.HTTPConnection(url.hostname, port or _PLAIN_PORT)


def _tls(at: Endpoint) -> ssl.SSLContext:
    folder = at.tls
    authority = folder / "ca.pem" if folder else None
    try:
        known = str(authority) if authority and authority.exists() else None
        context = ssl.create_default_context(cafile=known)
        if not at.verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if folder and (folder / "cert.pem").exists() and (folder / "key.pem").exists():
            context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    except (OSError, ssl.SSLError) as error:
        raise Unreachable(
            f"the TLS files for the engine at {at} cannot be used: {one_line(str(error))}",
            stage="engine",
        ) from None
    return context


def _target(path: str, query: Mapping[str, str] | None) -> str:
    pairs = (
        f"{quote(name)}={quote_from_bytes(value.encode('utf-8', 'surrogateescape'), safe='')}"
        for name, value in (query or {}).items()
    )
    joined = "&".join(pairs)
    return f"{path}?{joined}" if joined else path
