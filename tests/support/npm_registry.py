"""A package registry on loopback that npm asks in place of the public one."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import tarfile
from collections.abc import Mapping
from pathlib import Path

from support.http import LoopbackServer, Reply, Request


class NpmRegistry(LoopbackServer):
    """Serves packages by name and version; each is its files beside its ``package.json``."""

    def __init__(self, packages: Mapping[str, Mapping[str, Mapping[str, str]]]) -> None:
        self._packages = {
            name: {version: _packed(name, version, files) for version, files in versions.items()}
            for name, versions in packages.items()
        }
        super().__init__(self._answer)

    def configure(self, home: Path) -> None:
        """Let npm ask here, and nowhere else, where this folder is the home."""
        (home / ".npmrc").write_text(f"registry={self.url}/\nupdate-notifier=false\n")

    def _answer(self, request: Request) -> Reply:
        path = request.path.strip("/").replace("%2f", "/").replace("%2F", "/")
        name, _, archive = path.partition("/-/")
        versions = self._packages.get(name)
        if versions is None:
            return Reply(404, b"{}")
        if archive:
            return Reply(body=versions[archive.removesuffix(".tgz")])
        told = {v: self._told(name, v, data) for v, data in versions.items()}
        tags = {"latest": list(versions)[-1]}
        return Reply.of({"name": name, "dist-tags": tags, "versions": told})

    def _told(self, name: str, version: str, data: bytes) -> dict[str, object]:
        digest = base64.b64encode(hashlib.sha512(data).digest()).decode()
        dist = {"tarball": f"{self.url}/{name}/-/{version}.tgz", "integrity": f"sha512-{digest}"}
        return {"name": name, "version": version, "dist": dist}


def _packed(name: str, version: str, files: Mapping[str, str]) -> bytes:
    manifest = {"name": name, "version": version, **json.loads(files.get("package.json", "{}"))}
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for path, text in {**files, "package.json": json.dumps(manifest)}.items():
            info = tarfile.TarInfo(f"package/{path}")
            info.size, info.mode = len(text.encode()), 0o644
            archive.addfile(info, io.BytesIO(text.encode()))
    return packed.getvalue()
