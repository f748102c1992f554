"""What Debian's package manager knows of a root file system that is made of some packages."""

import io
import subprocess
import tarfile
import time
from collections.abc import Sequence
from pathlib import Path

_SOURCES = "/etc/apt/sources.list.d/debian.sources"


def package_database(names: Sequence[str]) -> bytes:
    """Return what dpkg and apt know of a machine with these packages of this one, as a tar.

    This machine's own would name packages, users and groups that are not there.
    """
    ended = subprocess.run(
        ["dpkg", "--status", *names], capture_output=True, text=True, check=False
    )
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        _add(tar, "var/lib/dpkg/status", ended.stdout.encode())
        _add(tar, "var/lib/dpkg/available", b"")
        _add(tar, "var/lib/dpkg/info/format", b"1\n")
        _add(tar, _SOURCES[1:], Path(_SOURCES).read_bytes())
        for folder in (
            "var/lib/dpkg/updates",
            "var/lib/dpkg/triggers",
            "var/cache/apt/archives/partial",
        ):
            _folder(tar, folder)
        for name in names:
            for path in sorted(Path("/var/lib/dpkg/info").glob(f"{name}[.:]*")):
                tar.add(path, str(path)[1:])
    return made.getvalue()


def _add(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size, info.mtime = len(data), int(time.time())
    tar.addfile(info, io.BytesIO(data))


def _folder(tar: tarfile.TarFile, name: str) -> None:
    info = tarfile.TarInfo(name)
    info.type, info.mode = tarfile.DIRTYPE, 0o755
    tar.addfile(info)
