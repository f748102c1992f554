"""One channel's streams: what is fed to a program on a host, and what it answers."""

import selectors
import threading
from contextlib import suppress

from fleet.connectors.bounded import CHUNK, KIBI, Bounded
from fleet.connectors.deadline import Deadline
from fleet.connectors.ssh_library import Channel, SSHException

_MOST_ERRORS = 64 * KIBI
_SLICE = 1.0
_JOIN = 5.0


class Exchange:
    """Feed one channel's stdin and read what it answers, bounded in size and time."""

    def __init__(self, channel: Channel, limit: int, where: str) -> None:
        self.output = Bounded(limit, where=where)
        self.errors = Bounded(_MOST_ERRORS)
        self._channel = channel
        self._feeder: threading.Thread | None = None

    def run(self, stdin: bytes, deadline: Deadline, *, last: bytes = b"") -> int | None:
        """Return the exit status, -1 when there was none; None where the program stays.

        Args:
            stdin: what the program reads.
            deadline: until when it may take.
            last: what a program that stays ends its answer with; its stdin is left open.

        Raises:
            TimeoutError: the deadline passed first.
            ProbeError: too much was answered.
        """
        self._feeder = threading.Thread(target=self._feed, args=(stdin, not last), daemon=True)
        self._feeder.start()
        return self.read(deadline, last=last)

    def read(self, deadline: Deadline, *, last: bytes = b"") -> int | None:
        """Read what a program answers that was fed before; as :meth:`run`."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._channel, selectors.EVENT_READ)
            while not self._drained():
                if last and self.output.ends_with(last):
                    return None
                if deadline.passed:
                    raise TimeoutError
                ended = self._channel.exit_status_ready()  # first, or its last words may be missed
                idle = not selector.select(min(deadline.left(), _SLICE))
                if ended and idle:
                    break  # something it started in the background keeps the stream open
        if not self._channel.status_event.wait(deadline.left()):
            raise TimeoutError
        return self._channel.recv_exit_status()

    def close(self) -> None:
        """Close the channel and wait for the feeder."""
        let_go(self._channel)
        if self._feeder is not None:
            self._feeder.join(_JOIN)

    def _feed(self, stdin: bytes, all_of_it: bool) -> None:
        with suppress(OSError, SSHException, EOFError):  # it may end without reading all
            self._channel.sendall(stdin)
            if all_of_it:
                self._channel.shutdown_write()

    def _drained(self) -> bool:
        """Take what is there; whether nothing more will come."""
        channel = self._channel
        ended = bool(channel.eof_received) or channel.closed
        if channel.recv_ready():
            self.output.feed(channel.recv(CHUNK))
        if channel.recv_stderr_ready():
            self.errors.feed_head(channel.recv_stderr(CHUNK))
        return ended and not (channel.recv_ready() or channel.recv_stderr_ready())


def let_go(channel: Channel) -> None:
    """Close a channel, of a connection that may be cut at this moment."""
    with suppress(OSError, SSHException, EOFError):
        channel.close()
