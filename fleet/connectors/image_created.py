"""An engine's image read through its API: from a container that is created and never started.

To look whether something is at a path is cheap there; to have it is not, because the engine packs
every archive in a process of its own. So folders that hold several of the files asked for are
fetched whole while they are small, and what is large is never read to its end for a guess.

The engine follows links above the last component inside the image, and hands out the last one
itself; a link that loops is refused with 500, and read from the archive of its folder.
"""

import posixpath
import secrets
from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from json import loads
from typing import TypeAlias

from fleet.connectors.deadline import Deadline
from fleet.connectors.engine_http import ABSENT, CREATED, NO_CONTENT, OK, EngineHttp, said
from fleet.connectors.image_way import Declined
from fleet.connectors.oci.streams import Damaged, Forward, Readable
from fleet.connectors.oci.tar import TarMember, members, node_of
from fleet.connectors.text import one_line
from fleet.errors import ProbeError, TargetError
from fleet.facts.request import TEXT_LIMIT, PathQuestion, Read
from fleet.facts.tree import expand
from fleet.facts.walk import Node, Unreadable, resolve

LABEL = "fleet.look"
MEBI = 1024 * 1024
GUESS_BYTES, GUESS_MEMBERS = 8 * MEBI, 5_000
LIST_BYTES, LIST_MEMBERS = 512 * MEBI, 200_000
_KEPT_BYTES = 16 * MEBI
_MOST_NODES = 150_000
_REMOVE_SECONDS = 30.0
_GO_DIRECTORY = 1 << 31
_REFUSED = 500
#: What the engine lays into every container, over whatever the image has there.
_LAID = frozenset(
    {"/.dockerenv", "/etc/hosts", "/etc/hostname", "/etc/resolv.conf", "/etc/mtab"}
    | {"/dev", "/proc", "/sys"}
)
_LAID_BELOW = ("/dev/", "/proc/", "/sys/")
_ALTERED = frozenset({"/", "/etc"})


@contextmanager
def created(engine: EngineHttp, image: str, volumes: Collection[str]) -> Iterator[str]:
    """Create a container, yield its name, and remove it whatever happens.

    Args:
        engine: has the image.
        image: its id.
        volumes: what the image declares. Each is named as memory of the container, which a
            container that does not run never gets; so no volume is made, and nothing copied.

    Raises:
        Declined: the engine creates none.
        ProbeError: it could not be removed again.
    """
    name = f"fleet-look-{secrets.token_hex(6)}"
    memory = {volume: "" for volume in volumes if volume.startswith("/")}
    wanted = {
        "Image": image,
        "Entrypoint": ["fleet-never-starts-this"],
        "WorkingDir": "/",  # the engine makes the folder the image names
        "Labels": {LABEL: "1"},
        "NetworkDisabled": True,
        "HostConfig": {"NetworkMode": "none", "Tmpfs": memory},
    }
    try:
        _create(engine, name, wanted)
        yield name
    except BaseException:
        with suppress(TargetError):
            _surely_removed(engine, name)
        raise
    _surely_removed(engine, name)


def _create(engine: EngineHttp, name: str, wanted: Mapping[str, object]) -> None:
    status, answer = engine.json("POST", "/containers/create", {"name": name}, wanted)
    if status != CREATED:
        raise Declined(f"the engine creates no container: {said(answer)}")


def _surely_removed(engine: EngineHttp, name: str) -> None:
    """Remove it, also when this process is told to end in the middle."""
    try:
        _remove(engine, name)
    except KeyboardInterrupt:
        _remove(engine, name)
        raise


def _remove(engine: EngineHttp, name: str) -> None:
    """Remove by name: a container may be there although nobody heard so."""
    patient = EngineHttp(engine.at, Deadline(_REMOVE_SECONDS), name)
    try:
        status, answer = patient.json("DELETE", f"/containers/{name}", {"force": "1", "v": "1"})
    finally:
        patient.close()
    if status not in (NO_CONTENT, ABSENT):
        raise ProbeError(
            f"the engine does not remove the container it was read from: {said(answer)}",
            where=name,
            hint=f"remove it with: docker rm -v {name}",
        )


_Found: TypeAlias = tuple[str, TarMember, Forward]


class CreatedTree:
    """A :class:`fleet.facts.walk.Tree` over a container that was never started.

    Attributes:
        fetched: how many archives were asked for.
    """

    def __init__(self, engine: EngineHttp, container: str, wanted: Collection[str] = ()) -> None:
        """Look at nothing yet.

        Args:
            engine: has the container.
            container: its name.
            wanted: paths that will be asked for, as far as they are known.
        """
        self.fetched = 0
        self._engine = engine
        self._path = f"/containers/{container}/archive"
        self._wanted = {*wanted, "/etc/passwd"}
        self._nodes: dict[str, Node | None] = {"/": Node("directory")}
        self._names: dict[str, set[str]] = {}
        self._contents: dict[str, bytes] = {}
        self._kept = 0
        self._bare = {"/"}  # folders of which only that they are there is known
        self._whole: set[str] = set()
        self._large: set[str] = {"/"}

    def prepare(self, questions: Sequence[PathQuestion], home: str) -> None:
        """Look up what the questions lead to, and how each folder that is asked for is owned."""
        paths = {expand(each.path, home): each.read for each in questions}
        self._wanted |= paths.keys()
        for path, read in paths.items():
            final = resolve(self, path).final if path.startswith("/") else None
            if final is None:
                continue
            if final in _ALTERED:
                raise Declined(f"every container has a {final} of its own")
            with suppress(Unreadable):
                if read in (Read.LIST, Read.NOTES) and self.lstat(final) == Node("directory"):
                    self.listdir(final)
                elif final in self._bare:
                    self._fetch_one(final)

    def lstat(self, path: str) -> Node | None:
        """Return what is at a physical path."""
        if path in _LAID or path.startswith(_LAID_BELOW):
            raise Declined(f"the engine lays something of its own over {one_line(path, 80)}")
        if path not in self._nodes:
            if self._known_absent(path):
                return None
            self._look(path)
        return self._nodes.get(path)

    def listdir(self, path: str) -> list[str]:
        """Return the names in a folder."""
        if path in _ALTERED:
            raise Declined(f"every container has a {path} of its own")
        if not self._is_whole(path):
            self._fetch(path, LIST_BYTES, LIST_MEMBERS)
        if not self._is_whole(path):
            raise Declined(f"{one_line(path, 80)} is too large to be listed through the engine")
        return list(self._names.get(path, ()))

    def read(self, path: str, limit: int) -> bytes:
        """Return a regular file's content."""
        node = self.lstat(path)
        if node is None or node.kind != "file":
            raise Unreadable(path, "not a file")
        if node.size > limit:
            raise Unreadable(path, f"larger than {limit} bytes")
        if path not in self._contents:
            self._fetch_one(path, limit)
        return self._contents[path]

    def prefetch(self, paths: Collection[str]) -> None:
        """Do nothing: most files came with their folders."""

    def _look(self, path: str) -> None:
        """Find out what is at a path, for little if there is nothing or a folder."""
        with self._engine.open("HEAD", self._path, {"path": path}) as answer:
            status, told = answer.status, answer.header("X-Docker-Container-Path-Stat")
        if status == ABSENT:
            self._nodes[path] = None
        elif status == OK and _is_folder(told):
            self._nodes[path] = Node("directory")
            self._bare.add(path)
        elif status in (OK, _REFUSED):
            self._learn(path, refused=status == _REFUSED)
        else:
            raise Declined(f"the engine answers {status} when asked what is at a path")

    def _learn(self, path: str, *, refused: bool) -> None:
        folder = posixpath.dirname(path)
        if folder not in self._large and (refused or self._wanted_below(folder) > 1):
            self._fetch(folder, GUESS_BYTES, GUESS_MEMBERS)
        if path not in self._nodes and not refused:
            self._fetch_one(path)
        if path not in self._nodes:
            raise Declined(f"the engine cannot tell what {one_line(path, 80)} is")

    def _wanted_below(self, folder: str) -> int:
        return sum(path.startswith(f"{folder}/") for path in self._wanted)

    def _known_absent(self, path: str) -> bool:
        """Tell whether a folder above was read whole without this path in it."""
        folder, name = posixpath.split(path)
        return self._is_whole(folder) and name not in self._names.get(folder, ())

    def _is_whole(self, path: str) -> bool:
        while path not in self._whole:
            if path == "/":
                return False
            path = posixpath.dirname(path)
        return True

    def _fetch(self, folder: str, most_bytes: int, most_members: int) -> None:
        """Read a folder's archive, and remember what is in it; past a bound, what came before."""
        try:
            with closing(self._archive(folder, most_bytes, most_members)) as found:
                for relative, member, source in found:
                    self._remember(folder, relative, member, source)
            self._whole.add(folder)
        except _TooMuch:
            self._large.add(folder)

    def _fetch_one(self, path: str, limit: int = TEXT_LIMIT) -> None:
        """Read the head of a path's archive, and the content of a file that is not large."""
        with closing(self._archive(path, limit + MEBI, 1)) as found:
            relative, member, source = next(found, ("", None, None))
            if relative or member is None or source is None or member.islnk():
                what = f"the engine's archive of {one_line(path)} does not hold it"
                raise ProbeError(what)
            node = self._nodes[path] = node_of(member)
            self._bare.discard(path)
            if node.kind == "file" and node.size <= limit:
                self._contents[path] = source.read(node.size)

    def _remember(self, folder: str, relative: str, member: TarMember, source: Forward) -> None:
        if len(self._nodes) > _MOST_NODES:
            raise _TooMuch
        path = posixpath.join(folder, relative) if relative else folder
        self._bare.discard(path)
        if relative:
            self._names.setdefault(posixpath.dirname(path), set()).add(posixpath.basename(path))
        if member.islnk():
            self._second_name(path, posixpath.join(folder, _relative(member.linkname, folder)))
            return
        node = self._nodes[path] = node_of(member)
        if node.kind == "file" and node.size <= min(TEXT_LIMIT, _KEPT_BYTES - self._kept):
            self._contents[path] = source.read(node.size)
            self._kept += node.size

    def _second_name(self, path: str, first: str) -> None:
        """Remember a hard link as what it is a name of; where that is not known, nothing."""
        node = self._nodes.get(first)
        if node is not None and node.kind != "directory":
            self._nodes[path] = node
            if first in self._contents:
                self._contents[path] = self._contents[first]

    def _archive(
        self, path: str, most_bytes: int, most_members: int
    ) -> Generator[_Found, None, None]:
        """Yield an archive's members by their path from ``path``; their content comes in order.

        Raises:
            _TooMuch: there is more of it.
        """
        self.fetched += 1
        with self._engine.open("GET", self._path, {"path": path}) as answer:
            if answer.status != OK:
                raise Declined(f"the engine answers {answer.status} instead of an archive")
            source = Forward(_Bounded(answer, most_bytes))
            try:
                for count, member in enumerate(members(source)):
                    if count >= most_members:
                        raise _TooMuch
                    yield _relative(member.name, path), member, source
            except Damaged as error:
                raise ProbeError(
                    f"the engine's archive of {one_line(path)} is not understood: {error}"
                ) from error


class _TooMuch(Exception):
    """An archive is larger than a guess may cost."""


class _Bounded:
    """Hands out an answer's bytes up to a limit."""

    def __init__(self, answer: Readable, limit: int) -> None:
        self._answer = answer
        self._left = limit

    def read(self, size: int, /) -> bytes:
        if self._left <= 0:
            raise _TooMuch
        data = self._answer.read(min(size, self._left))
        self._left -= len(data)
        return data


def _is_folder(told: str) -> bool:
    """Tell whether the engine's word on a path is that of a folder."""
    try:
        document = loads(b64decode(told))
    except (ValueError, NotBase64) as error:
        raise Declined("the engine does not say what is at a path") from error
    mode = document.get("mode") if isinstance(document, dict) else None
    if not isinstance(mode, int):
        raise Declined("the engine does not say what is at a path")
    return bool(mode & _GO_DIRECTORY)


def _relative(name: str, folder: str) -> str:
    """Strip what the engine puts in front of a member's name: the folder's own name."""
    clean = posixpath.normpath("/" + name).strip("/")
    own = posixpath.basename(folder)
    if not own or clean == own:
        return "" if clean == own else clean
    return clean.removeprefix(f"{own}/")
