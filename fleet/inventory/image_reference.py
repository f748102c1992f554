"""Names of images in registries: ``registry.example.net:5000/team/pi-devbox:tag@sha256:…``.

The grammar is the distribution project's reference grammar. Short names are refused: which registry
one means differs from machine to machine, and a check must mean the same everywhere.
"""

import re

from fleet.dataclass import dataclass

DEFAULT_TAG = "latest"
MAX_NAME = 255
LOCALHOST = "localhost"

_PART = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_HOST = re.compile(rf"(?:{_LABEL}(?:\.{_LABEL})*|\[[0-9a-fA-F:.]+\])(?::[0-9]{{1,5}})?")
_REPOSITORY = re.compile(rf"{_PART}(?:/{_PART})*")
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_DIGEST_BEGINS = re.compile(r"@sha(?:256|512):")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128}")


@dataclass(frozen=True, slots=True)
class ImageReference:
    """An image in a registry.

    Attributes:
        registry: host and port, as a URL has them.
        repository: its name in the registry.
        tag: empty where only a digest is named.
        digest: of the manifest; it alone decides where both are named.
    """

    registry: str
    repository: str
    tag: str = ""
    digest: str = ""

    @property
    def version(self) -> str:
        """Return what the registry is asked for: the digest, else the tag."""
        return self.digest or self.tag

    def __str__(self) -> str:
        tag = f":{self.tag}" if self.tag else ""
        digest = f"@{self.digest}" if self.digest else ""
        return f"{self.registry}/{self.repository}{tag}{digest}"


def image_reference(text: str) -> ImageReference:
    """Read the part of an address after ``docker://``.

    Raises:
        ValueError: it is none; the text says why and repeats nothing of it.
    """
    if not may_be_shown(text):
        raise ValueError("what follows its @ is no digest; for credentials use `docker login`")
    named, at, digest = text.partition("@")
    registry, slash, rest = named.partition("/")
    host = registry.partition(":")[0]
    if not slash and ("." in host or host == LOCALHOST) and _HOST.fullmatch(registry):
        raise ValueError("it names a registry and no image in it")
    if not slash or not (set(registry) & set(".:") or registry == LOCALHOST):
        raise ValueError("it names no registry; its host comes first")
    if not _HOST.fullmatch(registry):
        raise ValueError("its registry is no host name with or without a port")
    repository, colon, tag = rest.partition(":")
    if at and not _DIGEST.fullmatch(digest):
        raise ValueError("its digest is not sha256: and 64 lower-case hexadecimal digits")
    if colon and not _TAG.fullmatch(tag):
        raise ValueError("its tag is none: letters, digits, `_`, `.` and `-`, at most 128")
    if repository != repository.lower():
        raise ValueError("its repository has capital letters, and registries know none")
    if not _REPOSITORY.fullmatch(repository) or len(repository) > MAX_NAME:
        raise ValueError("its repository is no name: letters, digits and `._-` between slashes")
    return ImageReference(registry, repository, tag or ("" if at else DEFAULT_TAG), digest)


def may_be_shown(text: str) -> bool:
    """Tell whether an error may repeat a reference: what stands before an ``@`` may be a password.

    An ``@`` that begins a digest is none of those.
    """
    return "@" not in _DIGEST_BEGINS.sub("", text, count=1)
