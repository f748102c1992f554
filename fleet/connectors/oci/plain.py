"""Layers that are not compressed: their headers are read by seeking, and their hashes beside that.

What is hashed is every byte, as for other layers; the index needs one header in many kilobytes. On
a machine with more than one processor both go on at once.
"""

import hashlib
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Event
from typing import Self

from fleet.connectors.deadline import Deadline
from fleet.connectors.oci.streams import Blob, Damaged, Stretch
from fleet.dataclass import dataclass

MEBI = 1024 * 1024
_WORKERS = 2
_WINDOW = 8 * 1024
_SMALL = MEBI


class Windowed:
    """A stretch of a file behind a small window: what :func:`members` needs of a source."""

    def __init__(self, stretch: Stretch, size: int) -> None:
        self._stretch = stretch
        self._size = size
        self._window = b""
        self._start = 0
        self._position = 0

    def tell(self) -> int:
        """Return the position."""
        return self._position

    def seek(self, position: int, /) -> None:
        """Go to a position.

        Raises:
            Damaged: it is past the end.
        """
        if not 0 <= position <= self._size:
            raise Damaged("it ends in the middle of a file")
        self._position = position

    def read(self, size: int, /) -> bytes:
        """Return ``size`` bytes, fewer at the end."""
        at = self._position - self._start
        if not 0 <= at <= len(self._window) - size:
            self._stretch.seek(self._position)
            self._window = self._stretch.read(max(size, _WINDOW))
            self._start, at = self._position, 0
        part = self._window[at : at + size]
        self._position += len(part)
        return part


@dataclass(frozen=True, slots=True)
class _Running:
    blob: Blob
    digests: frozenset[str]
    found: Future[dict[str, str]]


class Hashes:
    """Hashes blobs while others work; a context manager that ends with no thread left."""

    def __init__(self, deadline: Deadline) -> None:
        """Begin nothing yet.

        Args:
            deadline: after it nothing more is hashed.
        """
        self._deadline = deadline
        self._stop = Event()
        self._pool: ThreadPoolExecutor | None = None
        self._running: list[_Running] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        if self._pool:
            self._pool.shutdown(wait=True, cancel_futures=True)

    def begin(self, blob: Blob, digests: Iterable[str]) -> None:
        """Hash a blob.

        Args:
            blob: is opened once more.
            digests: what its bytes must hash to; empty ones say nothing.
        """
        wanted = frozenset(digests) - {""}
        if not wanted:
            return
        algorithms = sorted({digest.partition(":")[0] for digest in wanted})
        if blob.size <= _SMALL:
            found: Future[dict[str, str]] = Future()
            found.set_result(self._hashed(blob, algorithms))
        else:
            self._pool = self._pool or ThreadPoolExecutor(_WORKERS, "fleet-hash")
            found = self._pool.submit(self._hashed, blob, algorithms)
        self._running.append(_Running(blob, wanted, found))

    def compare(self) -> Iterable[tuple[Blob, str]]:
        """Wait for all, and yield each blob whose bytes are others than they should be, with why.

        Raises:
            OSError: a blob could not be read.
        """
        for each in self._running:
            found = each.found.result()
            for digest in sorted(each.digests):
                algorithm, _, wanted = digest.partition(":")
                if found.get(algorithm, "") != wanted:
                    head = found.get(algorithm, "")[:12]
                    yield each.blob, f"its {algorithm} is {head}..., not {wanted[:12]}..."

    def _hashed(self, blob: Blob, algorithms: list[str]) -> dict[str, str]:
        hashes = [hashlib.new(algorithm) for algorithm in algorithms]
        with blob.open() as stretch:
            while data := stretch.read(MEBI):
                if self._stop.is_set() or self._deadline.passed:
                    return {}  # nobody asks any more, or whoever does has no time left
                for each in hashes:
                    each.update(data)
        return {name: each.hexdigest() for name, each in zip(algorithms, hashes, strict=True)}
