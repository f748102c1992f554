"""Secrets: held so that no formatter can print them, compared without being sent.

A secret's value never appears in a plan, a diff, a report, saved facts or an exception. What
travels is a :func:`keyed_digest`: enough to compare with an expected value in the run that made
the nonce.
"""

import hashlib
import hmac
from collections.abc import Iterable
from typing import NoReturn

MASK = "***"


class Secret:
    """A value that prints as ``***`` in every formatter; :meth:`reveal` is the one way out."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """Return the value itself, for the one place that must hand it over."""
        return self._value

    def __len__(self) -> int:
        return len(self._value)

    def __bool__(self) -> bool:
        return bool(self._value)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        return hmac.compare_digest(self._value.encode(), other._value.encode())

    def __hash__(self) -> int:
        return hash((Secret, self._value))

    def __repr__(self) -> str:
        return MASK

    def __str__(self) -> str:
        return MASK

    def __format__(self, spec: str) -> str:
        return format(MASK, spec)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret is not pickled")


def hidden(text: str, secrets: Iterable[Secret]) -> str:
    """Return a text with ``***`` wherever a secret stands in it."""
    for secret in secrets:
        if secret:
            text = text.replace(secret.reveal(), MASK)
    return text


def keyed_digest(nonce: str, value: str) -> str:
    """Digest a secret for comparison: sha256 hex of ``nonce + ":" + value`` in UTF-8.

    The probe computes the same on the target with whatever sha256 tool is there, so it is a plain
    hash of a prefixed text and not an HMAC.
    """
    return hashlib.sha256(f"{nonce}:{value}".encode()).hexdigest()
