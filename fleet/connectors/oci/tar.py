"""The members of a tar stream, hostile until read.

The headers are tarfile's (GNU long names, PAX, sparse maps, base-256 numbers); the loop is not,
because tarfile takes garbage in the middle of an archive for its end.
"""

import io
import re
import tarfile
from collections.abc import Iterator
from functools import lru_cache
from typing import IO, Literal, Protocol, TypeAlias, cast
from zlib import adler32

from fleet.connectors.oci.streams import Damaged
from fleet.connectors.text import one_line
from fleet.dataclass import dataclass
from fleet.facts.walk import Node

MAX_MEMBERS = 1_000_000
MAX_NAME = 4096
MAX_HEADER = 64 * 1024
MAX_NAMES = 256 * 1024 * 1024
_BLOCK = 512
_MALFORMED = (
    tarfile.TarError,
    ValueError,
    LookupError,
    TypeError,
    ArithmeticError,
    RecursionError,  # a long name's header followed by another, and so on
)


Sparse: TypeAlias = tuple[tuple[int, int], ...]


@dataclass(slots=True)
class TarMember:
    """What one header tells, the extended ones before it included.

    Attributes:
        name: as it stands; a folder's without the slash at its end.
        type: tarfile's letter for it.
        size: bytes of the content; of a sparse file, with its holes.
        linkname: what a link or a hard link says.
        offset_data: where the content begins in the archive.
        sparse: offset and length of the stretches that are stored, of a sparse file.
    """

    name: str
    type: bytes
    mode: int
    uid: int
    gid: int
    size: int
    mtime: float
    linkname: str
    offset_data: int
    sparse: Sparse | None = None

    def isreg(self) -> bool:
        """Tell whether it is a regular file."""
        return self.type in tarfile.REGULAR_TYPES

    def isdir(self) -> bool:
        """Tell whether it is a folder."""
        return self.type == tarfile.DIRTYPE

    def issym(self) -> bool:
        """Tell whether it is a link."""
        return self.type == tarfile.SYMTYPE

    def islnk(self) -> bool:
        """Tell whether it is a hard link."""
        return self.type == tarfile.LNKTYPE


class Seekable(Protocol):
    """A source that goes forward at least."""

    def read(self, size: int, /) -> bytes:
        """Return ``size`` bytes, fewer at the end."""
        ...

    def tell(self) -> int:
        """Return the position."""
        ...

    def seek(self, position: int, /) -> None:
        """Go to a position."""
        ...


def members(source: Seekable, *, marked: bool = True) -> Iterator[TarMember]:
    """Yield the members in order; the source stands at a member's content while it is held.

    Args:
        source: stands at its start.
        marked: whether an archive without the two zero blocks at its end counts as cut.

    Raises:
        Damaged: it is no tar archive, is cut, or claims what cannot be.
    """
    archive = _Headers(source)
    count = names = 0
    while (member := archive.next_member(marked=marked)) is not None:
        count += 1
        names += len(member.name) + len(member.linkname)
        if count > MAX_MEMBERS or names > MAX_NAMES:
            raise Damaged(f"it has more than {count - 1} members; stopped reading")
        if max(len(member.name), len(member.linkname)) > MAX_NAME:
            raise Damaged(f"a member's name is longer than {MAX_NAME}: {one_line(member.name, 60)}")
        yield member


def node_of(member: TarMember) -> Node:
    """Return what a member's header says of the thing at its path; a hard link is "other"."""
    kind = kind_of(member)
    return Node(
        kind=kind,
        mode=member.mode & 0o7777,
        uid=member.uid,
        gid=member.gid,
        size=member.size if kind == "file" else 0,
        mtime=_seconds(member.mtime),
        target=member.linkname if kind == "link" else "",
    )


def kind_of(member: TarMember) -> Literal["file", "directory", "link", "other"]:
    """Return the kind that a member's header tells; a hard link is "other"."""
    return _KINDS.get(member.type, "other")


_KINDS: dict[bytes, Literal["file", "directory", "link"]] = {
    **dict.fromkeys(tarfile.REGULAR_TYPES, "file"),
    tarfile.DIRTYPE: "directory",
    tarfile.SYMTYPE: "link",
}


def _seconds(mtime: float) -> int:
    try:
        return int(mtime)
    except (ValueError, OverflowError):  # a PAX header may say inf or nan
        return 0


class _Headers:
    """Hands out headers one at a time and keeps none."""

    def __init__(self, source: Seekable) -> None:
        self._source = _Pushback(source)
        # Begun on an empty archive: the constructor reads a header and would swallow its error.
        self._archive = tarfile.TarFile(
            fileobj=io.BytesIO(bytes(2 * _BLOCK)), encoding="utf-8", errors="surrogateescape"
        )
        self._archive.fileobj = cast("IO[bytes]", self._source)
        self._archive.offset = 0

    def next_member(self, *, marked: bool) -> TarMember | None:
        start = self._archive.offset
        block = self._source.at(start, _BLOCK)
        if not block and (marked or start == 0):
            raise Damaged("it is cut short" if start else "it is empty: no tar archive")
        if not self._archive.pax_headers and (member := self._soon(block, start)):
            size = member.size if member.type == tarfile.REGTYPE else 0
            self._archive.offset = member.offset_data - (-size // _BLOCK) * _BLOCK
            return member
        if not block.strip(b"\0"):
            return None
        self._source.push(block)
        try:
            found = tarfile.TarInfo.fromtarfile(self._archive)
        except _MALFORMED as error:
            what = f"damaged at byte {start}" if start else "it is no tar archive"
            raise Damaged(f"{what}: {one_line(str(error), 80)}") from error
        if self._archive.offset <= start or found.size < 0:
            raise Damaged("a tar header points backwards")
        return told(found)

    def _soon(self, block: bytes, start: int) -> TarMember | None:
        """Read a header without tarfile; None where only that can."""
        member = _usual(block, start)
        if member is None or member.type != tarfile.XHDTYPE:
            return member
        if not 0 < member.size <= _BLOCK:
            return None
        more = self._source.read(2 * _BLOCK)
        dated = _dated(member, more)
        if dated is None:
            self._source.push(more)
        return dated


def told(found: tarfile.TarInfo) -> TarMember:
    """Return what tarfile read of a header."""
    stretches: list[tuple[int, int]] | None = getattr(found, "sparse", None)
    return TarMember(
        found.name,
        found.type,
        found.mode,
        found.uid,
        found.gid,
        found.size,
        found.mtime,
        found.linkname,
        found.offset_data,
        tuple(stretches) if stretches is not None else None,
    )


_USUAL = {
    b"0": tarfile.REGTYPE,
    b"1": tarfile.LNKTYPE,
    b"2": tarfile.SYMTYPE,
    b"5": tarfile.DIRTYPE,
    b"x": tarfile.XHDTYPE,
}
_OWNER = re.compile(rb"([0-7]{7})\0([0-7]{7})\0([0-7]{7})\0")
_NUMBERS = re.compile(rb"([0-7]{11})[ \0]([0-7]{11})[ \0]([0-7]{6})\0 ([0125x])")
_MAGIC = (b"ustar\x0000", b"ustar  \0")
_RECORD = re.compile(rb"([0-9]{1,3}) (mtime|[ac]time)=([0-9]{1,12}(?:\.[0-9]{1,9})?)\n")


def _usual(block: bytes, start: int) -> TarMember | None:
    """Read a header of the kind nearly all are, as tarfile does but sooner; None for all others."""
    found = _NUMBERS.match(block, 124)
    if found is None or block[257:265] not in _MAGIC or block[345] or len(block) != _BLOCK:
        return None
    owner = _owner(block[100:124])
    digits = found.groups()
    if owner is None or int(digits[2], 8) != _checksum(block):
        return None
    name, kind, link = _text(block[:100]), _USUAL[digits[3]], ""
    if kind == tarfile.DIRTYPE:
        name = name.rstrip("/")
    if block[157]:
        link = _text(block[157:257])
    size, mtime = int(digits[0], 8), int(digits[1], 8)
    return TarMember(name, kind, *owner, size, mtime, link, start + _BLOCK)


@lru_cache(maxsize=256)
def _owner(field: bytes) -> tuple[int, int, int] | None:
    """Return mode, uid and gid, which few of an archive's headers have for themselves."""
    found = _OWNER.match(field)
    return (int(found[1], 8), int(found[2], 8), int(found[3], 8)) if found else None


def _checksum(block: bytes) -> int:
    """Return the sum of a header's bytes, the checksum's own taken for blanks.

    The lower half of an Adler-32 is one more than the sum of the bytes modulo 65521, which the sum
    of 256 bytes never reaches.
    """
    halves = (adler32(block[:256]) & 0xFFFF) + (adler32(block[256:]) & 0xFFFF) - 2
    return halves - sum(block[148:156]) + 8 * ord(" ")


def _dated(header: TarMember, content: bytes) -> TarMember | None:
    """Read the header after an extended one that holds nothing but times; None for all others.

    Args:
        header: the extended one.
        content: its records in one block, and the block of the other header.
    """
    times, at = {}, 0
    while at < header.size:
        record = _RECORD.match(content, at)
        if record is None or int(record[1]) != len(record[0]):
            return None
        times[record[2]] = float(record[3])
        at = record.end()
    start = header.offset_data + _BLOCK
    member = _usual(content[_BLOCK:], start) if 0 < at == header.size else None
    if member is None or member.type == tarfile.XHDTYPE:
        return None
    member.mtime = times.get(b"mtime", member.mtime)
    return member


def _text(field: bytes) -> str:
    return field.partition(b"\0")[0].decode("utf-8", "surrogateescape")


class _Pushback:
    """A source of which a few bytes may be looked at before they are read."""

    def __init__(self, source: Seekable) -> None:
        self._source = source
        self._ahead = b""

    def at(self, position: int, size: int) -> bytes:
        """Return what is at a position, and go past it."""
        self._ahead = b""
        if self._source.tell() != position:
            self._source.seek(position)
        return self._source.read(size)

    def push(self, data: bytes) -> None:
        """Take back what was read last."""
        self._ahead = data + self._ahead

    def read(self, size: int) -> bytes:
        if not 0 <= size <= MAX_HEADER:
            raise Damaged(f"a tar header claims to be {size} bytes long")
        ahead, self._ahead = self._ahead[:size], self._ahead[size:]
        return ahead + self._source.read(size - len(ahead)) if len(ahead) < size else ahead

    def tell(self) -> int:
        return self._source.tell() - len(self._ahead)

    def seek(self, position: int) -> None:
        skipped = position - self.tell()
        if 0 <= skipped <= len(self._ahead):
            self._ahead = self._ahead[skipped:]
        else:
            self._ahead = b""
            self._source.seek(position)
