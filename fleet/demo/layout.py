"""Write small images: an OCI layout, an OCI archive or a docker archive, byte for byte the same.

Enough to bake images for the demo and for tests without an engine; no compression but on request,
no time stamps but those given.
"""

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Literal

from fleet.dataclass import dataclass

_OCI = "application/vnd.oci.image"
_EMPTY_INDEX = {"schemaVersion": 2, "mediaType": f"{_OCI}.index.v1+json"}
Compression = Literal["plain", "gzip", "zstd"]


@dataclass(frozen=True, slots=True)
class Member:
    """One member of a layer; ``target`` is what a link or a hard link says."""

    path: str
    content: bytes = b""
    kind: Literal["file", "directory", "link", "hard", "device"] = "file"
    target: str = ""
    mode: int = 0o644
    uid: int = 0
    gid: int = 0
    mtime: int = 0


_TYPES = {
    "file": tarfile.REGTYPE,
    "directory": tarfile.DIRTYPE,
    "link": tarfile.SYMTYPE,
    "hard": tarfile.LNKTYPE,
    "device": tarfile.CHRTYPE,
}


@dataclass(frozen=True, slots=True)
class BakedImage:
    """An image to write.

    Attributes:
        layers: tar archives, the lowest first (see :func:`layer`).
        config: ``User``, ``Env``, ``Labels`` and so on.
        extra: further keys of the configuration (``created``, ``history``).
    """

    layers: Sequence[bytes]
    tag: str = ""
    config: Mapping[str, object] = field(default_factory=dict)
    platform: str = "linux/amd64"
    compression: Compression = "plain"
    extra: Mapping[str, object] = field(default_factory=dict)


def layer(members: Iterable[Member]) -> bytes:
    """Write a layer's tar archive."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for member in members:
            info = tarfile.TarInfo(member.path)
            info.type = _TYPES[member.kind]
            info.linkname = member.target
            info.mode, info.mtime = member.mode, member.mtime
            info.uid, info.gid = member.uid, member.gid
            info.size = len(member.content)
            archive.addfile(info, io.BytesIO(member.content))
    return buffer.getvalue()


def write_layout(folder: Path, images: Sequence[BakedImage]) -> None:
    """Write images as an OCI layout into a folder, which is made."""
    for name, content in layout_files(images).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def write_archive(file: Path, images: Sequence[BakedImage]) -> None:
    """Write images as an OCI archive: a layout in a tar file."""
    file.write_bytes(layer(Member(name, data) for name, data in layout_files(images).items()))


def write_docker_archive(file: Path, images: Sequence[BakedImage]) -> None:
    """Write images as ``docker save`` did before it wrote OCI layouts; layers are plain."""
    members: dict[str, bytes] = {}
    manifest = []
    for image in images:
        names = []
        for content in image.layers:
            names.append(f"{_hex(content)}/layer.tar")
            members[names[-1]] = content
        config = _configuration(image)
        members[f"{_hex(config)}.json"] = config
        tags = [image.tag] if image.tag else None
        manifest.append({"Config": f"{_hex(config)}.json", "RepoTags": tags, "Layers": names})
    members["manifest.json"] = _json(manifest)
    file.write_bytes(layer(Member(name, data) for name, data in members.items()))


def layout_files(images: Sequence[BakedImage]) -> dict[str, bytes]:
    """Return a layout's files by name."""
    files = {"oci-layout": _json({"imageLayoutVersion": "1.0.0"})}
    manifests = []
    for image in images:
        descriptor = add_image(files, image)
        if image.tag:
            descriptor["annotations"] = {f"{_ANNOTATION}.ref.name": image.tag}
        manifests.append(descriptor)
    files["index.json"] = _json({**_EMPTY_INDEX, "manifests": manifests})
    return files


def add_image(files: dict[str, bytes], image: BakedImage) -> dict[str, object]:
    """Add an image's blobs to a layout's files; return the descriptor for an index."""
    suffix = "" if image.compression == "plain" else f"+{image.compression}"
    layers = [
        add_blob(files, packed(content, image.compression), f"{_OCI}.layer.v1.tar{suffix}")
        for content in image.layers
    ]
    config = add_blob(files, _configuration(image), f"{_OCI}.config.v1+json")
    kind = f"{_OCI}.manifest.v1+json"
    manifest = {"schemaVersion": 2, "mediaType": kind, "config": config, "layers": layers}
    system, machine = image.platform.split("/", 1)
    platform = {"os": system, "architecture": machine}
    return {**add_blob(files, _json(manifest), kind), "platform": platform}


def add_index(files: dict[str, bytes], descriptors: Sequence[object]) -> dict[str, object]:
    """Add an index of descriptors to a layout's files; return its descriptor."""
    kind = str(_EMPTY_INDEX["mediaType"])
    return add_blob(files, _json({**_EMPTY_INDEX, "manifests": list(descriptors)}), kind)


def add_blob(files: dict[str, bytes], content: bytes, media: str) -> dict[str, object]:
    """Add one blob to a layout's files; return its descriptor."""
    digest = _hex(content)
    files[f"blobs/sha256/{digest}"] = content
    return {"mediaType": media, "digest": f"sha256:{digest}", "size": len(content)}


def packed(content: bytes, compression: Compression) -> bytes:
    """Compress a layer, the same way every time."""
    if compression == "gzip":
        return gzip.compress(content, mtime=0)
    if compression == "zstd":
        import zstandard  # noqa: PLC0415 - for those who ask for it only

        return zstandard.ZstdCompressor().compress(content)
    return content


_ANNOTATION = "org.opencontainers.image"


def _configuration(image: BakedImage) -> bytes:
    system, machine = image.platform.split("/", 1)
    ids = [f"sha256:{_hex(content)}" for content in image.layers]
    return _json(
        {
            "os": system,
            "architecture": machine,
            "config": dict(image.config),
            "rootfs": {"type": "layers", "diff_ids": ids},
            **image.extra,
        }
    )


def _json(value: object) -> bytes:
    return json.dumps(value, sort_keys=True).encode()


def _hex(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
