"""Read an env file's structure, so that nothing secret is left in it.

The probe does the same on the target, in shell (``probe/env.sh``); a test holds the two
equal. Here is where the rules stand in words:

* A line is a comment, blank, an assignment (``NAME=…`` or ``NAME: …``, perhaps after ``export``)
  or something else. Only an assignment to a public name, and a blank line, stay as they are.
* In all else every ASCII letter and byte above 127 reads ``x``, every digit ``0``; of an
  assignment only the part after the separator, of everything else the whole line.
* A name of 16 characters and more, with small and capital letters, digits and no underscore, is
  taken for a piece of base64 (of a key that spans lines), not for a name.
"""

import re
from collections.abc import Collection

from fleet.dataclass import dataclass
from fleet.facts.environment import digest_bytes
from fleet.facts.paths import EnvFile, EnvLine
from fleet.facts.request import TEXT_LIMIT

BOM = b"\xef\xbb\xbf"
GIT_CRYPT = b"\0GITCRYPT\0"
MAX_LINES = 500
BLANKS = b" \t\r\v\f"
BASE64_NAME = 16

_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f\x7f]")
# `export` with a blank after it is never a name. Not said with `?+`: in Python 3.11.2 that forgets
# where it began.
_ASSIGNMENT = re.compile(
    rb"(?P<head>[ \t]*(?:export[ \t]+|(?!export[ \t]))"
    rb"(?P<name>[A-Za-z_][A-Za-z0-9_.-]*)[ \t]*(?P<sep>[=:]))"
    rb"(?P<value>.*)",
    re.DOTALL,
)
_COMMENT = re.compile(rb"[ \t]#.*", re.DOTALL)
_MASK = bytes.maketrans(
    bytes(byte for byte in range(256) if re.match(rb"[A-Za-z0-9\x80-\xff]", bytes([byte]))),
    b"0" * 10 + b"x" * (2 * 26 + 128),
)


@dataclass(frozen=True, slots=True)
class Assignment:
    """A line that gives a name a value, cut at its separator (``=`` or ``:``)."""

    head: bytes
    name: str
    separator: str
    value: bytes


def read_env_file(
    content: bytes, *, nonce: str, public: Collection[str], limit: int = TEXT_LIMIT
) -> EnvFile:
    """Return the structure of an env file; values of names in ``public`` stay, no others.

    Args:
        content: the file's bytes.
        nonce: keys the digests.
        public: variables whose values may be kept.
        limit: a file of more bytes is not read, and says so with ``truncated``.
    """
    if len(content) > limit:
        return EnvFile(truncated=True)
    if content.startswith(GIT_CRYPT):
        return EnvFile(encrypted="git-crypt", binary=True)
    if _CONTROL.search(content):
        return EnvFile(binary=True)
    bom = content.startswith(BOM)
    lines = split_lines(content.removeprefix(BOM))
    return EnvFile(
        lines=tuple(
            _read_line(number, line, nonce, public)
            for number, line in enumerate(lines[:MAX_LINES], 1)
        ),
        bom=bom,
        truncated=len(lines) > MAX_LINES,
    )


def split_lines(content: bytes) -> list[bytes]:
    """Split at line feeds only; carriage returns stay, and so does what follows the last feed."""
    lines = content.split(b"\n")
    return lines if lines[-1] else lines[:-1]


def assignment(line: bytes) -> Assignment | None:
    """Return what a line assigns, None when it is no assignment."""
    found = _ASSIGNMENT.fullmatch(line)
    if found is None or _looks_like_base64(found["name"]):
        return None
    return Assignment(found["head"], found["name"].decode(), found["sep"].decode(), found["value"])


def unquoted(value: bytes) -> bytes | None:
    """Return the text between a value's outer quotes; None where they are not that simple.

    Nothing but a comment may follow the closing quote, and double quotes hold no backslash.
    """
    value = value.strip(BLANKS)
    quote = value[:1]
    if quote not in (b"'", b'"'):
        return None
    inner, end, after = value[1:].partition(quote)
    if not end or (quote == b'"' and b"\\" in inner):
        return None
    if after and not (after[0] in BLANKS and after.lstrip(BLANKS).startswith(b"#")):
        return None
    return inner


def trimmed(value: bytes) -> bytes:
    """Return a value without a comment that follows a blank, and without blanks round it."""
    return _COMMENT.sub(b"", value).strip(BLANKS)


def text_of(line: bytes) -> str:
    r"""Decode bytes of a target for keeping: what is no UTF-8 reads ``\xNN``."""
    return line.decode("utf-8", "backslashreplace")


def _read_line(number: int, line: bytes, nonce: str, public: Collection[str]) -> EnvLine:
    stripped = line.lstrip(BLANKS)
    if not stripped:
        return EnvLine(number=number, text=text_of(line))
    found = None if stripped.startswith(b"#") else assignment(line)
    if found is None:
        return EnvLine(number=number, text=text_of(line.translate(_MASK)), masked=True)
    if found.name in public:
        return EnvLine(number=number, text=text_of(line))
    inner = unquoted(found.value)
    return EnvLine(
        number=number,
        text=text_of(found.head + found.value.translate(_MASK)),
        masked=True,
        raw=digest_bytes(nonce, found.value),
        unquoted=None if inner is None else digest_bytes(nonce, inner),
        trimmed=digest_bytes(nonce, trimmed(found.value)),
    )


def _looks_like_base64(name: bytes) -> bool:
    return (
        len(name) >= BASE64_NAME
        and b"_" not in name
        and all(re.search(kind, name) for kind in (rb"[a-z]", rb"[A-Z]", rb"[0-9]"))
    )
