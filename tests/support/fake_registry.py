"""A registry that does as it is told, for what a sound one never does."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from support.http import LoopbackServer, Reply, Request
from support.trees import image

from fleet.demo.layout import BakedImage, layout_files
from fleet.inventory.model import Target

VERSION = {"docker_distribution_api_version": "registry/2.0"}
Rule = Reply | Callable[[Request], Reply]


class FakeRegistry(LoopbackServer):
    """Serves images' files as ``palace:1``, and rules before those.

    Args:
        images: the first one is ``palace:1``.
        tls: files of a certificate and its key.

    Attributes:
        files: a layout's, by name.
        rules: answers by a pattern that a path must match from its start.
    """

    def __init__(
        self, images: Sequence[BakedImage] = (), *, tls: tuple[Path, Path] | None = None
    ) -> None:
        self.files = layout_files(images)
        self.rules: dict[str, Rule] = {}
        self.top: dict[str, object] = {}
        self.name_top(0)
        super().__init__(self._answer, tls=tls)

    def name_top(self, number: int = 0) -> None:
        """Make one of the index's images ``palace:1``."""
        listed = json.loads(self.files["index.json"])["manifests"]
        self.top = listed[number] if listed else {}

    @property
    def authority(self) -> str:
        return f"{self.address}:{self.port}"

    def target(self, **variables: str) -> Target:
        return image("docker", f"{self.authority}/palace:1", **variables)

    def blob(self, digest: str) -> bytes:
        return self.files[f"blobs/{digest.replace(':', '/')}"]

    @property
    def layers(self) -> list[str]:
        """The digests of the first image's layers, the lowest first."""
        manifest = json.loads(self.blob(str(self.top["digest"])))
        return [layer["digest"] for layer in manifest["layers"]]

    def _answer(self, request: Request) -> Reply:
        for pattern, rule in self.rules.items():
            if re.match(pattern, request.path):
                return rule if isinstance(rule, Reply) else rule(request)
        if request.path == "/v2/":
            return Reply.of({}, **VERSION)
        kind, _, version = request.path.removeprefix("/v2/palace/").partition("/")
        digest = str(self.top.get("digest")) if version == "1" else version
        content = self.files.get(f"blobs/{digest.replace(':', '/')}")
        if content is None:
            return Reply(status=404, body=b'{"errors": [{"code": "MANIFEST_UNKNOWN"}]}')
        media = "application/octet-stream"
        if kind == "manifests":
            media = json.loads(content).get("mediaType", "")
        return Reply(body=content, content_type=media)
