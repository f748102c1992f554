"""Every name in an engine's layer folders, told to whoever searches them, the oldest first."""

import os
import stat
from collections.abc import Sequence
from functools import partial

from fleet.connectors.image_overlay import FOLDER, is_opaque, is_whiteout, read_unmarked
from fleet.connectors.image_rootfs import RootTree
from fleet.connectors.oci.tar import MAX_MEMBERS
from fleet.connectors.scan.watch import Kind, Watch
from fleet.connectors.text import one_line
from fleet.errors import ProbeError
from fleet.facts.walk import Unreadable

_KINDS: dict[int, Kind] = {
    stat.S_IFREG: "file",
    stat.S_IFDIR: "directory",
    stat.S_IFLNK: "link",
}


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
    names: set[int] = set()  # inodes of files that have more than one name
    folders, count = ["/"], 0
    while folders:
        folder = folders.pop()
        above = folder.rstrip("/")
        found = _in_folder(layer, folder, watch)
        count += len(found)
        if count > MAX_MEMBERS:
            raise ProbeError(f"a layer has more than {MAX_MEMBERS} files; stopped reading")
        for name, status in found:
            path = f"{above}/{name}"
            kind = _KINDS.get(stat.S_IFMT(status.st_mode), "other")
            if kind == "file":
                if status.st_nlink > 1:
                    kind = "other" if status.st_ino in names else kind
                    names.add(status.st_ino)
                read = partial(read_unmarked, layer, path)
                watch.entry(path, kind, status.st_size if kind == "file" else 0, read)
            elif kind == "other" and is_whiteout(status):
                watch.whiteout(path)
            else:
                if kind == "directory":
                    folders.append(path)
                watch.entry(path, kind, 0, _nothing)


def _in_folder(layer: RootTree, folder: str, watch: Watch) -> list[tuple[str, os.stat_result]]:
    """Return what a folder holds, in the order of names."""
    try:
        with layer.parent(folder) as (parent, name):
            descriptor = os.open(name, FOLDER, dir_fd=parent)
            try:
                if is_opaque(descriptor):
                    watch.whiteout(folder, opaque=True)
                with os.scandir(descriptor) as entries:
                    return sorted((each.name, each.stat(follow_symlinks=False)) for each in entries)
            finally:
                os.close(descriptor)
    except OSError as error:
        why = one_line(error.strerror or str(error))
        raise ProbeError(
            f"a layer's folder {one_line(folder, 80)} cannot be read: {why}"
        ) from error


def _nothing(_limit: int) -> bytes:
    raise Unreadable("", "not a file")
