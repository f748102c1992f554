"""Images baked for tests, and every way of writing them down."""

import gzip
from collections.abc import Callable, Sequence
from pathlib import Path

from support.trees import image

from fleet.connectors.image import ImageConnector
from fleet.demo.layout import (
    BakedImage,
    Member,
    layer,
    write_archive,
    write_docker_archive,
    write_layout,
)
from fleet.facts.model import Facts
from fleet.facts.request import (
    CommandQuestion,
    LaunchQuestion,
    PathQuestion,
    ProcessQuestion,
    Read,
    Request,
)
from fleet.inventory.model import Target

PASSWD = Member("etc/passwd", b"root:x:0:0::/root:/bin/sh\nnode:x:1000:1000::/home/node:/bin/sh\n")
ONE = BakedImage(
    [
        layer([PASSWD, Member("usr/bin/pi", kind="link", target="../lib/pi/cli.js")]),
        layer(
            [
                Member("usr/lib/pi/cli.js", b"#!", mode=0o755),
                Member("usr/lib/pi/package.json", b'{"name": "pi"}'),
                Member("opt/bridge.ts", b"MEMPALACE_FEED"),
                Member("home/node/bridge.ts", kind="link", target="/opt/bridge.ts"),
            ]
        ),
    ],
    tag="palace:1",
    config={
        "User": "node",
        "Env": ["PATH=/usr/bin", "TOKEN=tok-EXAMPLE-img", "DEVICE=box"],
        "Labels": {"version": "1", "args": "T_TOKEN=tok-EXAMPLE-img"},
        "Volumes": {"/home/node": {}},
    },
    extra={"created": "2026-08-10T00:00:00Z"},
)
REQUEST = Request(
    "n0",
    paths=(PathQuestion("~/bridge.ts", Read.WHOLE), PathQuestion("/none")),
    launches=(
        LaunchQuestion(
            "container",
            public=("DEVICE", "HOME", "UNSET"),
            secret=("TOKEN",),
            commands=(CommandQuestion("pi", Read.HASH, manifest=True), CommandQuestion("uv")),
        ),
        LaunchQuestion("bash -lc", public=("DEVICE",)),
    ),
    processes=(ProcessQuestion("pi", ("pi",)),),
    listeners=True,
)


def collect(target: Target, request: Request = REQUEST, **options: int) -> Facts:
    return ImageConnector(target, **options).collect(request)


def as_layout(path: Path, images: Sequence[BakedImage]) -> Target:
    write_layout(path, images)
    return image("oci", path, "palace:1")


def as_archive(path: Path, images: Sequence[BakedImage]) -> Target:
    write_archive(path, images)
    return image("oci-archive", path, "palace:1")


def as_packed_archive(path: Path, images: Sequence[BakedImage]) -> Target:
    write_archive(path, images)
    path.write_bytes(gzip.compress(path.read_bytes()))
    return image("oci-archive", path)


def as_docker_archive(path: Path, images: Sequence[BakedImage]) -> Target:
    write_docker_archive(path, images)
    return image("docker-archive", path, "palace:1")


Write = Callable[[Path, Sequence[BakedImage]], Target]
WRITERS = [as_layout, as_archive, as_packed_archive, as_docker_archive]


def written(folder: Path, files: dict[str, bytes]) -> Path:
    """Write a layout's files into a folder; returns it."""
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder
