"""Images that are damaged, forged, of a newer kind, or none: what is refused, and how."""

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from support.images import ONE, WRITERS, Write, collect, written
from support.trees import image

from fleet.demo.layout import (
    BakedImage,
    layer,
    layout_files,
)
from fleet.errors import ProbeError, Unreachable, Unsupported
from fleet.inventory.model import Target


def broken(tmp_path: Path, change: Callable[[dict[str, bytes]], None]) -> Target:
    files = layout_files([ONE])
    change(files)
    return image("oci", written(tmp_path, files), "palace:1")


def blob_of(files: dict[str, bytes], text: bytes) -> str:
    return next(name for name, data in files.items() if text in data and "blobs" in name)


def drop_layer(files: dict[str, bytes]) -> None:
    del files[blob_of(files, b"ustar")]


def cut_layer(files: dict[str, bytes]) -> None:
    name = blob_of(files, b"MEMPALACE_FEED")
    files[name] = files[name][:2000]


def forge_layer(files: dict[str, bytes]) -> None:
    name = blob_of(files, b"MEMPALACE_FEED")
    files[name] = files[name].replace(b"MEMPALACE_FEED", b"MEMPALACE_FAKE")


def drop_manifest(files: dict[str, bytes]) -> None:
    del files[blob_of(files, b'"layers":')]


def forge_config(files: dict[str, bytes]) -> None:
    name = blob_of(files, b'"rootfs"')
    files[name] = files[name].replace(b'"node"', b'"root"')


def break_index(files: dict[str, bytes]) -> None:
    files["index.json"] = b'{"manifests": [{"digest": "sha256:../../../../etc/passwd"}]}'


def deep_index(files: dict[str, bytes]) -> None:
    files["index.json"] = b'{"manifests":' + b"[" * 100_000


@pytest.mark.parametrize(
    "change, said",
    [
        (drop_layer, r"layer \d of 2 \(sha256:[0-9a-f]{12}\) is missing"),
        (cut_layer, r"layer 2 of 2 \(sha256:[0-9a-f]{12}\) cannot be read: it ends in the middle"),
        (forge_layer, r"layer 2 of 2 .* its sha256 is [0-9a-f]{12}\.\.\., not"),
        (drop_manifest, r"manifest sha256:[0-9a-f]{12} is missing"),
        (forge_config, r"configuration sha256:[0-9a-f]{12} is forged or damaged"),
        (break_index, r"index\.json is not understood: manifests\.0\.digest"),
        (deep_index, r"index\.json"),
    ],
)
def test_damage_names_the_blob(
    change: Callable[[dict[str, bytes]], None], said: str, tmp_path: Path
) -> None:
    with pytest.raises(ProbeError, match=said) as caught:
        collect(broken(tmp_path, change))
    assert caught.value.where.startswith("oci:")
    assert caught.value.hint
    assert "tok-EXAMPLE" not in str(caught.value)


@pytest.mark.parametrize("write", WRITERS[1:])
def test_an_archive_cut_anywhere_is_an_error_and_nothing_else(write: Write, tmp_path: Path) -> None:
    path = tmp_path / "i"
    target = write(path, [ONE])
    whole = path.read_bytes()
    for size in range(0, len(whole.rstrip(b"\0")), 777):
        path.write_bytes(whole[:size])
        with pytest.raises((ProbeError, Unreachable)):
            collect(target)


@pytest.mark.parametrize(
    "content, media",
    [
        (b"\xfd7zXZ\x00" + bytes(600), ""),
        (b"BZh9" + bytes(600), ""),
        (b"\x04\x22\x4d\x18" + bytes(600), ""),
        (b"what is this" * 60, "application/vnd.oci.image.layer.v1.tar+brotli"),
        (layer([]), "application/vnd.oci.image.layer.v1.tar+gzip+encrypted"),
    ],
)
def test_unknown_compression_is_unsupported_never_absent(
    content: bytes, media: str, tmp_path: Path
) -> None:
    files = layout_files([BakedImage([content])])
    if media:
        manifest = blob_of(files, b'"layers":')
        changed = files[manifest].replace(b"application/vnd.oci.image.layer.v1.tar", media.encode())
        del files[manifest]
        files["index.json"] = json.dumps({"manifests": [named(files, changed)]}).encode()
    with pytest.raises(Unsupported, match=r"cannot read .* layers here"):
        collect(image("oci", written(tmp_path, files)))


def named(files: dict[str, bytes], content: bytes) -> dict[str, object]:
    digest = hashlib.sha256(content).hexdigest()
    files[f"blobs/sha256/{digest}"] = content
    return {"digest": f"sha256:{digest}", "size": len(content)}


def test_an_artifact_is_no_image(tmp_path: Path) -> None:
    files = layout_files([])
    config = named(files, b"{}") | {"mediaType": "application/vnd.example.chart.v1+json"}
    manifest = json.dumps({"schemaVersion": 2, "config": config, "layers": []}).encode()
    files["index.json"] = json.dumps({"manifests": [named(files, manifest)]}).encode()
    with pytest.raises(Unsupported, match=r"an artifact \(application/vnd\.example"):
        collect(image("oci", written(tmp_path, files)))


@pytest.mark.parametrize(
    "scheme, made, said",
    [
        ("oci", None, "no such file or folder"),
        ("oci", b"", "it is a file, not a layout's folder"),
        ("oci-archive", None, "no such file or folder"),
        ("oci-archive", b"", "it is empty: no tar archive"),
        ("oci-archive", b"text" * 999, "it is no tar archive"),
        ("docker-archive", layer([]), "neither manifest.json nor index.json is in it"),
        ("oci-archive", layer([]), "index.json is missing"),
        ("rootfs", None, "no such file or folder"),
        ("rootfs", b"", "it is no folder"),
    ],
)
def test_what_is_no_image_is_said(
    scheme: str, made: bytes | None, said: str, tmp_path: Path
) -> None:
    path = tmp_path / "i"
    if made is not None:
        path.write_bytes(made)
    with pytest.raises((ProbeError, Unreachable), match=said) as caught:
        collect(image(scheme, path))
    assert caught.value.where == f"{scheme}:{path}"


@pytest.mark.parametrize("scheme", ["oci-archive", "docker-archive"])
def test_a_folder_is_no_archive(scheme: str, tmp_path: Path) -> None:
    with pytest.raises(Unreachable, match="it is a folder, not an archive") as caught:
        collect(image(scheme, tmp_path))
    assert "oci: reads a layout's folder" in caught.value.hint


def test_pipes_and_links_on_this_machine_are_not_followed(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(Unreachable, match="not a regular file"):
        collect(image("oci-archive", tmp_path / "pipe"))
    folder = written(tmp_path / "layout", layout_files([ONE]))
    (folder / "index.json").rename(tmp_path / "elsewhere.json")
    (folder / "index.json").symlink_to(tmp_path / "elsewhere.json")
    with pytest.raises(ProbeError, match=r"index\.json cannot be opened: it is a link"):
        collect(image("oci", folder))
