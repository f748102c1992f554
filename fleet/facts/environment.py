"""Variables of an environment as facts: public ones by value, all others by keyed digest."""

import hashlib

from fleet.facts.model import EnvValue


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
