"""A JSON file's structure: keys, and of values only what holds no secret.

Read by the same rules on the target (``probe/json.sh``) and here; a test holds the two equal.

A string that is a value is told when the key before it is public and nothing in it separates
credentials (``@ ? =``), or when it is nothing but a reference to a variable or a file
(``${NAME}``, ``${env:NAME}``, ``${input:NAME}``, ``{env:NAME}``, ``{file:PATH}``, each after
``Bearer`` too). Of all others only blanks and ``! $ { }`` are told, the rest reads ``x``. A key is
good for one string: of a list the first is told (the program of a command), and none of those
after it, which may be a credential. Comments keep their place and lose their text, so that who
reads the shape strictly still stumbles on them. Text that is not made of strings, numbers, words
of JSON, signs and comments is not told at all.
"""

import re
from collections.abc import Collection

NOT_JSON = "it is no plain JSON: not told"

_BLANK = rb"[ \t\r\n]*"
_STRING = rb'"(?:[^"\\]|\\[^\n])*"'
_COMMENT = rb"//[^\r\n]*|/\*(?:[^*]|\*+[^*/])*\*+/"
_TOKEN = re.compile(_STRING + b"(?:" + _BLANK + b":)?|" + _COMMENT)
_PLAIN = re.compile(rb"[][{},0-9.eE+aflnrstu \t\r\n-]*")
_UNTOLD = re.compile(rb"[^!${} ]")
_ESCAPE = re.compile(rb"\\.", re.DOTALL)
_NAME = rb"[A-Za-z_][A-Za-z0-9_]*"
_FILE = rb"[A-Za-z0-9_./~-]+"
_REFERENCE = re.compile(
    rb'"(?:Bearer )?(?:\$\{(?:env:|input:)?' + _NAME + rb"\}"
    rb"|\{env:" + _NAME + rb"\}|\{file:" + _FILE + rb'\})"'
)
_FORBIDDEN = (b"\0", b"\1", b"\2")


def json_shape(content: bytes, public: Collection[str]) -> str | None:
    """Return JSON text of the same structure without secrets; None for text that is no JSON."""
    if any(sign in content for sign in _FORBIDDEN):
        return None
    told: list[bytes] = []
    key = b""
    end = 0
    for token in _TOKEN.finditer(content):
        between = content[end : token.start()]
        end = token.end()
        if not _PLAIN.fullmatch(between):
            return None
        key = b"" if b"}" in between else key
        if token[0].startswith(b"/"):
            told += [between, token[0][:2] if token[0].startswith(b"//") else b"/**/"]
            continue
        told += [between, _told(token[0], key, public)]
        key = _key(token[0]) if token[0].endswith(b":") else b""
    if not _PLAIN.fullmatch(content[end:]):
        return None
    return b"".join((*told, content[end:])).decode("utf-8", "backslashreplace")


def _key(token: bytes) -> bytes:
    return token[:-1].rstrip(b" \t\r\n")[1:-1]


def _told(token: bytes, key: bytes, public: Collection[str]) -> bytes:
    if token.endswith(b":"):
        return token
    if _REFERENCE.fullmatch(token):
        return token
    if key.decode("latin-1") in public and not re.search(rb"[@?=]", token):
        return token
    return b'"' + _UNTOLD.sub(b"x", _ESCAPE.sub(b"x", token[1:-1])) + b'"'
