"""An unpacked root file system on the controller, read so that nothing leads out of it.

Every path is opened one component at a time, each relative to the folder before it and never
through a link; links are read as text and followed by :mod:`fleet.facts.walk` inside the root.
"""

import os
import posixpath
import stat
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Literal

from fleet.connectors.oci.store import unopened
from fleet.facts.walk import Node, Unreadable

MOST_LISTED = 200_000
_PASS = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_LIST = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_SEARCH = "permission denied: this folder may not be searched"
_READ = "permission denied: this user may not read it"


class RootTree:
    """A :class:`fleet.facts.walk.Tree` over a folder; close it when done."""

    def __init__(self, folder: Path, where: str) -> None:
        """Open the root.

        Raises:
            Unreachable: it is not there, or is no folder, or may not be opened.
        """
        try:
            self._root = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise unopened(error, where) from error

    def is_at(self, folder: Path) -> bool:
        """Tell whether the root is still the folder of that path."""
        try:
            return os.path.samestat(folder.stat(), os.fstat(self._root))
        except OSError:
            return False

    def close(self) -> None:
        """Let go of the root."""
        os.close(self._root)

    def lstat(self, path: str) -> Node | None:
        """Return what is at a physical path."""
        try:
            with self.parent(path) as (parent, name):
                return node_at(parent, name)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except PermissionError as error:
            raise Unreadable(posixpath.dirname(path), _SEARCH) from error
        except OSError as error:
            raise Unreadable(path, error.strerror or str(error)) from error

    def listdir(self, path: str) -> list[str]:
        """Return the names in a folder."""
        with _reading(path), self.parent(path) as (parent, name):
            descriptor = os.open(name, _LIST, dir_fd=parent)
            try:
                with os.scandir(descriptor) as found:
                    return bounded(path, (entry.name for entry in found))
            finally:
                os.close(descriptor)

    def read(self, path: str, limit: int) -> bytes:
        """Return a regular file's content."""
        with _reading(path), self.parent(path) as (parent, name):
            descriptor = os.open(name, _FILE, dir_fd=parent)
            with os.fdopen(descriptor, "rb") as file:
                regular = stat.S_ISREG(os.fstat(descriptor).st_mode)
                content = file.read(limit + 1) if regular else b""
        if not regular or len(content) > limit:
            raise Unreadable(path, f"larger than {limit} bytes" if regular else "not a file")
        return content

    def prefetch(self, paths: Collection[str]) -> None:
        """Do nothing: files are read one by one."""

    @contextmanager
    def parent(self, path: str) -> Iterator[tuple[int, str]]:
        """Open the folder that holds a path's last component; ``.`` in the root for the root."""
        names = [name for name in path.split("/") if name] or ["."]
        descriptor = os.dup(self._root)
        try:
            for name in names[:-1]:
                below = os.open(name, _PASS, dir_fd=descriptor)
                os.close(descriptor)
                descriptor = below
            yield descriptor, names[-1]
        finally:
            os.close(descriptor)


def bounded(path: str, names: Iterable[str]) -> list[str]:
    """Return a folder's names.

    Raises:
        Unreadable: they are more than can be kept.
    """
    listed = list(islice(names, MOST_LISTED + 1))
    if len(listed) > MOST_LISTED:
        raise Unreadable(path, f"it holds more than {MOST_LISTED} names")
    return listed


@contextmanager
def _reading(path: str) -> Iterator[None]:
    try:
        yield
    except PermissionError as error:
        raise Unreadable(path, _READ) from error
    except OSError as error:
        raise Unreadable(path, error.strerror or str(error)) from error


def node_at(parent: int, name: str) -> Node:
    """Return what an open folder holds under a name, not following it.

    Raises:
        OSError: it cannot be seen.
    """
    status = os.stat(name, dir_fd=parent, follow_symlinks=False)
    return node_from(status, parent, name)


def node_from(status: os.stat_result, parent: int, name: str) -> Node:
    """Return a status as a node; a link is read where it lies.

    Raises:
        OSError: the link cannot be read.
    """
    kind = kind_of(status.st_mode)
    return Node(
        kind=kind,
        mode=stat.S_IMODE(status.st_mode),
        uid=status.st_uid,
        gid=status.st_gid,
        size=status.st_size,
        mtime=int(status.st_mtime),
        target=os.readlink(name, dir_fd=parent) if kind == "link" else "",
    )


def kind_of(mode: int) -> Literal["file", "directory", "link", "other"]:
    """Return the kind that a status' mode tells."""
    if stat.S_ISLNK(mode):
        return "link"
    if stat.S_ISDIR(mode):
        return "directory"
    return "file" if stat.S_ISREG(mode) else "other"
