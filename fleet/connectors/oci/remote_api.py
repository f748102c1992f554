"""What is asked of a registry: the distribution project's HTTP API, version 2, reading only.

Credentials go to the registry's own origin and to the token server that it names, never to where
a redirect leads. No word of an answer's text is shown, only codes: a server may repeat in it what
it was sent.
"""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import httpx

from fleet.connectors.oci.documents import JSON_LIMIT
from fleet.connectors.oci.remote_auth import Challenge, Doorman, challenges
from fleet.connectors.oci.remote_http import (
    REDIRECTS,
    Trust,
    Wire,
    WireFault,
    is_loopback,
    moved_to,
    shown_host,
)
from fleet.connectors.text import one_line
from fleet.errors import ProbeError, Unreachable
from fleet.inventory.image_reference import ImageReference
from fleet.secrets import Secret

MANIFESTS = (
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
)
_VERSION = "docker-distribution-api-version"
_PING_SECONDS = 10.0
_SHOWN_TAGS = 8
_CODE = re.compile(r"[A-Z][A-Z_]{2,39}")

Knock = Callable[["Origin"], Doorman]


class Document(NamedTuple):
    """A manifest as it came."""

    raw: bytes
    media: str
    digest: str


class Origin(NamedTuple):
    """Where a registry answers: ``https`` or ``http``, host and port."""

    scheme: str
    authority: str

    def url(self, path: str) -> httpx.URL:
        """Return where a path of the API is."""
        return httpx.URL(f"{self.scheme}://{self.authority}/v2/{path}")

    def holds(self, url: httpx.URL) -> bool:
        """Tell whether a URL leads to this very origin."""
        own = self.url("")
        return (url.scheme, url.host, _port(url)) == (own.scheme, own.host, _port(own))


class Api:
    """One repository of one registry."""

    def __init__(
        self, reference: ImageReference, trust: Trust, wire: Wire, where: str, knock: Knock
    ) -> None:
        """Find the registry out: which scheme it speaks, and how it lets in.

        Args:
            reference: the image that is meant.
            trust: whether plain HTTP will do.
            wire: sends requests.
            where: the target.
            knock: makes the one who asks for tokens.

        Raises:
            Unreachable: no answer, or no way in.
            ProbeError: what answers is no registry.
        """
        self._reference = reference
        self._trust = trust
        self._wire = wire
        self._where = where
        self._authorization: Secret | None = None
        self._origin, offered = self._found()
        self._doorman = knock(self._origin)
        if offered:
            self._authorization = self._doorman.admitted(offered)

    def manifest(self, version: str) -> Document:
        """Return a manifest or an index, by tag or digest; its hash is the caller's to compare.

        Raises:
            Unreachable: stage ``missing``, with the tags that are there; or no way in.
            ProbeError: the answer is too long, or none that a registry gives.
        """
        with self._got(f"manifests/{version}", accept=", ".join(MANIFESTS)) as response:
            if response.status_code == httpx.codes.NOT_FOUND:
                raise self._missing(_code(self._wire.body(response, JSON_LIMIT)))
            self._expect_ok(response, "its manifest")
            raw = self._wire.body(response, JSON_LIMIT)
            headers = response.headers
        if raw is None:
            raise ProbeError("its manifest is too large for a document", where=self._where)
        media = headers.get("content-type", "").partition(";")[0].strip().lower()
        return Document(raw, media, headers.get("docker-content-digest", ""))

    @contextmanager
    def blob(self, digest: str, shown: str) -> Iterator[httpx.Response]:
        """Ask for a blob; its body is still to be read.

        Args:
            digest: names it.
            shown: as an error calls it.

        Raises:
            Unreachable: no answer, or no way in.
            ProbeError: it is not there.
        """
        with self._got(f"blobs/{digest}") as response:
            if response.status_code == httpx.codes.NOT_FOUND:
                raise ProbeError(
                    f"{shown} is not in the registry",
                    where=self._where,
                    hint="the image was pushed only in part: push it again",
                )
            self._expect_ok(response, shown)
            yield response

    def parts(self, response: httpx.Response) -> Iterator[bytes]:
        """Yield a body's bytes as they come."""
        return self._wire.parts(response)

    def _found(self) -> tuple[Origin, list[Challenge]]:
        """Find out whether the registry speaks TLS, where the inventory leaves that open.

        On loopback plain HTTP goes first: nothing secret is in the question, and some servers wait
        for ever on the first bytes of TLS. Elsewhere TLS goes first.
        """
        host = httpx.URL(f"https://{self._reference.registry}").host
        schemes = ["https"]
        if self._trust.plain(host):
            schemes = ["http", "https"] if is_loopback(host) else ["https", "http"]
        first: Unreachable | ProbeError | None = None
        for scheme in schemes:
            origin = Origin(scheme, self._reference.registry)
            try:
                return origin, self._ping(origin, only=len(schemes) == 1)
            except (WireFault, ProbeError) as error:
                if isinstance(error, WireFault) and error.kind == "certificate":
                    raise
                # That one of two schemes is not spoken says less than what the other answered.
                useless = isinstance(error, WireFault) and error.kind in ("tls", "not-http")
                first = error if first is None or not useless else first
        raise first or AssertionError("there is a scheme to try")

    def _ping(self, origin: Origin, *, only: bool) -> list[Challenge]:
        seconds = None if only else _PING_SECONDS
        url = origin.url("")
        with self._followed(url, origin, {}, seconds) as response:
            status, headers = response.status_code, response.headers
            self._wire.body(response, JSON_LIMIT)
        registry = headers.get(_VERSION, "").startswith("registry/2")
        offered = challenges(headers.get_list("www-authenticate"))
        if status == httpx.codes.UNAUTHORIZED and (offered or registry):
            return offered or [Challenge("")]
        if status == httpx.codes.OK and (registry or "json" in headers.get("content-type", "")):
            return []
        if status == httpx.codes.FORBIDDEN:
            raise self._denied()
        raise ProbeError(
            f"what answers at {shown_host(url)} is no registry: HTTP {status} for /v2/",
            where=self._where,
            hint="the first part of the name is the registry's host",
        )

    @contextmanager
    def _got(self, path: str, *, accept: str = "*/*") -> Iterator[httpx.Response]:
        """Ask for a path of the repository; once more with a new token where one is wanted."""
        url = self._origin.url(f"{self._reference.repository}/{path}")
        headers = {"accept": accept}
        for renewed in (False, True):
            with self._followed(url, self._origin, headers, None) as response:
                if response.status_code != httpx.codes.UNAUTHORIZED or renewed:
                    yield response
                    return
                offered = challenges(response.headers.get_list("www-authenticate"))
                self._wire.body(response, JSON_LIMIT)
            self._authorization = self._doorman.admitted(offered)

    @contextmanager
    def _followed(
        self, url: httpx.URL, origin: Origin, headers: dict[str, str], seconds: float | None
    ) -> Iterator[httpx.Response]:
        """Send a request and follow redirects, each hop with what may be shown there."""
        for _ in range(REDIRECTS + 1):
            own = self._authorization if origin.holds(url) else None
            proof = {"authorization": own.reveal()} if own else {}
            with self._wire.sent(url, {**headers, **proof}, seconds=seconds) as response:
                further = moved_to(response)
                if further is None:
                    yield response
                    return
            url = self._allowed(further, origin)
        raise ProbeError(f"the registry redirects more than {REDIRECTS} times", where=self._where)

    def _allowed(self, url: httpx.URL, origin: Origin) -> httpx.URL:
        if url.scheme not in ("http", "https") or not url.host:
            raise ProbeError("the registry redirects to what is no web address", where=self._where)
        if not may_be_asked(url, origin, self._trust):
            raise ProbeError(
                f"the registry redirects to {shown_host(url)} without TLS",
                where=self._where,
                hint="if plain HTTP will do there: -e registry_insecure=true",
            )
        return url.copy_with(username=None, password=None) if url.userinfo else url

    def _expect_ok(self, response: httpx.Response, shown: str) -> None:
        if response.status_code == httpx.codes.OK:
            return
        if self._origin.holds(response.url):
            if response.status_code == httpx.codes.UNAUTHORIZED:
                raise self._doorman.turned_away()
            if response.status_code == httpx.codes.FORBIDDEN:
                raise self._denied()
        raise ProbeError(
            f"{shown_host(response.url)} answered HTTP {response.status_code} for {shown}",
            where=self._where,
            hint="it is no registry, or the image was pushed only in part",
        )

    def _denied(self) -> Unreachable:
        return Unreachable(
            "the registry denies access (HTTP 403)",
            stage="authentication",
            where=self._where,
            hint=f"who may read it? docker login {self._reference.registry}",
        )

    def _missing(self, code: str) -> Unreachable:
        name = one_line(self._reference.repository, 120)
        if code == "NAME_UNKNOWN":
            return Unreachable(
                f"the registry has no repository {name}", stage="missing", where=self._where
            )
        told = f" ({code})" if code and code != "MANIFEST_UNKNOWN" else ""
        there = self._tags()
        return Unreachable(
            f"there is no {one_line(self._reference.version, 140)} in {name}{told}",
            stage="missing",
            where=self._where,
            hint=f"it has {there}" if there else "no tag of it could be listed",
        )

    def _tags(self) -> str:
        """Return some of the repository's tags for an error; empty where they are not told."""
        try:
            with self._got(f"tags/list?n={_SHOWN_TAGS}") as response:
                ok = response.status_code == httpx.codes.OK
                body = self._wire.body(response, JSON_LIMIT) if ok else b""
            tags = json.loads(body or b"").get("tags")
        except (Unreachable, ProbeError, ValueError, AttributeError, RecursionError):
            return ""
        if not isinstance(tags, list):
            return ""
        return ", ".join(one_line(str(tag), 80) for tag in tags[:_SHOWN_TAGS])


def may_be_asked(url: httpx.URL, origin: Origin, trust: Trust) -> bool:
    """Tell whether a host that a registry names may be asked at this URL.

    Always by TLS; in the clear only where the registry itself is asked so, and only on loopback
    or with the inventory's leave.
    """
    return url.scheme == "https" or (origin.scheme == "http" and trust.plain(url.host))


def _port(url: httpx.URL) -> int:
    return url.port or (443 if url.scheme == "https" else 80)


def _code(body: bytes | None) -> str:
    """Return a registry's error code (``MANIFEST_UNKNOWN``); empty where it says none."""
    try:
        code = json.loads(body or b"")["errors"][0]["code"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return ""
    return code if isinstance(code, str) and _CODE.fullmatch(code) else ""
