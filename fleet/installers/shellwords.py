"""Quoting for the shell, in one place: words, and bytes of any content for ``printf``."""

from collections.abc import Iterable, Iterator

CHUNK = 4096
_PLAIN = frozenset(
    b'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _-+=:;,./<>(){}[]|&*?!#$@^~"`'
)
_NAMED = {0x0A: "\\n", 0x09: "\\t"}


def word(text: str) -> str:
    """Quote one word; any character but NUL is kept as it is."""
    return "'" + text.replace("'", "'\\''") + "'"


def words(texts: Iterable[str]) -> str:
    """Quote words and join them with blanks."""
    return " ".join(word(text) for text in texts)


def printed(content: bytes) -> str:
    """Return shell text that prints the bytes exactly, with the builtin ``printf`` alone.

    The bytes stand in printf's format: plain ones as they are, the rest in octal, so that NUL,
    line ends and invalid UTF-8 survive dash, busybox and bash alike.
    """
    if not content:
        return ":"
    calls = (f"printf '{_format(piece)}'" for piece in _pieces(content))
    return " &&\n".join(calls)


def _pieces(content: bytes) -> Iterator[bytes]:
    for start in range(0, len(content), CHUNK):
        yield content[start : start + CHUNK]


def _format(piece: bytes) -> str:
    if piece.translate(None, _USUAL):
        text = "".join(_FORMATS[byte] for byte in piece)
    else:
        # Text of a machine is spelt in a tenth of the time.
        text = piece.decode("ascii")
        for char, spelt in _SPELT:
            text = text.replace(char, spelt)
    return "\\055" + text[1:] if text.startswith("-") else text


_FORMATS = [
    _NAMED.get(byte) or (chr(byte) if byte in _PLAIN else f"\\{byte:03o}") for byte in range(256)
]
_SPELT = [
    (char, _FORMATS[ord(char)]) for char in "\\'%\n\t"
]  # what the others are spelt with first
_USUAL = bytes(_PLAIN) + "".join(char for char, _ in _SPELT).encode()
