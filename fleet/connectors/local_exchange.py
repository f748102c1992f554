"""Feed a local process's stdin and read what it answers, bounded in size and time."""

import os
import selectors
import subprocess
from typing import IO

from fleet.connectors.bounded import CHUNK, Bounded
from fleet.connectors.deadline import Deadline

_SLICE = 0.2


class Exchange:
    """One conversation with one process; its three streams must be unbuffered pipes."""

    def __init__(self, process: subprocess.Popen[bytes], output: Bounded, errors: Bounded) -> None:
        self._process = process
        self._output = output
        self._errors = errors
        self._stdin = memoryview(b"")

    def run(self, stdin: bytes, deadline: Deadline) -> int:
        """Return the exit status.

        The conversation also ends when the process has ended and nothing more comes: what it left
        in the background may keep its streams open for ever.

        Raises:
            TimeoutError: the deadline passed first.
            ProbeError: too much was answered.
        """
        self._stdin = memoryview(stdin)
        with selectors.DefaultSelector() as selector:
            self._register(selector)
            while selector.get_map():
                if deadline.passed:
                    raise TimeoutError
                ended = self._process.poll() is not None  # first, or its last words may be missed
                ready = selector.select(min(deadline.left(), _SLICE))
                for key, _ in ready:
                    stream: IO[bytes] = key.data
                    if not self._serve(stream):
                        selector.unregister(stream)
                        stream.close()
                if ended and not ready:
                    break
        try:
            return self._process.wait(deadline.left())
        except subprocess.TimeoutExpired:
            raise TimeoutError from None

    def _register(self, selector: selectors.BaseSelector) -> None:
        process = self._process
        if process.stdin is None or process.stdout is None or process.stderr is None:
            raise ValueError("the process has streams that are no pipes")
        os.set_blocking(process.stdin.fileno(), False)
        selector.register(process.stdin, selectors.EVENT_WRITE, process.stdin)
        for stream in (process.stdout, process.stderr):
            selector.register(stream, selectors.EVENT_READ, stream)

    def _serve(self, stream: IO[bytes]) -> bool:
        """Move some bytes; False when this stream has no more to move."""
        if stream is self._process.stdin:
            return self._write(stream)
        chunk = os.read(stream.fileno(), CHUNK)
        keep = self._output.feed if stream is self._process.stdout else self._errors.feed_head
        keep(chunk)
        return bool(chunk)

    def _write(self, stream: IO[bytes]) -> bool:
        try:
            written = os.write(stream.fileno(), self._stdin[:CHUNK])
        except BrokenPipeError:  # it may end without reading all
            return False
        self._stdin = self._stdin[written:]
        return bool(self._stdin)
