"""Images as a build would leave them: a user, pi, a toolkit of some date, and the link to it."""

import json
from collections.abc import Sequence
from pathlib import Path

from fleet.data import shipped
from fleet.demo.history import BRIDGE
from fleet.demo.layout import BakedImage, Member, layer, write_archive, write_docker_archive

TOOLKIT = "opt/mempalace-toolkit"
HOME = "home/dev"
PASSWD = b"root:x:0:0::/root:/bin/sh\ndev:x:1000:1000::/home/dev:/bin/sh\n"
PI = "usr/local/lib/node_modules/@earendil-works/pi-coding-agent"


def bake(
    archive: Path, bridge: bytes, *, date: str, docker: str = "", further: Sequence[bytes] = ()
) -> None:
    """Write an archive of an image whose toolkit carries ``bridge``, in OCI's or docker's form.

    ``docker`` is the reference to write it under in docker's form; empty writes OCI's. ``further``
    layers come on top.
    pi is there by its manifest only: what reads an image never starts it.
    """
    manifest = {
        "name": "@earendil-works/pi-coding-agent",
        "version": "1.6.0",
        "engines": {"node": ">=22.19.0"},
    }
    helper = (shipped("toolkit") / "bin" / "mempalace-pi-session").read_bytes()
    base = layer(
        [
            Member("etc/passwd", PASSWD),
            Member(f"{PI}/package.json", json.dumps(manifest).encode()),
            Member(f"{PI}/dist/bundle/cli.js", b"#!/usr/bin/env node\n", mode=0o755),
            Member(
                "usr/local/bin/pi",
                kind="link",
                target="../lib/node_modules/@earendil-works/pi-coding-agent/dist/bundle/cli.js",
            ),
        ]
    )
    memory = layer(
        [
            Member(f"{TOOLKIT}/{BRIDGE}", bridge),
            Member(f"{TOOLKIT}/bin/mempalace-pi-session", helper, mode=0o755),
            Member(
                "usr/local/bin/mempalace-pi-session",
                kind="link",
                target=f"/{TOOLKIT}/bin/mempalace-pi-session",
            ),
            Member(
                f"{HOME}/.pi/agent/extensions/mempalace.ts",
                kind="link",
                target=f"/{TOOLKIT}/{BRIDGE}",
                uid=1000,
                gid=1000,
            ),
        ]
    )
    config = {"User": "dev", "Env": ["PATH=/usr/local/bin:/usr/bin:/bin"]}
    tag = docker or date
    image = BakedImage(
        [base, memory, *further], tag=tag, config=config, extra={"created": f"{date}T12:00:00Z"}
    )
    write = write_docker_archive if docker else write_archive
    write(archive, [image])
