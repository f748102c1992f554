"""A container's files through the engine's archive API, for containers without a shell.

The engine follows links in a path's parents inside the container's root and hands out the last
component itself. For a link that loops it answers 500 and says so; such a link is read from the
archive of its folder.
"""

import posixpath
import tarfile
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, cast
from urllib.parse import quote

from fleet.connectors.deadline import Deadline
from fleet.connectors.engine import Endpoint, engine_faults, engine_url
from fleet.connectors.oci.tar import node_of, told
from fleet.connectors.text import one_line
from fleet.errors import ProbeError, Unreachable
from fleet.facts.walk import Node, Unreadable

if TYPE_CHECKING:
    from docker import APIClient
    from requests import Response

_OK = 200
_ABSENT = 404
_MOST_MEMBERS = 50_000
_BROKEN = (tarfile.TarError, EOFError, ValueError)


class ArchiveTree:
    """A :class:`fleet.facts.walk.Tree` over one container.

    Attributes:
        reads: how many archives were asked for.
    """

    def __init__(
        self, api: "APIClient", at: Endpoint, container: str, *, max_bytes: int, deadline: Deadline
    ) -> None:
        self.reads = 0
        self._api = api
        self._at = at
        self._container = container
        self._max_bytes = max_bytes
        self._deadline = deadline
        self._nodes: dict[str, Node | None] = {}
        self._names: dict[str, list[str]] = {}

    def lstat(self, path: str) -> Node | None:
        """Return what is at a physical path."""
        if path not in self._nodes:
            self._nodes[path] = self._asked(path)
        return self._nodes[path]

    def listdir(self, path: str) -> Sequence[str]:
        """Return the names in a folder."""
        if path not in self._names:
            self._read_folder(path)
        return self._names[path]

    def read(self, path: str, limit: int) -> bytes:
        """Return a file's content."""
        with self._opened(path) as (archive, why):
            member = archive.next() if archive else None
            if archive is None or member is None or not member.isreg():
                raise Unreadable(path, why or "not a file")
            if member.size > limit:
                raise Unreadable(path, f"larger than {limit} bytes")
            stream = archive.extractfile(member)
            content = stream.read() if stream else b""
        if len(content) != member.size:
            raise ProbeError("the engine's archive broke off", where=self._container)
        return content

    def prefetch(self, paths: Collection[str]) -> None:
        """Do nothing: files are read one by one."""

    def _asked(self, path: str) -> Node | None:
        with self._opened(path) as (archive, why):
            member = archive.next() if archive else None
        if member is not None:
            return node_of(told(member))
        if "too many links" not in why:
            if why:
                raise Unreadable(path, why)
            return None
        folder = posixpath.dirname(path)
        if folder not in self._names:
            self._read_folder(folder)
        return self._nodes.get(path)

    def _read_folder(self, path: str) -> None:
        """Read a folder's archive, and remember what is in it."""
        names: list[str] = []
        with self._opened(path) as (archive, why):
            if archive is None:
                raise Unreadable(path, why or "not a folder")
            for count, member in enumerate(archive):
                if count > _MOST_MEMBERS:
                    raise Unreadable(path, "too much is in it to be listed without a shell")
                relative = _relative(member.name, path)
                if not relative or "/" in relative:
                    continue
                names.append(relative)
                if not member.islnk():  # a second name of a file before it, told without its size
                    self._nodes[posixpath.join(path, relative)] = node_of(told(member))
        self._names[path] = names

    @contextmanager
    def _opened(self, path: str) -> Iterator[tuple[tarfile.TarFile | None, str]]:
        """Ask for a path's archive; without one, why: empty when nothing is there."""
        self.reads += 1
        with engine_faults(self._at, where=self._container):
            response = self._api.get(
                engine_url(self._api, f"/containers/{quote(self._container, safe='')}/archive"),
                params={"path": path.encode("utf-8", "surrogateescape")},
                headers={"Accept-Encoding": "identity"},
                stream=True,
                timeout=self._deadline.left(),
            )
            try:
                if response.status_code == _OK:
                    with self._archive(response, path) as archive:
                        yield archive, ""
                else:
                    yield None, _refusal(response, self._container)
            finally:
                response.close()

    @contextmanager
    def _archive(self, response: "Response", path: str) -> Iterator[tarfile.TarFile]:
        stream = _Bounded(response.raw.read, self._max_bytes, path, self._deadline)
        try:
            with tarfile.open(
                fileobj=cast("IO[bytes]", stream),  # a stream is only ever read
                mode="r|",
                encoding="utf-8",
                errors="surrogateescape",
            ) as archive:
                yield archive
        except _BROKEN as error:
            raise ProbeError(
                f"the engine's archive of {one_line(path)} is not understood: "
                f"{one_line(str(error))}",
                where=self._container,
            ) from None


class _Bounded:
    """Hands out an answer's bytes up to a limit and a moment."""

    def __init__(
        self, read: Callable[[int], bytes], limit: int, path: str, deadline: Deadline
    ) -> None:
        self._read = read
        self._left = limit
        self._path = path
        self._deadline = deadline

    def read(self, size: int) -> bytes:
        """Return up to ``size`` bytes."""
        data = self._read(size)
        self._left -= len(data)
        if self._left < 0 or self._deadline.passed:
            what = "bytes" if self._left < 0 else "time"
            raise Unreadable(self._path, f"reading it without a shell takes too many {what}")
        return data


def _refusal(response: "Response", container: str) -> str:
    """Say why there is no archive; empty when nothing is at the path."""
    said = one_line(response.content[:4096])
    if "no such container" in said.lower():
        raise Unreachable("the container is gone", stage="missing", where=container)
    if response.status_code == _ABSENT:
        return ""
    return "too many links" if "too many links" in said else f"the engine cannot read it: {said}"


def _relative(name: str, folder: str) -> str:
    """Strip what the engine puts in front of a member's name: the folder's own name."""
    name = name.strip("/")
    own = posixpath.basename(folder)
    return name if not own else name.removeprefix(own).lstrip("/")
