"""A real registry on loopback, Debian's docker-registry, and what fills it and lets in to it."""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import bcrypt
import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from support.http import LoopbackServer, Reply, Request
from support.loopback import LOOPBACK, free_port
from support.mcp_server import self_signed

from fleet.demo.layout import BakedImage, add_image, add_index

PROGRAM = shutil.which("docker-registry")
USER, PASSWORD = "ci", "tok-EXAMPLE-registry"
SERVICE, ISSUER = "registry.example.net", "tokens.example.net"
OCI_INDEX = "application/vnd.oci.image.index.v1+json"
OCI_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
DOCKER_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
_DOCKER = {
    "application/vnd.oci.image.config.v1+json": "application/vnd.docker.container.image.v1+json",
    "application/vnd.oci.image.layer.v1.tar+gzip": (
        "application/vnd.docker.image.rootfs.diff.tar.gzip"
    ),
    OCI_MANIFEST: DOCKER_MANIFEST,
    OCI_INDEX: "application/vnd.docker.distribution.manifest.list.v2+json",
}


@dataclass
class DebianRegistry:
    """One running registry.

    Attributes:
        authority: host and port.
        credentials: a user and password to push with.
        headers: further headers to push with.
        verify: a PEM file that vouches for it.
    """

    folder: Path
    port: int
    scheme: str
    credentials: tuple[str, str] | None = None
    headers: dict[str, str] = field(default_factory=dict)
    verify: str | None = None

    @property
    def authority(self) -> str:
        return f"{LOOPBACK}:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.authority}"

    @property
    def log(self) -> Path:
        return self.folder / "log"

    def blob(self, digest: str) -> Path:
        """Return where the registry keeps a blob."""
        algorithm, _, value = digest.partition(":")
        kept = self.folder / "data/docker/registry/v2/blobs"
        return kept / algorithm / value[:2] / value / "data"

    def client(self) -> httpx.Client:
        """Return one that may push."""
        return httpx.Client(
            base_url=self.url,
            auth=self.credentials,
            headers=self.headers,
            trust_env=False,
            verify=ssl.create_default_context(cafile=self.verify),
        )


class Watched(LoopbackServer):
    """Stands before a registry and remembers what it was asked."""

    def __init__(self, registry: DebianRegistry) -> None:
        self._registry = registry
        super().__init__(self._passed_on)

    @property
    def authority(self) -> str:
        return f"{self.address}:{self.port}"

    def asked(self, part: str) -> list[str]:
        """Return the paths that were asked for, of those that hold a text."""
        return [request.path for request in self.requests if part in request.path]

    def _passed_on(self, request: Request) -> Reply:
        accept = {"accept": request.headers["accept"]}
        with self._registry.client() as client:
            told = client.get(request.path, headers=accept)
        named = ("docker-content-digest", "docker-distribution-api-version")
        kept = {name: told.headers[name] for name in named if name in told.headers}
        return Reply(told.status_code, told.content, told.headers["content-type"], kept)


@contextmanager
def debian_registry(
    folder: Path, *, tls: tuple[Path, Path] | None = None, auth: Mapping[str, object] | None = None
) -> Iterator[DebianRegistry]:
    """Run a registry while the block runs.

    Args:
        folder: takes its files.
        tls: files of a certificate and its key.
        auth: the ``auth`` part of its configuration.
    """
    if PROGRAM is None:
        pytest.skip("docker-registry is not installed")
    port = free_port()
    http: dict[str, object] = {"addr": f"{LOOPBACK}:{port}", "secret": "s"}
    if tls:
        http["tls"] = {"certificate": str(tls[0]), "key": str(tls[1])}
    config = {
        "version": 0.1,
        "log": {"accesslog": {"disabled": True}, "level": "error"},
        "storage": {"filesystem": {"rootdirectory": str(folder / "data")}},
        "http": http,
        **({"auth": dict(auth)} if auth else {}),
    }
    (folder / "config.yml").write_text(json.dumps(config))
    made = DebianRegistry(folder, port, "https" if tls else "http")
    with made.log.open("wb") as log:
        process = subprocess.Popen(
            [PROGRAM, "serve", str(folder / "config.yml")],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
        try:
            _wait(made, process)
            yield made
        finally:
            process.terminate()
            process.wait()


def _wait(registry: DebianRegistry, process: subprocess.Popen[bytes]) -> None:
    for _ in range(500):
        with socket.socket() as probe:
            if probe.connect_ex((LOOPBACK, registry.port)) == 0:
                return
        assert process.poll() is None, registry.log.read_text()
        time.sleep(0.02)
    raise AssertionError(registry.log.read_text())


def htpasswd(folder: Path) -> dict[str, object]:
    """Return the ``auth`` part of a registry with one user."""
    hashed = bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(4)).decode()
    (folder / "htpasswd").write_text(f"{USER}:{hashed}\n")
    return {"htpasswd": {"realm": "here", "path": str(folder / "htpasswd")}}


def push(
    registry: DebianRegistry,
    repository: str,
    tag: str,
    images: Sequence[BakedImage],
    *,
    docker: bool = False,
) -> dict[str, str]:
    """Push one image, or an index of several.

    Args:
        registry: where to.
        repository: its name there.
        tag: what it is tagged.
        images: one for each platform.
        docker: with docker's media types in place of OCI's.

    Returns:
        Digests: ``manifest`` of what was tagged, and ``layer N`` of the first image's layers.
    """
    files: dict[str, bytes] = {}
    described = [add_image(files, image) for image in images]
    top = described[0] if len(described) == 1 else add_index(files, described)
    with registry.client() as client:
        renamed: dict[str, str] = {}
        for descriptor in [*described, *([top] if len(described) > 1 else [])]:
            digest = str(descriptor["digest"])
            text = files[f"blobs/sha256/{digest[7:]}"].decode()
            for old, new in _DOCKER.items() if docker else ():
                text = text.replace(f'"{old}"', f'"{new}"')
            for old, new in renamed.items():
                text = text.replace(old, new)
            document = json.loads(text)
            if "layers" in document:
                for blob in (document["config"], *document["layers"]):
                    _push_blob(client, repository, files[f"blobs/sha256/{blob['digest'][7:]}"])
            renamed[digest] = f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"
            _push_manifest(client, repository, renamed[digest], text)
        _push_manifest(client, repository, tag, text)
    first = json.loads(files[f"blobs/sha256/{str(described[0]['digest'])[7:]}"])
    layers = {f"layer {n}": str(blob["digest"]) for n, blob in enumerate(first["layers"], 1)}
    return {"manifest": renamed[str(top["digest"])], **layers}


def _push_blob(client: httpx.Client, repository: str, content: bytes) -> None:
    digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
    begun = client.post(f"/v2/{repository}/blobs/uploads/").raise_for_status()
    where = httpx.URL(begun.headers["location"]).copy_merge_params({"digest": digest})
    client.put(where, content=content).raise_for_status()


def _push_manifest(client: httpx.Client, repository: str, version: str, text: str) -> None:
    media = json.loads(text)["mediaType"]
    answer = client.put(
        f"/v2/{repository}/manifests/{version}", content=text, headers={"content-type": media}
    )
    assert answer.is_success, answer.text


class TokenServer(LoopbackServer):
    """Gives tokens as the distribution project specifies them, to one user or to anybody.

    Args:
        folder: takes the certificate that its registry trusts.
        anonymous: whether those without credentials get tokens too.
    """

    def __init__(self, folder: Path, *, anonymous: bool = False, lives: int = 300) -> None:
        self.anonymous = anonymous
        self.lives = lives
        self._bundle, key = self_signed(folder)
        self._certificate = x509.load_pem_x509_certificate(self._bundle.read_bytes())
        loaded = serialization.load_pem_private_key(key.read_bytes(), None)
        assert isinstance(loaded, ec.EllipticCurvePrivateKey)
        self._key = loaded
        super().__init__(self._answer)

    @property
    def auth(self) -> dict[str, object]:
        """The ``auth`` part of a registry that trusts it."""
        return {
            "token": {
                "realm": f"{self.url}/token",
                "service": SERVICE,
                "issuer": ISSUER,
                "rootcertbundle": str(self._bundle),
            }
        }

    def token(self, repository: str, *actions: str) -> str:
        """Return a token for one repository."""
        now = int(time.time())
        claims = {
            "iss": ISSUER,
            "sub": USER,
            "aud": SERVICE,
            "exp": now + self.lives,
            "nbf": now - 10,
            "iat": now,
            "jti": str(now),
            "access": [{"type": "repository", "name": repository, "actions": list(actions)}],
        }
        der = self._certificate.public_bytes(serialization.Encoding.DER)
        head = {"typ": "JWT", "alg": "ES256", "x5c": [base64.b64encode(der).decode()]}
        signed = f"{_url64(json.dumps(head).encode())}.{_url64(json.dumps(claims).encode())}"
        r, s = decode_dss_signature(self._key.sign(signed.encode(), ec.ECDSA(hashes.SHA256())))
        return f"{signed}.{_url64(r.to_bytes(32) + s.to_bytes(32))}"

    def _answer(self, request: Request) -> Reply:
        asked = parse_qs(request.body.decode() or urlsplit(request.path).query)
        kind, repository, actions = asked["scope"][0].split(":")
        assert kind == "repository"
        if not self._knows(request, asked):
            return Reply(status=401, body=b'{"errors": [{"code": "UNAUTHORIZED"}]}')
        return Reply.of({"token": self.token(repository, *actions.split(","))})

    def _knows(self, request: Request, asked: Mapping[str, list[str]]) -> bool:
        if request.method == "POST":
            return asked["refresh_token"] == [PASSWORD] and asked["grant_type"] == ["refresh_token"]
        told = request.headers.get("authorization")
        pair = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        return told == f"Basic {pair}" if told else self.anonymous


def _url64(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def docker_config(folder: Path, content: Mapping[str, object]) -> Path:
    """Write docker's ``config.json`` into a folder; returns the folder, for ``DOCKER_CONFIG``."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(content))
    return folder


def logged_in(registry: str) -> dict[str, object]:
    """Return what ``docker login`` writes where no helper keeps the password."""
    pair = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
    return {"auths": {registry: {"auth": pair}}}
