"""Bytes of a blob in one direction: bounded, hashed, decompressed by what they are.

Whatever a media type says, the first bytes decide how a layer is compressed. Nothing here holds
more than a chunk of a layer in memory.
"""

import errno
import gzip
import hashlib
import os
import re
import stat
import tempfile
import zlib
from collections.abc import Callable
from dataclasses import field
from pathlib import Path
from typing import IO, BinaryIO, Protocol, Self, cast

from fleet.connectors.deadline import Deadline
from fleet.connectors.text import one_line
from fleet.dataclass import dataclass
from fleet.errors import ProbeError, Unreachable, Unsupported

KIBI = 1024
CHUNK = 256 * KIBI
MAX_WINDOW = 128 * KIBI * KIBI
DIGEST = r"^(sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128})$"

_ZSTD = b"\x28\xb5\x2f\xfd"
_ZSTD_SKIPPABLE = re.compile(rb"[\x50-\x5f]\x2a\x4d\x18")
_GZIP = b"\x1f\x8b"
_UNREADABLE_HERE = {
    b"\xfd7zXZ\x00": "xz",
    b"BZh": "bzip2",
    b"\x04\x22\x4d\x18": "lz4",
    b"\x1f\x9d": "compress",
    b"LZIP": "lzip",
    b"7z\xbc\xaf": "7z",
    b"\xff\x06\x00\x00sNaPpY": "snappy",
    b"PK\x03\x04": "zip",
}


class Damaged(Exception):
    """The bytes are not what they should be; the caller knows which blob they belong to."""


class Readable(Protocol):
    """Anything that hands out bytes, fewer than asked only at its end."""

    def read(self, size: int, /) -> bytes:
        """Return up to ``size`` bytes; none at the end."""
        ...


@dataclass(slots=True)
class Budget:
    """What the reading of one image may cost: bytes after decompression, and time.

    Attributes:
        where: the target, for the errors' text.
    """

    max_bytes: int
    deadline: Deadline
    where: str = ""
    spent: int = 0

    def spend(self, count: int) -> None:
        """Count bytes.

        Raises:
            ProbeError: more than ``max_bytes`` were read.
            Unreachable: no time is left.
        """
        self.spent += count
        if self.spent > self.max_bytes:
            raise ProbeError(
                f"its layers unpack to more than {self.max_bytes} bytes; stopped reading",
                where=self.where,
                hint="a layer that unpacks without end is not an image to trust",
            )
        if self.deadline.passed:
            raise Unreachable(
                f"reading the image took longer than {self.deadline.seconds:g} s",
                stage="timeout",
                where=self.where,
                hint="raise --timeout",
            )


@dataclass(frozen=True, slots=True)
class Blob:
    """A stretch of a file on the controller.

    Attributes:
        source: opens the file; each call returns a descriptor of its own.
        name: as an error calls it.
        size: bytes.
        digest: what its bytes must hash to; empty when nothing says.
        media: its media type, for an error's text only.
    """

    source: Callable[[], int]
    name: str
    size: int
    offset: int = 0
    digest: str = ""
    media: str = ""

    def open(self) -> "Stretch":
        """Open it for reading from its start."""
        return Stretch(self.source(), self.offset, self.size)


class Stretch:
    """A part of an open file, as a file of its own; a context manager that closes it."""

    def __init__(self, descriptor: int, offset: int, size: int) -> None:
        self._descriptor = descriptor
        self._start = offset
        self._position = 0
        self._size = size

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)

    def read(self, size: int = CHUNK, /) -> bytes:
        """Return up to ``size`` bytes."""
        wanted = max(0, min(size, self._size - self._position))
        data = os.pread(self._descriptor, wanted, self._start + self._position)
        self._position += len(data)
        return data

    def tell(self) -> int:
        """Return the position, counted from the stretch's start."""
        return self._position

    def seek(self, position: int) -> None:
        """Go to a position, which may be past the end."""
        self._position = position


def open_regular(path: Path, *, follow: bool = False) -> int:
    """Open a file for reading and return its descriptor; never a device or a pipe.

    Args:
        path: where it is.
        follow: whether the last component may be a link.

    Raises:
        OSError: it is not there, not readable, a link, or not a regular file.
    """
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)
    descriptor = os.open(path, flags)
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return descriptor
    os.close(descriptor)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    raise OSError(errno.EINVAL, "not a regular file", str(path))


class Hashing:
    """Reads through, and hashes what passes."""

    def __init__(self, source: Readable, digest: str) -> None:
        self._source = source
        self._wanted = digest
        self._hash = hashlib.new(digest.partition(":")[0]) if digest else None

    def read(self, size: int = CHUNK, /) -> bytes:
        """Return up to ``size`` bytes; none at the end."""
        data = self._source.read(min(size, CHUNK) if size >= 0 else CHUNK)
        if self._hash:
            self._hash.update(data)
        return data

    def verify(self) -> None:
        """Read what is left and compare.

        Raises:
            Damaged: the bytes hash to something else.
        """
        while self.read():
            pass
        if not self._hash:
            return
        algorithm, _, wanted = self._wanted.partition(":")
        found = self._hash.hexdigest()
        if found != wanted:
            raise Damaged(f"its {algorithm} is {found[:12]}..., not {wanted[:12]}...")


@dataclass(slots=True)
class Forward:
    """Decompressed bytes with a position: what tarfile needs of a file, and no more.

    Attributes:
        source: hands the bytes out.
    """

    source: Readable
    _held: bytes = b""
    _at: int = 0
    _position: int = field(default=0)

    def tell(self) -> int:
        """Return how many bytes were read or skipped."""
        return self._position

    def read(self, size: int) -> bytes:
        """Return ``size`` bytes, fewer at the end; the caller has bounded the size."""
        parts = []
        while size > 0 and (part := self._some(size)):
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def seek(self, position: int) -> None:
        """Skip forward.

        Raises:
            Damaged: the position is behind, or past the end.
        """
        missing = position - self._position
        if missing < 0:
            raise Damaged("a tar header points backwards")
        while missing > 0:
            part = self._some(missing)
            if not part:
                raise Damaged("it ends in the middle of a file")
            missing -= len(part)

    def _some(self, size: int) -> bytes:
        if self._at >= len(self._held):
            self._held, self._at = self.source.read(CHUNK), 0
        part = self._held[self._at : self._at + size]
        self._at += len(part)
        self._position += len(part)
        return part


def compression(head: bytes, media: str, where: str) -> str:
    """Tell ``gzip``, ``zstd`` or ``plain`` from a blob's first 512 bytes.

    Raises:
        Unsupported: they are compressed in another way, or encrypted.
    """
    if head.startswith(_GZIP):
        return "gzip"
    if head.startswith(_ZSTD) or _ZSTD_SKIPPABLE.match(head):
        return "zstd"
    named = next((name for magic, name in _UNREADABLE_HERE.items() if head.startswith(magic)), "")
    suffix = media.rpartition("+")[2] if "+" in media else ""
    if not named and suffix not in ("", "gzip", "zstd") and head[257:262] != b"ustar":
        named = suffix
    if named:
        raise Unsupported(
            f"cannot read {one_line(named, 40)} layers here",
            where=where,
            hint="plain, gzip and zstd layers can be read",
        )
    return "plain"


class Unpacked:
    """The bytes of a source after decompression, counted against a budget."""

    def __init__(self, source: Readable, kind: str, budget: Budget) -> None:
        self._budget = budget
        self._source = source
        self._errors: tuple[type[Exception], ...] = (EOFError, OSError, zlib.error)
        file = cast("IO[bytes]", source)  # both only ever read
        if kind == "gzip":
            self._source = gzip.GzipFile(fileobj=file, mode="rb")
        elif kind == "zstd":
            import zstandard  # noqa: PLC0415 - loaded for the images that need it only

            unpacker = zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW)
            self._source = unpacker.stream_reader(file, read_across_frames=True)
            self._errors = (zstandard.ZstdError, OSError)

    def read(self, size: int = CHUNK, /) -> bytes:
        """Return up to ``size`` bytes, none at the end.

        Raises:
            Damaged: the bytes are cut, or no such compression.
        """
        try:
            data = self._source.read(min(size, CHUNK))
        except self._errors as error:
            raise Damaged(f"it does not decompress: {one_line(str(error), 80)}") from error
        self._budget.spend(len(data))
        return data


def scratch_file() -> BinaryIO:
    """Open an unnamed temporary file where large ones belong: ``TMPDIR``, else ``/var/tmp``."""
    large = Path("/var/tmp")  # noqa: S108 - unnamed, so nobody can guess it
    usable = "TMPDIR" not in os.environ and large.is_dir() and os.access(large, os.W_OK)
    return tempfile.TemporaryFile(dir=large if usable else None, prefix="fleet-")
