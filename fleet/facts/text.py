"""Text of a target, made fit to be shown."""

import re
import unicodedata

LIMIT = 200
_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_COMMENT_OR_INDENT = re.compile(r"^[ \t]*(?:#.*\n)?", re.MULTILINE)


def printable(text: str, limit: int = LIMIT) -> str:
    r"""Return text that cannot steer a terminal, cut to ``limit`` characters.

    Control characters (C0, C1), invisible and bidirectional format characters, lone surrogates and
    line separators read ``\n``, ``\x1b``, ``\u202e``; what was cut ends in ``…``.
    """
    shown = "".join(_visible(char) for char in text[: limit + 1])
    return shown if len(text) <= limit and len(shown) <= limit else f"{shown[: limit - 1]}…"


def _visible(char: str) -> str:
    if char.isascii():
        return char if char.isprintable() else char.encode("unicode_escape").decode("ascii")
    if unicodedata.category(char) not in _UNSAFE:
        return char
    return char.encode("ascii", "backslashreplace").decode("ascii")


def bare_script(text: str) -> str:
    """Return a shell script without its comments and indents: what a target needs not be sent."""
    return _COMMENT_OR_INDENT.sub("", text)
