"""Ranges of versions as a ``package.json`` writes them, of which pi's ``engines`` uses a few."""

import re

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

_VERSION = re.compile(r"v?(\d+\.\d+(?:\.\d+)?)")
_CARET = re.compile(r"\^(\d+)((?:\.\d+){0,2})")
_GAP = re.compile(r"([<>=]+)\s+")


def version_in(text: str) -> Version | None:
    """Return the first version in what a program printed (``v22.19.0``, ``tmux 3.3a``)."""
    found = _VERSION.search(text)
    return Version(found.group(1)) if found else None


def satisfies(version: Version, wanted: str) -> bool | None:
    """Tell whether a version is in a range; None for a range that is not understood.

    Understood are comparisons, ``^`` of a major version above 0, and ``||`` between them.
    """
    answers = [_within(version, part.strip()) for part in wanted.split("||")]
    if True in answers:
        return True
    return None if None in answers else False


def _within(version: Version, part: str) -> bool | None:
    if part in ("", "*"):
        return True
    text = _CARET.sub(lambda m: f">={m[1]}{m[2]} <{int(m[1]) + 1}" if int(m[1]) else "?", part)
    words = [_exact(word) for word in _GAP.sub(r"\1", text).split()]
    try:
        return version in SpecifierSet(",".join(words))
    except (InvalidSpecifier, InvalidVersion):
        return None


def _exact(word: str) -> str:
    bare = word.removeprefix("=")
    return f"=={bare}" if bare[:1].isdigit() else word
