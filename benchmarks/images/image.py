"""The image: 1.3 GB in several layers, made in the local engine from nothing public.

Its base is this machine's own Debian packages. On top lie what an agent's image is made of: a large
tree of small files, a few large ones, and the twelve files that are asked for. A later layer takes
one of the twelve back to what it was: the fault that has to be found.
"""

import hashlib
import io
import json
import random
import shutil
import tarfile
from pathlib import Path
from typing import IO, NamedTuple

import docker
from support.base_image import import_image

TAG = "fleet-bench-images:1"
BASE = "fleet-bench-base:1"
LABEL = "fleet.bench"
MEBI = 1024 * 1024
SMALL_FILES = 24_000
LARGE_FILES = 10
LARGE_BYTES = 85 * MEBI
FAULTY = 7

_DOCKERFILE = f"""FROM {BASE}
COPY modules /opt/node/lib/node_modules
COPY models /opt/models
COPY release /srv/app/releases/3
COPY links /
RUN rm -rf /usr/share/zsh /opt/models/9.bin
COPY patch /srv/app/releases/3
COPY etc /etc
"""


class Asked(NamedTuple):
    """One of the twelve files, and the line that must stand in it."""

    name: str
    path: str
    line: str


ASKED = (
    *(
        Asked(f"f{n:02d}", f"/srv/app/current/f{n:02d}.conf", f"release = 3.{n}")
        for n in range(1, 11)
    ),
    Asked("f11", "/etc/app.conf", "changed = later"),
    Asked("f12", "/etc/passwd", "u:x:1000:1000::/home/u:/bin/bash"),
)
#: What a tool has to see: every file holds its line but the one with the fault.
TRUTH = {each.name: each.name != f"f{FAULTY:02d}" for each in ASKED}


def build(engine: docker.DockerClient, scratch: Path) -> None:
    """Make the image where the engine does not have it yet."""
    try:
        engine.images.get(TAG)
    except docker.errors.ImageNotFound:
        changes = [f'LABEL {LABEL}="1"', "ENV PATH=/usr/bin:/bin"]
        import_image(engine, BASE, scratch, changes=changes)
        context = scratch / "context"
        _write_context(context)
        engine.images.build(path=str(context), tag=TAG, rm=True, forcerm=True)
        shutil.rmtree(context)


def save(engine: docker.DockerClient, archive: Path) -> None:
    """Write the image as ``docker save`` does."""
    with archive.open("wb") as file:
        for chunk in engine.api.get_image(TAG, chunk_size=MEBI):
            file.write(chunk)


def write_layout(archive: Path, folder: Path) -> None:
    """Write a saved image as an OCI layout whose layers are not compressed."""
    blobs = folder / "blobs/sha256"
    blobs.mkdir(parents=True)
    with tarfile.open(archive) as saved:
        manifest = json.loads(_member(saved, "manifest.json").read())[0]
        config = _blob(blobs, _member(saved, manifest["Config"]), "config.v1+json")
        layers = [_blob(blobs, _member(saved, name), "layer.v1.tar") for name in manifest["Layers"]]
    document = {"schemaVersion": 2, "config": config, "layers": layers}
    described = _blob(blobs, io.BytesIO(json.dumps(document).encode()), "manifest.v1+json")
    index = {"schemaVersion": 2, "manifests": [described]}
    (folder / "index.json").write_text(json.dumps(index))
    (folder / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')


def _write_context(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    same = random.Random(1)  # noqa: S311 - the same image every time
    for number in range(SMALL_FILES):
        path = folder / f"modules/m{number // 60:03d}/lib/{number % 60}.js"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(same.randbytes(same.randrange(500, 24_000)))
    (folder / "models").mkdir()
    for number in range(LARGE_FILES):
        with (folder / f"models/{number}.bin").open("wb") as file:
            for _ in range(LARGE_BYTES // MEBI):
                file.write(same.randbytes(MEBI))
    for each in ASKED[:10]:
        _text(folder / "release" / Path(each.path).name, f"{each.line}\n")
    _text(folder / "etc/app.conf", f"{ASKED[10].line}\n")
    _text(folder / f"patch/f{FAULTY:02d}.conf", f"release = 2.{FAULTY}\n")
    links = folder / "links/srv/app"
    links.mkdir(parents=True)
    (links / "current").symlink_to("releases/3")
    (links / "absolute.conf").symlink_to("/srv/app/releases/3/f01.conf")
    _text(folder / "Dockerfile", _DOCKERFILE)


def _text(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _member(saved: tarfile.TarFile, name: str) -> IO[bytes]:
    file = saved.extractfile(name)
    if file is None:
        raise ValueError(f"{name} is no file of the archive")
    return file


def _blob(blobs: Path, source: IO[bytes], kind: str) -> dict[str, object]:
    digest, size, part = hashlib.sha256(), 0, blobs / "part"
    with part.open("wb") as file:
        while chunk := source.read(MEBI):
            digest.update(chunk)
            size += file.write(chunk)
    name = digest.hexdigest()
    part.rename(blobs / name)
    media = f"application/vnd.oci.image.{kind}"
    return {"mediaType": media, "digest": f"sha256:{name}", "size": size}
