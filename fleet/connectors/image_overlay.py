"""An engine's image read from the folders in which the engine keeps its layers.

The rules are the kernel's for overlay file systems: folders of one name are one unless an upper one
is opaque, all else hides what lies below, and a character device 0:0 hides a name. What depends on
options of a mount that is not there (redirects, copies of metadata alone, attributes of users) is
not guessed: this way declines, and another one tells.
"""

import errno
import os
import posixpath
import stat
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from fleet.connectors.image_rootfs import MOST_LISTED, RootTree, node_from
from fleet.connectors.image_way import Declined
from fleet.errors import Unreachable
from fleet.facts.walk import Node, Unreadable

_ADMIN = 1 << 21  # CAP_SYS_ADMIN, without which the kernel hides trusted attributes
_ALL_IDS = ["0", "0", "4294967295"]
_ATTRIBUTES = ("trusted.overlay.", "user.overlay.")
_OPAQUE = "trusted.overlay.opaque"
#: Bookkeeping that changes nothing of what is seen.
_HARMLESS = frozenset(
    f"trusted.overlay.{name}" for name in ("origin", "impure", "nlink", "uuid", "upper", "protattr")
)
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_FOREIGN = "its layers' folders are marked in a way that only a mount can tell"


class _Found(NamedTuple):
    """What is at a path, and which layers have a say in it.

    Attributes:
        layers: numbers of the layers whose folders are one here, the uppermost first; of what is
            no folder, the one that brings it.
    """

    node: Node
    layers: tuple[int, ...]


def privileged(
    status: Path = Path("/proc/self/status"), ids: Path = Path("/proc/self/uid_map")
) -> bool:
    """Tell whether this process sees every attribute by which a layer hides what lies below."""
    try:
        lines = dict(line.partition(":")[::2] for line in status.read_text().splitlines())
        mapped = ids.read_text().split()
        capable = int(lines.get("CapEff", "0"), 16) & _ADMIN
    except (OSError, ValueError):
        return False
    return bool(capable) and mapped == _ALL_IDS


class OverlayTree:
    """A :class:`fleet.facts.walk.Tree` over layer folders.

    Attributes:
        layers: the uppermost first.
    """

    def __init__(self, layers: Sequence[RootTree]) -> None:
        """Look at nothing yet.

        Args:
            layers: the uppermost first.
        """
        self.layers = tuple(layers)
        self._met: dict[str, _Found | None] = {}

    def lstat(self, path: str) -> Node | None:
        """Return what is at a physical path."""
        found = self._found(_clean(path))
        return found.node if found else None

    def listdir(self, path: str) -> list[str]:
        """Return the names in a folder."""
        found = self._found(_clean(path))
        if found is None or found.node.kind != "directory":
            raise Unreadable(path, os.strerror(errno.ENOTDIR))
        names: dict[str, bool] = {}
        for number in found.layers:
            for name, hidden in self._entries(number, path):
                names.setdefault(name, not hidden)
                if len(names) > MOST_LISTED:
                    raise Unreadable(path, f"it holds more than {MOST_LISTED} names")
        return [name for name, there in names.items() if there]

    def read(self, path: str, limit: int) -> bytes:
        """Return a regular file's content."""
        found = self._found(_clean(path))
        if found is None or found.node.kind != "file":
            raise Unreadable(path, "not a file")
        return read_unmarked(self.layers[found.layers[0]], path, limit)

    def prefetch(self, paths: Collection[str]) -> None:
        """Do nothing: files are read one by one."""

    def _found(self, path: str) -> _Found | None:
        if path not in self._met:
            self._met[path] = self._looked(path)
        return self._met[path]

    def _looked(self, path: str) -> _Found | None:
        above = tuple(range(len(self.layers)))
        if path != "/":
            folder = self._found(posixpath.dirname(path))
            if folder is None or folder.node.kind != "directory":
                return None
            above = folder.layers
        top: Node | None = None
        layers: list[int] = []
        for number in above:
            with _reading(path):
                status, node, opaque = self._in_layer(number, path)
            if status is None or node is None:
                continue
            if is_whiteout(status) or (top and node.kind != "directory"):
                break
            layers.append(number)
            top = top or node
            if opaque or node.kind != "directory":
                break
        return _Found(top, tuple(layers)) if top else None

    def _in_layer(self, number: int, path: str) -> tuple[os.stat_result | None, Node | None, bool]:
        """Return a path's status and node in one layer, and whether it is an opaque folder."""
        try:
            with self.layers[number].parent(path) as (parent, name):
                status = os.stat(name, dir_fd=parent, follow_symlinks=False)
                node = node_from(status, parent, name)
                node = node if node.kind == "file" else replace(node, size=0)
                if node.kind != "directory":
                    return status, node, False
                descriptor = os.open(name, FOLDER, dir_fd=parent)
                try:
                    return status, node, is_opaque(descriptor)
                finally:
                    os.close(descriptor)
        except (FileNotFoundError, NotADirectoryError):
            return None, None, False

    def _entries(self, number: int, path: str) -> Iterator[tuple[str, bool]]:
        """Yield a folder's names in one layer, and of each whether it hides what lies below."""
        with _reading(path), self.layers[number].parent(path) as (parent, name):
            descriptor = os.open(name, FOLDER, dir_fd=parent)
            try:
                with os.scandir(descriptor) as found:
                    yield from ((entry.name, _hides(entry)) for entry in found)
            finally:
                os.close(descriptor)


def read_unmarked(layer: RootTree, path: str, limit: int) -> bytes:
    """Return a file's content in one layer.

    Raises:
        Declined: its content is elsewhere.
        Unreadable: it cannot be read, or is larger than ``limit`` bytes.
    """
    with _reading(path), layer.parent(path) as (parent, name):
        descriptor = os.open(name, _FILE, dir_fd=parent)
        try:
            is_opaque(descriptor)
        finally:
            os.close(descriptor)
    return layer.read(path, limit)


@contextmanager
def layer_folders(folders: Sequence[str]) -> Iterator[OverlayTree]:
    """Open layers' folders, the uppermost first, as one tree.

    Raises:
        Declined: they cannot all be opened, belong to shifted users, or were gone in the end.
    """
    with ExitStack() as stack:
        opened = []
        for folder in folders:
            tree = _opened(folder)
            stack.callback(tree.close)
            opened.append(tree)
        yield OverlayTree(opened)
        for folder, tree in zip(folders, opened, strict=True):
            if not tree.is_at(Path(folder)):
                raise Declined("the engine removed its layers' folders while they were read")


def _opened(folder: str) -> RootTree:
    if not folder.startswith("/"):
        raise Declined("the engine does not say where its layers' folders are")
    try:
        tree = RootTree(Path(folder), "")
    except Unreachable as error:
        raise Declined(f"the engine's folders cannot be opened from here: {error.what}") from error
    if (node := tree.lstat("/")) is None or node.uid != 0:
        tree.close()
        raise Declined("the engine shifts the users of its files")
    return tree


def is_opaque(descriptor: int) -> bool:
    """Tell whether an open folder is opaque.

    Raises:
        Declined: a file or folder is marked in a way that only a mount can tell.
    """
    try:
        names = [name for name in os.listxattr(descriptor) if name.startswith(_ATTRIBUTES)]
        foreign = set(names) - {_OPAQUE} - _HARMLESS
        value = os.getxattr(descriptor, _OPAQUE) if _OPAQUE in names else b""
    except OSError as error:
        if error.errno == errno.EOPNOTSUPP:
            return False
        raise
    if foreign or value not in (b"", b"y"):
        raise Declined(_FOREIGN)
    return value == b"y"


def is_whiteout(status: os.stat_result) -> bool:
    """Tell whether this hides what lies below under its name."""
    return stat.S_ISCHR(status.st_mode) and status.st_rdev == 0


def _hides(entry: "os.DirEntry[str]") -> bool:
    if entry.is_dir(follow_symlinks=False) or entry.is_file(follow_symlinks=False):
        return False
    return not entry.is_symlink() and is_whiteout(entry.stat(follow_symlinks=False))


def _clean(path: str) -> str:
    return "/" + path.strip("/")


@contextmanager
def _reading(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise Unreadable(path, error.strerror or str(error)) from error
