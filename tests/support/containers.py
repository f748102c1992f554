"""Small containers for tests: busybox, with a shell or without, and what else a test puts in."""

import gc
import io
import shutil
import subprocess
import tarfile
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import docker
import docker.errors

PREFIX = "fleet-conn-test"
BUSYBOX = shutil.which("busybox")
PASSWD = (
    "root:x:0:0:root:/root:/bin/bash\n"
    "dev:x:1000:1000::/home/dev:/bin/zsh\n"
    "node:x:1001:1001::/home/node:/bin/sh\n"
)


def engine_answers() -> bool:
    """Whether there is an engine to test against, and a busybox to make images of."""
    if BUSYBOX is None:
        return False
    with warnings.catch_warnings():
        # Where nobody answers, the library leaves the socket open that it asked by.
        warnings.simplefilter("ignore", ResourceWarning)
        try:
            docker.from_env().close()
            answered = True
        except docker.errors.DockerException:
            answered = False
        gc.collect()
    return answered


@dataclass
class Root:
    """A root file system to be."""

    entries: dict[str, tarfile.TarInfo] = field(default_factory=dict)
    contents: dict[str, bytes] = field(default_factory=dict)

    def folder(self, path: str, *, mode: int = 0o755, uid: int = 0) -> None:
        self._entry(path, tarfile.DIRTYPE, mode, uid)

    def file(self, path: str, content: bytes, *, mode: int = 0o644, uid: int = 0) -> None:
        self._entry(path, tarfile.REGTYPE, mode, uid).size = len(content)
        self.contents[path] = content

    def link(self, path: str, target: str, *, uid: int = 0) -> None:
        self._entry(path, tarfile.SYMTYPE, 0o777, uid).linkname = target

    def _entry(self, path: str, kind: bytes, mode: int, uid: int) -> tarfile.TarInfo:
        entry = tarfile.TarInfo(path.lstrip("/"))
        entry.type, entry.mode, entry.uid, entry.gid, entry.mtime = kind, mode, uid, uid, 1_700_000
        self.entries[path] = entry
        return entry

    def packed(self) -> bytes:
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as archive:
            for path, entry in self.entries.items():
                content = self.contents.get(path)
                archive.addfile(entry, io.BytesIO(content) if content is not None else None)
        return packed.getvalue()


def base(*, shell: bool) -> Root:
    """Return busybox alone, or with its applets as links."""
    assert BUSYBOX
    root = Root()
    for path in ("/etc", "/root", "/tmp", "/home", "/bin"):
        root.folder(path)
    root.file("/etc/passwd", PASSWD.encode())
    root.file("/bin/busybox", Path(BUSYBOX).read_bytes(), mode=0o755)
    if shell:
        listed = subprocess.run([BUSYBOX, "--list"], check=True, capture_output=True, text=True)
        for applet in listed.stdout.split():
            if applet != "busybox":
                root.link(f"/bin/{applet}", "busybox")
    return root


class Engine:
    """The engine, and everything that was made in it; ``close`` removes exactly that."""

    def __init__(self) -> None:
        self.client = docker.from_env()
        self._images: list[str] = []
        self._containers: list[str] = []

    def image(self, name: str, root: Root, changes: tuple[str, ...] = ()) -> str:
        tag = f"{PREFIX}:{name}"
        api = self.client.api
        api.import_image_from_data(root.packed(), repository=PREFIX, tag=name, changes=changes)
        self._images.append(tag)
        return tag

    def run(
        self,
        image: str,
        *command: str,
        name: str = "",
        start: bool = True,
        environment: Mapping[str, str] | None = None,
        **options: Any,
    ) -> str:
        """Start a container that does nothing, by the name returned."""
        name = f"{PREFIX}-{name or len(self._containers)}"
        made = self.client.containers.create(
            image,
            list(command) or ["/bin/busybox", "sleep", "3600"],
            name=name,
            environment=dict(environment or {}),
            stop_signal="SIGKILL",
            **options,
        )
        self._containers.append(str(made.id))
        if start:
            made.start()
        return name

    def close(self) -> None:
        for container in self._containers:
            try:
                self.client.api.remove_container(container, force=True, v=True)
            except docker.errors.NotFound:
                continue
        for image in self._images:
            self.client.api.remove_image(image, force=True)
        self.client.close()
