"""Every name in an engine's layer folders, told to whoever searches them, the oldest first."""

import os
from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

from fleet.connectors.image_overlay import FOLDER, is_opaque, is_whiteout, read_unmarked
from fleet.connectors.image_rootfs import RootTree, kind_of
from fleet.connectors.oci.tar import MAX_MEMBERS
from fleet.connectors.scan.watch import Watch
from fleet.connectors.text import one_line
from fleet.errors import ProbeError


class _Name(NamedTuple):
    path: str
    status: os.stat_result


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
        for found in _in_folder(layer, folder, watch):
            count += 1
            if count > MAX_MEMBERS:
                raise ProbeError(f"a layer has more than {MAX_MEMBERS} files; stopped reading")
            kind = kind_of(found.status.st_mode)
            if is_whiteout(found.status):
                watch.whiteout(found.path)
                continue
            if kind == "directory":
                folders.append(found.path)
            elif kind == "file" and found.status.st_nlink > 1:
                kind = "other" if found.status.st_ino in names else kind
                names.add(found.status.st_ino)
            size = found.status.st_size if kind == "file" else 0
            watch.entry(found.path, kind, size, partial(read_unmarked, layer, found.path))


def _in_folder(layer: RootTree, folder: str, watch: Watch) -> Iterator[_Name]:
    """Yield what a folder holds, in the order of names."""
    try:
        with layer.parent(folder) as (parent, name):
            descriptor = os.open(name, FOLDER, dir_fd=parent)
            try:
                if is_opaque(descriptor):
                    watch.whiteout(folder, opaque=True)
                with os.scandir(descriptor) as entries:
                    found = [(each.name, each.stat(follow_symlinks=False)) for each in entries]
            finally:
                os.close(descriptor)
    except OSError as error:
        why = one_line(error.strerror or str(error))
        raise ProbeError(
            f"a layer's folder {one_line(folder, 80)} cannot be read: {why}"
        ) from error
    above = folder.rstrip("/")
    return (_Name(f"{above}/{name}", status) for name, status in sorted(found))
