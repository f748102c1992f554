"""A folder of notes that are private: what can be told of each without telling what it says.

Of a note travel its name, its size, how many lines it has, the notes it links to, and which of a
fixed list of patterns stand in it. Read by the same rules on the target (``probe/notes.sh``) and
here; a test holds the two equal.

Notes are the files named ``*.md`` in the folder and in folders up to two below it, links followed,
names that begin with a dot left out.
"""

import re
from collections.abc import Iterable, Mapping
from functools import cache

from fleet.facts.base import Fact

MOST_NOTES = 1000
MOST_LINKS = 500
ALL_BYTES = 16 * 1024 * 1024
LEVELS = 3
CUT = f"more than {MOST_NOTES} notes: the rest was not read"
NO_LOOK = "permission denied: this user may not look into it"
NOWHERE = "a link that leads nowhere"
LINES_IN_NAME = "a name of several lines: not read"
TOO_MUCH = f"all notes together are larger than {ALL_BYTES} bytes: not read"
NO_TEXT = "no text: not read"

_EDGE = "(^|[^A-Za-z0-9_])"
_TELLING = (
    "([Pp][Aa][Ss][Ss][Ww]([Oo][Rr])?[Dd]|[Tt][Oo][Kk][Ee][Nn]|[Ss][Ee][Cc][Rr][Ee][Tt]"
    "|[Aa][Pp][Ii][ _-]?[Kk][Ee][Yy])"
)
#: By name, what is looked for in each line: extended regular expressions of POSIX that mean the
#: same to Python. The probe tells their numbers.
PATTERNS: Mapping[str, str] = {
    "private": "<[Pp][Rr][Ii][Vv][Aa][Tt][Ee]( [^>]*)?>",
    "private-key": "-----BEGIN ([A-Z0-9]+ )*PRIVATE KEY-----",
    "token": _EDGE
    + "(sk-[A-Za-z0-9_-]{16}|gh[opsru]_[A-Za-z0-9]{20}|github_pat_[A-Za-z0-9_]{20}"
    + "|glpat-[A-Za-z0-9_-]{16}|xox[a-z][-_][A-Za-z0-9-]{10}|A(KI|SI)A[A-Z0-9]{16}"
    + "|AIza[A-Za-z0-9_-]{30}|npm_[A-Za-z0-9]{30}|hf_[A-Za-z0-9]{30}"
    + "|eyJ[A-Za-z0-9_-]{10,}[.]eyJ[A-Za-z0-9_-]{10,}[.])",
    "bearer": "[Bb]earer [A-Za-z0-9._~+/=-]{20}",
    "assigned": _EDGE + _TELLING + "[\"'`*]*[ \t]*[:=][ \t]*[\"'`*]*[A-Za-z0-9+=]{20}",
    "url-login": "[a-z]://[^/ \t:@]+:[^/ \t:@*]{4,}@",
    "deprecated": "^deprecated_by:[ \t]*[^ \t]",
}
_LINK = re.compile(rb"([^()<>:?# \t\r\n]{0,252}\.md)\)")


class NoteFact(Fact):
    """One note.

    Attributes:
        name: its path from the folder.
        size: in bytes; None where it was not told.
        lines: how many; None where it was not read.
        matches: the names of the patterns that stand in it.
        links: the notes it links to, as it writes them, in order, each once.
        why: why it was not read.
    """

    name: str
    size: int | None = None
    lines: int | None = None
    matches: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    why: str | None = None


def note_of(name: str, content: bytes) -> NoteFact:
    """Return what is told of a note that was read."""
    if b"\0" in content:
        return NoteFact(name=name, size=len(content), why=NO_TEXT)
    lines = content.split(b"\n")
    return NoteFact(
        name=name,
        size=len(content),
        lines=len(lines) - (lines[-1] == b""),
        matches=tuple(n for n, found in _compiled().items() if any(map(found.search, lines))),
        links=_links(content),
    )


@cache
def _compiled() -> Mapping[str, re.Pattern[bytes]]:
    return {name: re.compile(text.encode()) for name, text in PATTERNS.items()}


def _links(content: bytes) -> tuple[str, ...]:
    pieces = content.replace(b"\1", b"").split(b"](")[1:]
    found = [link[1] for piece in pieces if (link := _LINK.match(piece))]
    return once(link.decode("utf-8", "backslashreplace") for link in found[:MOST_LINKS])


def once(texts: Iterable[str]) -> tuple[str, ...]:
    """Return texts in their order, each once."""
    return tuple(dict.fromkeys(texts))
