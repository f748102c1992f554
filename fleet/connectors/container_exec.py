"""One program run in a container over the engine's API: fed on stdin, its answer bounded.

The engine carries both directions on one connection and frames what comes back: a byte for the
stream, three of padding, four for the length, then that many bytes.
"""

import os
import selectors
import socket
import ssl
import time
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, cast
from urllib.parse import quote

from fleet.connectors.bounded import CHUNK, KIBI, Bounded
from fleet.connectors.deadline import Deadline
from fleet.connectors.engine import engine_url
from fleet.connectors.text import one_line
from fleet.errors import ProbeError

if TYPE_CHECKING:
    from docker import APIClient

MOST_ERRORS = 64 * KIBI
_HEADER = 8
_STDERR = 2
_SLICE = 1.0
_ENDING = 2.0
_NAP = 0.05
_STARTED = (101, 200)


class Frames:
    """Takes an answer apart; what does not fit its frames is an error."""

    def __init__(self, limit: int, where: str) -> None:
        self.output = Bounded(limit, where=where)
        self.errors = Bounded(MOST_ERRORS)
        self._where = where
        self._header = bytearray()
        self._left = 0

    def feed(self, data: bytes) -> None:
        """Take the next bytes, wherever they are cut.

        Raises:
            ProbeError: no frame of an engine looks like this, or there is too much.
        """
        while data:
            if self._left:
                part, data = data[: self._left], data[self._left :]
                self._left -= len(part)
                self._keep(part)
            else:
                missing = _HEADER - len(self._header)
                if len(self._header) == _HEADER:
                    self._header.clear()
                    missing = _HEADER
                self._header += data[:missing]
                data = data[missing:]
                self._begin()

    def _begin(self) -> None:
        if len(self._header) < _HEADER:
            return
        if self._header[0] > _STDERR or any(self._header[1:4]):
            raise ProbeError("the engine's answer is not framed as it should be", where=self._where)
        self._left = int.from_bytes(self._header[4:], "big")

    def _keep(self, part: bytes) -> None:
        if self._header[0] == _STDERR:
            self.errors.feed_head(part)
        else:
            self.output.feed(part)


class Exec:
    """One run; use it once."""

    def __init__(self, api: "APIClient", container: str, *, max_bytes: int, where: str) -> None:
        self.frames = Frames(max_bytes, where)
        self._api = api
        self._container = container
        self._where = where

    def run(self, command: list[str], stdin: bytes, deadline: Deadline) -> int | None:
        """Run a command as the container's own user; return its status, None when it runs on.

        Raises:
            TimeoutError: the deadline passed first.
            ProbeError: too much was answered.
        """
        identity = self._api.exec_create(self._container, command, stdin=True)["Id"]
        with ExitStack() as open_now:
            stream = self._connection(identity, open_now)
            self._carry(stream, stdin, identity, deadline)
        ending = deadline.within(_ENDING)
        while (status := self._status(identity)) is None and not ending.passed:
            time.sleep(_NAP)  # its answer ends a moment before the engine knows its status
        return status

    def started(self, command: list[str], open_now: ExitStack) -> socket.socket:
        """Start a command and return the connection to it, framed; ``open_now`` closes it."""
        identity = self._api.exec_create(self._container, command, stdin=True)["Id"]
        return self._connection(identity, open_now)

    def _connection(self, identity: str, open_now: ExitStack) -> socket.socket:
        """Start it, and return the connection as a socket of our own."""
        if self._api.base_url.startswith("https:"):
            given = cast("ssl.SSLSocket", self._api.exec_start(identity, socket=True))
            open_now.callback(given.close)
            return given
        # The library's own way leaves the connection open until it is collected.
        response = self._api.post(
            engine_url(self._api, f"/exec/{quote(identity, safe='')}/start"),
            json={"Tty": False, "Detach": False},
            headers={"Connection": "Upgrade", "Upgrade": "tcp"},
            stream=True,
            timeout=self._api.timeout,
        )
        open_now.callback(response.close)
        if response.status_code not in _STARTED:
            raise ProbeError(
                f"the engine refused to run it: {one_line(response.content[:MOST_ERRORS])}",
                where=self._where,
            )
        descriptor = os.dup(response.raw.fileno())
        return open_now.enter_context(socket.socket(fileno=descriptor))

    def _carry(
        self, stream: socket.socket, stdin: bytes, identity: str, deadline: Deadline
    ) -> None:
        """Send and receive at once: either side may stop to wait for the other."""
        stream.settimeout(0)
        pending, ended = memoryview(stdin), False
        with selectors.DefaultSelector() as selector:
            selector.register(stream, selectors.EVENT_READ | selectors.EVENT_WRITE)
            while True:
                pending = self._send(stream, pending)
                if not pending:
                    selector.modify(stream, selectors.EVENT_READ)
                if self._receive(stream):
                    return
                if deadline.passed:
                    raise TimeoutError
                idle = not selector.select(min(deadline.left(), _SLICE))
                if idle and ended:
                    return  # something it started in the background keeps the stream open
                # Asked before the next wait, or its last words may be missed.
                ended = idle and not pending and self._status(identity) is not None

    def _send(self, stream: socket.socket, pending: memoryview) -> memoryview:
        if not pending:
            return pending
        try:
            pending = pending[stream.send(pending[:CHUNK]) :]
        except (BlockingIOError, ssl.SSLWantWriteError, ssl.SSLWantReadError):
            return pending
        except OSError:
            return pending[:0]  # it ended without reading all; its answer tells
        if not pending and not isinstance(stream, ssl.SSLSocket):
            with suppress(OSError):
                stream.shutdown(socket.SHUT_WR)
        return pending

    def _receive(self, stream: socket.socket) -> bool:
        """Take what is there; whether the answer is at its end."""
        while True:
            try:
                data = stream.recv(CHUNK)
            except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
                return False
            except ConnectionError:
                return True  # cut off: the parser sees that the end is missing
            if not data:
                return True
            self.frames.feed(data)

    def _status(self, identity: str) -> int | None:
        told = self._api.exec_inspect(identity)
        status = told.get("ExitCode")
        return status if isinstance(status, int) and not told.get("Running") else None
