"""A real socket in front of an ssh channel, so that TLS and HTTP clients can use it."""

import socket
import threading
from contextlib import suppress

from fleet.connectors.ssh_library import Channel, SSHException

_CHUNK = 32 * 1024
_JOIN = 5.0


class Tunnel:
    """Carry bytes between a channel and one end of a socket pair until both sides have ended.

    Attributes:
        socket: the caller's end; the caller closes it.
    """

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self.socket, self._ours = socket.socketpair()
        self._open = 2
        self._lock = threading.Lock()
        self._threads = [
            threading.Thread(target=work, name=f"tunnel {work.__name__}", daemon=True)
            for work in (self._outward, self._inward)
        ]
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """End both directions and wait for them. The caller's end reads the end of the stream."""
        self._channel.close()
        with suppress(OSError):  # the other end may be closed already
            self._ours.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(_JOIN)

    def _outward(self) -> None:
        try:
            while data := self._ours.recv(_CHUNK):
                self._channel.sendall(data)
            self._channel.shutdown_write()
        except (OSError, SSHException, EOFError):
            self._channel.close()
        self._ended()

    def _inward(self) -> None:
        try:
            while data := self._channel.recv(_CHUNK):
                self._ours.sendall(data)
            self._ours.shutdown(socket.SHUT_WR)
        except OSError:
            self._channel.close()
        self._ended()

    def _ended(self) -> None:
        with self._lock:
            self._open -= 1
            if self._open:
                return
        self._channel.close()
        self._ours.close()
