"""Ranges of versions as a ``package.json`` writes them, of which pi's ``engines`` uses a few."""

import re
from functools import lru_cache

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

_VERSION = re.compile(r"v?(\d+\.\d+(?:\.\d+)?)")
_CARET = re.compile(r"\^(\d+)((?:\.\d+){0,2})")
_GAP = re.compile(r"([<>=]+)\s+")


@lru_cache(maxsize=256)
def version_in(text: str) -> Version | None:
    """Return the first version in what a program printed (``v22.19.0``, ``tmux 3.3a``)."""
    found = _VERSION.search(text)
    return Version(found.group(1)) if found else None


@lru_cache(maxsize=256)
def satisfies(version: Version, wanted: str) -> bool | None:
    """Tell whether a version is in a range; None for a range that is not understood.

    Understood are comparisons, ``^``, and ``||`` between them. Below 1.0 a caret stays within the
    minor version: ``^0.84.1`` is less than 0.85.
    """
    answers = [_within(version, part.strip()) for part in wanted.split("||")]
    if True in answers:
        return True
    return None if None in answers else False


def _within(version: Version, part: str) -> bool | None:
    if part in ("", "*"):
        return True
    text = _CARET.sub(_caret, part)
    words = [_exact(word) for word in _GAP.sub(r"\1", text).split()]
    try:
        return version in SpecifierSet(",".join(words))
    except (InvalidSpecifier, InvalidVersion):
        return None


def _caret(found: re.Match[str]) -> str:
    major, rest = found[1], found[2]
    if int(major):
        return f">={major}{rest} <{int(major) + 1}"
    minor = rest.split(".")[1] if rest else ""
    # Below 0.1 a caret allows nothing but the patch itself: npm's rule, of no use here.
    return f">=0{rest} <0.{int(minor) + 1}" if minor and int(minor) else "?"


def _exact(word: str) -> str:
    bare = word.removeprefix("=")
    return f"=={bare}" if bare[:1].isdigit() else word
