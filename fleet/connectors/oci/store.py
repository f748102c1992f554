"""Where an image's blobs are: a layout's folder, or an archive file."""

import errno
import os
import posixpath
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple, Protocol

from fleet.connectors.oci.documents import JSON_LIMIT
from fleet.connectors.oci.streams import (
    Blob,
    Budget,
    Damaged,
    Hashing,
    Stretch,
    Unpacked,
    compression,
    open_regular,
    scratch_file,
)
from fleet.connectors.oci.tar import TarMember, members
from fleet.connectors.text import one_line
from fleet.errors import ProbeError, Unreachable

MOST_FILES = 10_000
_LINKS = 8


class Store(Protocol):
    """Files by name, as an image layout names them; ``where`` is the target."""

    where: str

    def find(self, name: str, shown: str) -> Blob | None:
        """Return the file under a relative name, called ``shown`` in errors; None if absent."""
        ...


class FolderStore:
    """A layout in a folder. Nothing below the folder is followed when it is a link."""

    def __init__(self, folder: Path, where: str) -> None:
        self.where = where
        self._folder = folder

    def find(self, name: str, shown: str) -> Blob | None:
        """Return a file of the folder."""
        path = self._folder / name
        try:
            descriptor = open_regular(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            why = "it is a link" if error.errno == errno.ELOOP else error.strerror
            raise ProbeError(f"{shown} cannot be opened: {why}", where=self.where) from error
        size = os.fstat(descriptor).st_size
        os.close(descriptor)
        return Blob(lambda: open_regular(path), shown, size)


class _Member(NamedTuple):
    offset: int
    size: int
    link: str


class ArchiveStore:
    """A tar archive's members; only their names and places are kept."""

    def __init__(self, source: Callable[[], int], where: str) -> None:
        self.where = where
        self._source = source
        self._members: dict[str, _Member] = {}
        with opened(source) as stretch:
            try:
                for member in members(stretch):
                    self._add(member)
            except Damaged as error:
                raise unreadable_archive(error, where) from error

    def _add(self, member: TarMember) -> None:
        if member.isreg() or member.issym() or member.islnk():
            self._members[_inside(member.name)] = _entry(member)
        if len(self._members) > MOST_FILES:
            raise Damaged(f"it holds more than {MOST_FILES} files")

    def find(self, name: str, shown: str) -> Blob | None:
        """Return a member, through links to other members."""
        found = self._members.get(_inside(name))
        for _ in range(_LINKS):
            if found is None or not found.link:
                break
            found = self._members.get(_inside(found.link))
        if found is None or found.link:
            return None
        return Blob(self._source, shown, found.size, found.offset)


@contextmanager
def opened(source: Callable[[], int]) -> Iterator[Stretch]:
    """Open a whole file as a stretch."""
    descriptor = source()
    with Stretch(descriptor, 0, os.fstat(descriptor).st_size) as stretch:
        yield stretch


@contextmanager
def archive(path: Path, budget: Budget) -> Iterator[ArchiveStore]:
    """Open an archive file; a compressed one is unpacked beside first, within the budget.

    Raises:
        Unreachable: there is no such file, or it may not be read.
        ProbeError: it is no archive.
    """

    def source() -> int:
        try:
            return open_regular(path, follow=True)
        except OSError as error:
            raise unopened(error, budget.where) from error

    with ExitStack() as stack:
        stretch = stack.enter_context(opened(source))
        kind = compression(stretch.read(512), "", budget.where)
        if kind == "plain":
            yield ArchiveStore(source, budget.where)
            return
        spool = stack.enter_context(closing(scratch_file()))
        stretch.seek(0)
        unpacked = Unpacked(stretch, kind, budget)
        fill(spool, iter(unpacked.read, b""), budget.where)
        yield spooled(spool, budget.where)


def spooled(spool: BinaryIO, where: str) -> ArchiveStore:
    """Read an archive that was written to a temporary file."""
    spool.flush()
    return ArchiveStore(lambda: os.dup(spool.fileno()), where)


def fill(spool: BinaryIO, chunks: Iterator[bytes], where: str) -> None:
    """Write chunks to a temporary file.

    Raises:
        ProbeError: the controller's disk is full.
    """
    try:
        spool.writelines(chunks)
        spool.flush()
    except Damaged as error:
        raise unreadable_archive(error, where) from error
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise no_room(where) from error


def no_room(where: str) -> ProbeError:
    """Say that the controller's disk is full."""
    return ProbeError(
        "no room on this machine for a temporary copy of the image",
        where=where,
        hint="point TMPDIR to a larger disk",
    )


def unreadable_archive(error: Exception, where: str) -> ProbeError:
    """Say that an archive is none, or is cut."""
    return ProbeError(
        f"the archive cannot be read: {one_line(str(error))}",
        where=where,
        hint="it is no image archive, or was copied only in part",
    )


_STARTED = "the path is taken from where fleet was started"
_WHY = {
    errno.ENOENT: ("there is no such file or folder", _STARTED),
    errno.EISDIR: (
        "it is a folder, not an archive",
        "oci: reads a layout's folder, rootfs: an unpacked root file system",
    ),
    errno.ENOTDIR: (
        "it is no folder, or leads through a file",
        "docker-archive: reads what docker save writes, oci-archive: a layout in a tar archive",
    ),
}


def unopened(error: OSError, where: str) -> Unreachable:
    """Say that a file or folder on the controller cannot be opened."""
    what, hint = _WHY.get(
        error.errno or 0,
        (f"cannot be opened: {error.strerror or error}", _STARTED),
    )
    return Unreachable(what, stage="missing", where=where, hint=hint)


def content(store: Store, name: str, shown: str, digest: str = "") -> bytes:
    """Return a small file of a store, its hash compared.

    Raises:
        ProbeError: it is missing, too large for a document, or not what its name says.
    """
    blob = store.find(name, shown)
    if blob is None:
        raise ProbeError(
            f"{shown} is missing",
            where=store.where,
            hint="the image was copied only in part: fetch it again",
        )
    if blob.size > JSON_LIMIT:
        raise ProbeError(f"{shown} is too large for a document", where=store.where)
    with blob.open() as stretch:
        reader = Hashing(stretch, digest)
        parts = list(iter(reader.read, b""))
        try:
            reader.verify()
        except Damaged as error:
            raise ProbeError(
                f"{shown} is forged or damaged: {error}",
                where=store.where,
                hint="fetch the image again",
            ) from error
    return b"".join(parts)


def _entry(member: TarMember) -> _Member:
    link = member.linkname if member.islnk() else ""
    if member.issym():
        link = posixpath.join(posixpath.dirname(member.name), member.linkname)
    return _Member(member.offset_data, member.size if member.isreg() else 0, link)


def _inside(name: str) -> str:
    """Return a member's name relative to the archive's root, never out of it."""
    return posixpath.normpath("/" + name.lstrip("/")).lstrip("/")
