"""What was read at paths: where links lead, what lies at their end, and env files. Plain data."""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from fleet.facts.base import Fact
from fleet.facts.notes import NoteFact

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class State(StrEnum):
    """What became of the attempt to read a path. Each is its own answer."""

    PRESENT = "present"
    ABSENT = "absent"
    DANGLING = "dangling"  # a link, and something along it is absent
    LOOP = "loop"
    UNREADABLE = "unreadable"  # there, or hidden, and this user may not see it
    UNSUPPORTED = "unsupported"  # cannot be answered here; ``why`` tells


NOT_A_FOLDER = "it is not a folder"
"""Why nothing can be at a path: a name on the way to it is something else than a folder."""


class Hop(Fact):
    """One link on the way: where it is and what it says, as it says it."""

    path: str
    target: str


class Entry(Fact):
    """One name in a directory."""

    name: str
    kind: Literal["file", "directory", "link", "other"]
    target: str | None = None
    dangling: bool = False


class EnvLine(Fact):
    """One line of an env file.

    A value that may not travel keeps its structure only: letters read ``x``, digits ``0``, quotes
    and shell characters stay. Its digests tell what the value would be under each reading.
    """

    number: int
    text: str
    masked: bool = False
    raw: Sha256 | None = None  # everything after the "=" (or the ":" of `NAME: value`)
    unquoted: Sha256 | None = None  # the text between the outer quotes, where there are any
    trimmed: Sha256 | None = None  # raw without a comment that follows a blank, stripped


class EnvFile(Fact):
    """An env file's structure: enough to tell how each kind of reader reads it."""

    lines: tuple[EnvLine, ...] = ()
    bom: bool = False
    encrypted: Literal["git-crypt"] | None = None
    binary: bool = False
    truncated: bool = False


class PathFact(Fact):
    """One path, followed hop by hop.

    Attributes:
        path: as it was asked for.
        absolute: with the home filled in.
        state: what became of it.
        link: whether the path itself (its last component) is a link.
        hops: every link met, in order, parents' included.
        final: where the hops end, absolute on the target; None when they end nowhere.
        kind: of ``final``.
        mode: permission bits of ``final`` (0o600 is 384).
        mtime: of ``final``, seconds since 1970.
        inode: of ``final``, where a running machine tells it.
        sha256: of the content; the bytes are in ``Facts.contents`` unless they were known. An env
            file has none: its lines carry digests of their own.
        at: the component where reading stopped, for every state but ``present``.
        why: the reason in one line, where the state alone does not tell; of what is ``present``,
            why it was not read, or not whole.
        writable: of a folder that was listed, whether the user who was asked may write in it;
            None where nobody could try.
        closed: folders in which the user who was asked may not write: the one the path lies in, or
            the first of what is missing on the way would, and the one ``final`` lies in. Empty
            where nobody could try.
        shape: of a JSON file, text of the same structure without secrets.
        sections: of an INI file, the names of its sections.
        notes: of a folder of notes, what is told of each, in the order of their names.
        certificates: of a PEM file, those in it, as PEM text; empty where there are none.
    """

    path: str
    absolute: str
    state: State
    link: bool = False
    hops: tuple[Hop, ...] = ()
    final: str | None = None
    kind: Literal["file", "directory", "other"] | None = None
    mode: int | None = None
    uid: int | None = None
    owner: str | None = None
    size: int | None = None
    mtime: int | None = None
    inode: int | None = None
    sha256: Sha256 | None = None
    entries: tuple[Entry, ...] | None = None
    env: EnvFile | None = None
    at: str | None = None
    why: str | None = None
    writable: bool | None = None
    closed: tuple[str, ...] = ()
    shape: str | None = None
    certificates: str | None = None
    sections: tuple[str, ...] | None = None
    notes: tuple[NoteFact, ...] | None = None

    @property
    def blocked(self) -> bool:
        """Tell whether something that is no folder stands on the way (``at``)."""
        return self.state in (State.ABSENT, State.DANGLING) and self.why == NOT_A_FOLDER
