"""Layers written to files, and read as one tree."""

import posixpath
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from fleet.connectors.deadline import Deadline
from fleet.connectors.oci.kept import Kept
from fleet.connectors.oci.layers import Layer, LayeredTree
from fleet.connectors.oci.streams import Blob, Budget, open_regular
from fleet.demo.layout import Compression, Member, layer, packed


def tree_of(
    folder: Path,
    *layers: Iterable[Member] | bytes,
    compression: Compression = "plain",
    names: Iterable[str] = (),
    max_bytes: int = 64 * 1024 * 1024,
    kind: type[LayeredTree] = LayeredTree,
    kept: Kept | None = None,
) -> LayeredTree:
    """Write layers and read them."""
    found = []
    for number, members in enumerate(layers):
        content = members if isinstance(members, bytes) else layer(members)
        path = folder / f"{number}.tar"
        path.write_bytes(packed(content, compression))
        size = path.stat().st_size
        found.append(Layer(Blob(partial(open_regular, path), f"layer {number}", size)))
    budget = Budget(max_bytes, Deadline(60), "oci:x")
    return kind(found, budget, frozenset(names), kept=kept)


def listed(tree: LayeredTree, path: str = "/") -> dict[str, bytes | str | None]:
    """Return all that is below a folder, as a naive model would hold it."""
    found: dict[str, bytes | str | None] = {}
    for name in tree.listdir(path):
        inner = posixpath.join(path, name)
        node = tree.lstat(inner)
        assert node is not None
        if node.kind == "directory":
            found[inner] = None
            found |= listed(tree, inner)
        else:
            found[inner] = node.target if node.kind == "link" else tree.read(inner, 1 << 20)
    return found
