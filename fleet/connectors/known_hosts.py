"""Host keys, judged by OpenSSH's rules.

A line of known_hosts is ``[@marker] names type key [comment]``; see sshd(8), SSH_KNOWN_HOSTS FILE
FORMAT. Names are patterns (``*``, ``?``, ``!`` negates the line) or a hash (``|1|salt|hmac``).
"""

import base64
import binascii
import hashlib
import hmac
import re
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from functools import lru_cache
from pathlib import Path

from fleet.dataclass import dataclass

_FIELDS = 3
_LIMIT = 16 * 1024 * 1024
_PATTERN = re.compile(r"[*?!|]")


@dataclass(frozen=True, slots=True)
class KnownKey:
    """One host key that a file vouches for, or revokes.

    Attributes:
        marker: empty, ``cert-authority`` or ``revoked``.
        type: ``ssh-ed25519``, ``ssh-rsa``, ...
        blob: the public key in wire format.
        file: where it stands.
        line: counted from 1.
    """

    marker: str
    type: str
    blob: bytes
    file: str
    line: int

    @property
    def fingerprint(self) -> str:
        """The key's fingerprint as ssh shows it."""
        return fingerprint(self.blob)


class Trust(StrEnum):
    """What the known keys say of a key that was offered."""

    KNOWN = "known"
    UNKNOWN = "unknown"
    CHANGED = "changed"
    REVOKED = "revoked"


@dataclass(frozen=True, slots=True)
class Judgement:
    """What is known of an offered key.

    Attributes:
        trust: the answer.
        because: the keys that decided it; of a changed one, those of the offered type first.
        authority: whether a certificate authority is trusted for the host; no certificate is
            checked, so it never makes a key known.
    """

    trust: Trust
    because: tuple[KnownKey, ...] = ()
    authority: bool = False


UNHEARD_OF = Judgement(Trust.UNKNOWN)


def fingerprint(blob: bytes) -> str:
    """Name a public key as OpenSSH does: ``SHA256:`` and unpadded base64."""
    return "SHA256:" + base64.b64encode(hashlib.sha256(blob).digest()).decode().rstrip("=")


def known_keys(files: Iterable[str], names: Sequence[str]) -> tuple[tuple[KnownKey, ...], ...]:
    """Read the keys that files hold for a host, a group for each name it may be filed under.

    A file that is absent or unreadable holds no keys, and so does a line that cannot be read.
    """
    held = [_read(file) for file in files]
    return tuple(tuple(key for lines in held for key in lines.about(name)) for name in names)


def judge(groups: Sequence[Sequence[KnownKey]], key_type: str, blob: bytes) -> Judgement:
    """Judge an offered host key against the keys that are known for its host.

    As in OpenSSH the first name decides; a later one only makes known what is unknown by then.
    """
    first, *others = [_judged(keys, key_type, blob) for keys in groups] or [UNHEARD_OF]
    if first.trust is Trust.UNKNOWN:
        return next((other for other in others if other.trust is Trust.KNOWN), first)
    return first


def _judged(keys: Sequence[KnownKey], key_type: str, blob: bytes) -> Judgement:
    authority = any(key.marker == "cert-authority" for key in keys)
    revoked = tuple(key for key in keys if key.marker == "revoked" and key.blob == blob)
    plain = sorted((key for key in keys if not key.marker), key=lambda key: key.type != key_type)
    same = tuple(key for key in plain if key.blob == blob)
    if revoked:
        return Judgement(Trust.REVOKED, revoked, authority)
    if same:
        return Judgement(Trust.KNOWN, same, authority)
    if plain:
        return Judgement(Trust.CHANGED, tuple(plain), authority)
    return Judgement(Trust.UNKNOWN, authority=authority)


def preferred(groups: Sequence[Sequence[KnownKey]], allowed: Sequence[str]) -> tuple[str, ...]:
    """Order host key algorithms so that the server offers a key of a type that is known."""
    plain = [key for keys in groups for key in keys if not key.marker]
    known = {algorithm for key in plain for algorithm in _algorithms(key.type)}
    return (
        *(algorithm for algorithm in allowed if algorithm in known),
        *(algorithm for algorithm in allowed if algorithm not in known),
    )


def _algorithms(key_type: str) -> tuple[str, ...]:
    return ("rsa-sha2-512", "rsa-sha2-256") if key_type == "ssh-rsa" else (key_type,)


class _Lines:
    """A file's lines. Most spell names out, and are found without a look at all the others."""

    def __init__(self, lines: Iterable[tuple[str, KnownKey]] = ()) -> None:
        self._spelt: dict[str, list[KnownKey]] = {}
        self._others: list[tuple[str, KnownKey]] = []
        for patterns, key in lines:
            if _PATTERN.search(patterns):
                self._others.append((patterns, key))
            else:
                for name in dict.fromkeys(patterns.lower().split(",")):
                    self._spelt.setdefault(name, []).append(key)

    def about(self, name: str) -> list[KnownKey]:
        """Return the keys of a name, in the order of lines."""
        spelt = self._spelt.get(name, [])
        others = [key for patterns, key in self._others if _means(patterns, name)]
        return sorted([*spelt, *others], key=lambda key: key.line) if others else spelt


def _read(file: str) -> _Lines:
    """Return a file's lines; read once for all hosts, and again when it changed."""
    try:
        status = Path(file).stat()
    except OSError:
        return _Lines()
    return _unchanged(file, (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns))


@lru_cache(maxsize=16)
def _unchanged(file: str, _status: tuple[int, ...]) -> _Lines:
    return _Lines(_lines(file))


def _lines(file: str) -> Iterator[tuple[str, KnownKey]]:
    try:
        with Path(file).open("rb") as stream:
            text = stream.read(_LIMIT).decode("utf-8", "replace")
    except OSError:
        return
    for number, line in enumerate(text.splitlines(), 1):
        fields = line.split()
        marker = fields.pop(0)[1:].lower() if fields and fields[0].startswith("@") else ""
        if len(fields) < _FIELDS or fields[0].startswith("#"):
            continue
        try:
            blob = base64.b64decode(fields[2], validate=True)
        except binascii.Error:
            continue
        yield fields[0], KnownKey(marker, fields[1], blob, file, number)


def _means(patterns: str, name: str) -> bool:
    """Whether a line's first field means a name."""
    if patterns.startswith("|"):
        return _is_hash(patterns, name)
    listed = patterns.lower().split(",")
    if any(item.startswith("!") and like(item[1:], name) for item in listed):
        return False
    return any(like(item, name) for item in listed)


def like(pattern: str, name: str) -> bool:
    """Match with ``*`` and ``?`` alone: brackets are part of a name with a port."""
    if "*" not in pattern and "?" not in pattern:
        return pattern == name
    wild = "".join({"*": ".*", "?": "."}.get(char, re.escape(char)) for char in pattern)
    return re.fullmatch(wild, name) is not None


def _is_hash(field: str, name: str) -> bool:
    parts = field.split("|")
    if len(parts) != len(("", "1", "salt", "hash")) or parts[1] != "1":
        return False
    try:
        salt, expected = base64.b64decode(parts[2]), base64.b64decode(parts[3])
    except binascii.Error:
        return False
    return hmac.compare_digest(hmac.new(salt, name.encode(), hashlib.sha1).digest(), expected)
