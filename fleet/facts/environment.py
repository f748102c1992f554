"""Variables of an environment as facts: public ones by value, all others by keyed digest."""

import hashlib
from collections.abc import Iterable

from fleet.facts.running import EnvValue


def env_value(value: str | None, *, nonce: str, public: bool) -> EnvValue:
    """Return what may be told of a variable; None is a variable that is not set.

    The length is that of the value in UTF-8, in bytes; the digest is that of
    :func:`fleet.secrets.keyed_digest`.
    """
    if value is None:
        return EnvValue(set=False)
    raw = value.encode("utf-8", "surrogateescape")
    if public:
        return EnvValue(set=True, length=len(raw), value=raw.decode("utf-8", "backslashreplace"))
    return EnvValue(set=True, length=len(raw), digest=digest_bytes(nonce, raw))


def digest_bytes(nonce: str, value: bytes) -> str:
    """Digest bytes as :func:`fleet.secrets.keyed_digest` digests text."""
    return hashlib.sha256(nonce.encode() + b":" + value).hexdigest()


def command_text(words: Iterable[str]) -> str:
    """Return a program and its arguments as the text whose digest travels in their place.

    Each word is ended by a line feed; one within a word is told by the byte 1, as the probe does.
    """
    return "".join(word.replace("\n", "\x01") + "\n" for word in words)
