"""Every name in folders, told to whoever searches them: an engine's layers, the oldest first."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import islice
from operator import attrgetter
from typing import NamedTuple

from fleet.connectors.image_overlay import FOLDER, is_opaque, is_whiteout, read_unmarked
from fleet.connectors.image_rootfs import RootTree
from fleet.connectors.oci.streams import Budget
from fleet.connectors.oci.tar import MAX_MEMBERS
from fleet.connectors.scan.scan import LayerScan
from fleet.connectors.scan.watch import Watch
from fleet.connectors.text import one_line
from fleet.errors import ProbeError, TargetError
from fleet.facts.walk import Unreadable

MOST_FOLDERS = 200_000
_AT_ONCE = 20_000
_LAID = ("/dev", "/proc", "/sys")


def tell_layers(
    layers: Sequence[RootTree], digests: Sequence[str], watch: Watch, budget: Budget
) -> None:
    """Walk all layers.

    Args:
        layers: the uppermost first.
        digests: of the layers, the lowest first.
        watch: is told.
        budget: bounds the time.

    Raises:
        Declined: a folder is marked in a way that only a mount can tell.
        ProbeError: a layer holds more names than are read, or a folder that cannot be.
        Unreachable: no time is left.
    """
    for layer, digest in zip(reversed(layers), digests, strict=True):
        watch.layer(digest)
        try:
            for closed in _folders(layer, watch, _OVERLAY, lambda: budget.spend(0)):
                raise ProbeError(f"a layer's folder {closed}")
        except _TooManyError as error:
            raise ProbeError(f"a layer has {error}; stopped reading") from error


def tell_tree(tree: RootTree, scan: LayerScan) -> None:
    """Walk a root folder, in which no name hides another.

    What a kernel lays into a root that is in use is left out: it is nobody's file.
    """
    try:
        for _ in _folders(tree, scan, _PLAIN, lambda: _in_time(scan)):
            scan.closed()
    except _LateError:
        scan.stop(scan.late)
    except _TooManyError as error:
        scan.stop(f"it had {error}")


class _TooManyError(Exception):
    """There are more names than are read; the text says how many."""


class _LateError(Exception):
    """No time is left."""


def _in_time(scan: LayerScan) -> None:
    if scan.late:
        raise _LateError


class _Rules(NamedTuple):
    """What names and marks mean in a tree.

    Attributes:
        read: returns a file's content.
        is_opaque: tells of an open folder whether it hides what other layers hold below it.
        hides: whether a character device 0:0 hides its name in other layers.
        skipped: folders that are not walked.
    """

    read: Callable[[RootTree, str, int], bytes]
    is_opaque: Callable[[int], bool]
    hides: bool
    skipped: frozenset[str] = frozenset()


_OVERLAY = _Rules(read_unmarked, is_opaque, hides=True)
_PLAIN = _Rules(RootTree.read, lambda _: False, hides=False, skipped=frozenset(_LAID))


def _folders(
    layer: RootTree, watch: Watch, rules: _Rules, in_time: Callable[[], None]
) -> Iterator[str]:
    """Tell all folders of a tree; yield what is to be said of each that cannot be read."""
    folders, met, count = ["/"], 1, 0
    while folders:
        folder = folders.pop()
        try:
            with layer.parent(folder) as (parent, name), _entries(parent, name) as found:
                descriptor, entries = found
                if rules.is_opaque(descriptor):
                    watch.whiteout(folder, opaque=True)
                # In the order of names; of a very large folder a part at a time.
                while part := sorted(islice(entries, _AT_ONCE), key=attrgetter("name")):
                    in_time()
                    count += len(part)
                    if count > MAX_MEMBERS:
                        raise _TooManyError(f"more than {MAX_MEMBERS} files")
                    below = _told(layer, watch, folder, part, rules)
                    met += len(below)
                    if met > MOST_FOLDERS:
                        raise _TooManyError(f"more than {MOST_FOLDERS} folders")
                    folders += below
        except TargetError:
            raise  # some of them are errors of the system too
        except OSError as error:
            why = one_line(error.strerror or str(error))
            yield f"{one_line(folder, 80)} cannot be read: {why}"


def _told(
    layer: RootTree,
    watch: Watch,
    folder: str,
    entries: Sequence["os.DirEntry[str]"],
    rules: _Rules,
) -> list[str]:
    """Tell what a folder holds, each name of a file as one of its own; return its folders."""
    above, folders = folder.rstrip("/"), []
    for each in entries:
        path = f"{above}/{each.name}"
        if each.is_file(follow_symlinks=False):
            read = partial(rules.read, layer, path)
            # Asking the kernel for the size of each of many thousand files is what a walk costs.
            watch.entry(path, "file", partial(_size, each), read)
        elif each.is_dir(follow_symlinks=False):
            if path not in rules.skipped:
                folders.append(path)
            watch.entry(path, "directory", 0, _nothing)
        elif each.is_symlink():
            watch.entry(path, "link", 0, _nothing)
        elif rules.hides and is_whiteout(each.stat(follow_symlinks=False)):
            watch.whiteout(path)
        else:
            watch.entry(path, "other", 0, _nothing)
    return folders


def _size(each: "os.DirEntry[str]") -> int:
    return each.stat(follow_symlinks=False).st_size


@contextmanager
def _entries(parent: int, name: str) -> Iterator[tuple[int, Iterator["os.DirEntry[str]"]]]:
    """Open a folder, and what it holds."""
    descriptor = os.open(name, FOLDER, dir_fd=parent)
    try:
        with os.scandir(descriptor) as entries:
            yield descriptor, entries
    finally:
        os.close(descriptor)


def _nothing(_limit: int) -> bytes:
    raise Unreadable("", "not a file")
