"""Every name in an engine's layer folders, told to whoever searches them, the oldest first."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import islice
from operator import attrgetter

from fleet.connectors.image_overlay import FOLDER, is_opaque, is_whiteout, read_unmarked
from fleet.connectors.image_rootfs import RootTree
from fleet.connectors.oci.tar import MAX_MEMBERS
from fleet.connectors.scan.watch import Watch
from fleet.connectors.text import one_line
from fleet.errors import ProbeError
from fleet.facts.walk import Unreadable

MOST_FOLDERS = 200_000
_AT_ONCE = 20_000


def tell_layers(layers: Sequence[RootTree], digests: Sequence[str], watch: Watch) -> None:
    """Walk all layers.

    Args:
        layers: the uppermost first.
        digests: of the layers, the lowest first.
        watch: is told.

    Raises:
        Declined: a folder is marked in a way that only a mount can tell.
        ProbeError: a layer holds more names than are read.
    """
    for layer, digest in zip(reversed(layers), digests, strict=True):
        watch.layer(digest)
        _tell(layer, watch)


def _tell(layer: RootTree, watch: Watch) -> None:
    folders, met, count = ["/"], 1, 0
    while folders:
        folder = folders.pop()
        with _opened(layer, folder) as (descriptor, entries):
            if is_opaque(descriptor):
                watch.whiteout(folder, opaque=True)
            # In the order of names; of a very large folder a part at a time.
            while part := sorted(islice(entries, _AT_ONCE), key=attrgetter("name")):
                count += len(part)
                if count > MAX_MEMBERS:
                    raise ProbeError(f"a layer has more than {MAX_MEMBERS} files; stopped reading")
                below = _told(layer, watch, folder, part)
                met += len(below)
                if met > MOST_FOLDERS:
                    raise ProbeError(
                        f"a layer has more than {MOST_FOLDERS} folders; stopped reading"
                    )
                folders += below


def _told(
    layer: RootTree, watch: Watch, folder: str, entries: Sequence["os.DirEntry[str]"]
) -> list[str]:
    """Tell what a folder holds, each name of a file as one of its own; return its folders."""
    above, folders = folder.rstrip("/"), []
    for each in entries:
        path = f"{above}/{each.name}"
        if each.is_file(follow_symlinks=False):
            read = partial(read_unmarked, layer, path)
            # Asking the kernel for the size of each of many thousand files is what a walk costs.
            watch.entry(path, "file", partial(_size, each), read)
        elif each.is_dir(follow_symlinks=False):
            folders.append(path)
            watch.entry(path, "directory", 0, _nothing)
        elif each.is_symlink():
            watch.entry(path, "link", 0, _nothing)
        elif is_whiteout(each.stat(follow_symlinks=False)):
            watch.whiteout(path)
        else:
            watch.entry(path, "other", 0, _nothing)
    return folders


def _size(each: "os.DirEntry[str]") -> int:
    return each.stat(follow_symlinks=False).st_size


@contextmanager
def _opened(layer: RootTree, folder: str) -> Iterator[tuple[int, Iterator["os.DirEntry[str]"]]]:
    """Open a folder, and what it holds."""
    try:
        with layer.parent(folder) as (parent, name):
            descriptor = os.open(name, FOLDER, dir_fd=parent)
            try:
                with os.scandir(descriptor) as entries:
                    yield descriptor, entries
            finally:
                os.close(descriptor)
    except OSError as error:
        why = one_line(error.strerror or str(error))
        raise ProbeError(
            f"a layer's folder {one_line(folder, 80)} cannot be read: {why}"
        ) from error


def _nothing(_limit: int) -> bytes:
    raise Unreadable("", "not a file")
