"""Keep what a target prints within bounds, whatever carries it.

A transport reads chunks and hands them to :meth:`Bounded.feed`; memory never exceeds the limit by
more than one chunk. Nothing here reads, waits or knows a clock.
"""

from fleet.errors import ProbeError

KIBI = 1024
MEBI = 1024 * KIBI
MAX_BYTES = 64 * MEBI
CHUNK = 64 * 1024


class Bounded:
    """Bytes collected up to a limit.

    Attributes:
        limit: the most bytes that are kept.
        where: the target, for the error's text.
    """

    def __init__(self, limit: int = MAX_BYTES, *, where: str = "") -> None:
        self.limit = limit
        self.where = where
        self._held = bytearray()

    def __len__(self) -> int:
        return len(self._held)

    def feed(self, chunk: bytes) -> None:
        """Keep a chunk.

        Raises:
            ProbeError: the target printed more than ``limit`` bytes; all that was kept is let go.
        """
        if len(self._held) + len(chunk) > self.limit:
            self._held.clear()
            raise ProbeError(
                f"it printed more than {size_text(self.limit)}; stopped reading",
                where=self.where,
                hint="look at what its shell prints when it starts",
            )
        self._held += chunk

    def feed_head(self, chunk: bytes) -> None:
        """Keep of a chunk what still fits; for error output, never for answers."""
        room = self.limit - len(self._held)
        if room > 0:
            self._held += chunk[:room]

    def ends_with(self, end: bytes) -> bool:
        """Whether what was kept ends with these bytes."""
        return self._held.endswith(end)

    def take(self) -> bytes:
        """Return what was kept."""
        return bytes(self._held)

    def drain(self) -> bytes:
        """Return what was kept and let go of it, for bytes that are passed on."""
        held = self.take()
        self._held.clear()
        return held


def size_text(size: int) -> str:
    """Say a number of bytes the short way: ``64 MiB``, ``512 KiB``, ``17 bytes``."""
    if size >= MEBI and size % MEBI == 0:
        return f"{size // MEBI} MiB"
    return f"{size // KIBI} KiB" if size >= KIBI and size % KIBI == 0 else f"{size} bytes"
