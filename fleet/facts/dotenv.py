"""What a reader makes of an env file: the same file means other things to other readers.

Three readers are known, each as it behaved when it was measured:

* ``sh``: the file is sourced by a POSIX shell.
* ``docker``: ``docker run --env-file`` (a line is a name and a raw value; nothing is unquoted).
* ``compose``: ``env_file:`` of compose v2 (quotes, comments, ``$`` and YAML-like ``NAME: value``).

Values of secrets are not here, only their structure and digests, so a value that is not spelled
out in the file (``$``, escapes, more than one line) is reported as one that cannot be told.
"""

from collections.abc import Callable, Mapping
from dataclasses import field
from enum import StrEnum
from functools import lru_cache
from typing import Literal

from fleet.dataclass import dataclass
from fleet.facts.envfile import Assignment, assignment, trimmed, unquoted
from fleet.facts.paths import EnvFile, EnvLine
from fleet.facts.running import EnvValue

EXPANDS = "it is expanded by its reader, so it cannot be told from the file"
ESCAPES = "it holds escapes, so it cannot be told from the file"
SPANS = "it spans several lines, so it cannot be told from the file"
JOINED = "it is pieced together of quoted and plain parts, so it cannot be told from the file"
ENDING = "its line ends in CR LF, so it cannot be told from the file"


class Dialect(StrEnum):
    """Who reads the file."""

    SH = "sh"
    DOCKER = "docker"
    COMPOSE = "compose"


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that is wrong for one reader.

    Attributes:
        line: counted from 1; 0 means the whole file.
        fatal: the reader fails, or a variable is not what the line seems to say.
    """

    line: int
    message: str
    fatal: bool = True

    def __str__(self) -> str:
        return f"line {self.line}: {self.message}" if self.line else self.message


@dataclass(frozen=True, slots=True)
class EnvEntry:
    """A variable as one reader gets it.

    Attributes:
        quoted: the quote its value stands in, empty for none.
        unknown: why its value cannot be told from the file; empty when it can.
    """

    name: str
    value: EnvValue
    line: int
    quoted: Literal["", "'", '"'] = ""
    unknown: str = ""


@dataclass(frozen=True, slots=True)
class Reading:
    """What one reader gets; a name that is not in ``entries`` is not set by the file."""

    entries: Mapping[str, EnvEntry] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()


# Several gates of one target ask the same.
@lru_cache(maxsize=8)
def interpret(file: EnvFile, dialect: Dialect) -> Reading:
    """Return what a reader gets from an env file, and what is wrong with it for that reader."""
    if file.encrypted:
        return Reading(problems=(Problem(0, f"encrypted by {file.encrypted}, not unlocked"),))
    if file.binary:
        return Reading(problems=(Problem(0, "it is no text file"),))
    reader = _Reader(file, dialect)
    if file.truncated:
        reader.problem(0, "it is too large, and was not read to its end")
    if file.bom and dialect is Dialect.SH:
        reader.problem(1, "U+FEFF at byte 0: the shell takes the first word for a command")
    reader.read()
    return Reading(reader.entries, tuple(reader.problems))


@dataclass(frozen=True, slots=True)
class _Value:
    """The value on one line: its structure, and how to say each reading of it."""

    line: EnvLine
    text: bytes

    def raw(self) -> EnvValue:
        return self._as(self.text, self.line.raw)

    def inner(self) -> EnvValue | None:
        inner = unquoted(self.text)
        return None if inner is None else self._as(inner, self.line.unquoted)

    def bare(self) -> EnvValue:
        return self._as(trimmed(self.text), self.line.trimmed)

    def _as(self, text: bytes, digest: str | None) -> EnvValue:
        value = None if self.line.masked else text.decode("utf-8", "backslashreplace")
        return EnvValue(set=True, length=len(text), value=value, digest=digest)

    @property
    def quote(self) -> Literal["", "'", '"']:
        first = self.text.lstrip()[:1]
        return "'" if first == b"'" else '"' if first == b'"' else ""


class _Reader:
    """Reads the lines of one file as one reader does."""

    def __init__(self, file: EnvFile, dialect: Dialect) -> None:
        self.entries: dict[str, EnvEntry] = {}
        self.problems: list[Problem] = []
        self._lines = list(file.lines)
        self._bom = file.bom
        self._read_line: Callable[[EnvLine, Assignment | None], None] = {
            Dialect.SH: self._sh,
            Dialect.DOCKER: self._docker,
            Dialect.COMPOSE: self._compose,
        }[dialect]

    def read(self) -> None:
        while self._lines:
            line = self._lines.pop(0)
            text = line.text.strip()
            if text and not text.startswith("#"):
                self._read_line(line, _assigned(line))
            elif self._read_line == self._sh and not text and line.text.endswith("\r"):
                self.problem(line.number, "it ends in CR LF, which the shell runs as a command")

    def problem(self, line: int, message: str, *, fatal: bool = True) -> None:
        self.problems.append(Problem(line, message, fatal))

    def _entry(self, found: Assignment, value: _Value, read: EnvValue | str) -> None:
        if found.name in self.entries:
            self.problem(value.line.number, f"{found.name} stands here again", fatal=False)
        unknown = read if isinstance(read, str) else ""
        told = EnvValue(set=True, length=len(value.text)) if isinstance(read, str) else read
        self.entries[found.name] = EnvEntry(
            found.name, told, value.line.number, value.quote, unknown
        )

    # --- docker --------------------------------------------------------------------------------

    def _docker(self, line: EnvLine, found: Assignment | None) -> None:
        name = line.text.strip(" \t").partition("=")[0].rstrip("\r")
        if " " in name or "\t" in name:
            told = found.name if found else "a name"
            self.problem(line.number, f"docker refuses the file: {told} has a blank before its =")
        elif "=" not in line.text:
            self.problem(line.number, "no =: docker takes the value of its caller", fatal=False)
        elif found is None or found.separator != "=":
            self.problem(line.number, "its name is none that a shell can use", fatal=False)
        else:
            self._docker_value(found, _Value(line, found.value))

    def _docker_value(self, found: Assignment, value: _Value) -> None:
        if value.quote:
            self.problem(
                value.line.number, "docker keeps the quotes as part of the value", fatal=False
            )
        if not value.text.endswith(b"\r"):
            self._entry(found, value, value.raw())
        elif trimmed(value.text) == value.text[:-1]:
            self._entry(found, value, value.bare())
        else:
            self._entry(found, value, ENDING)

    # --- compose -------------------------------------------------------------------------------

    def _compose(self, line: EnvLine, found: Assignment | None) -> None:
        if found is None:
            if "=" in line.text or ":" in line.text or " " in line.text.strip():
                self.problem(line.number, "compose refuses the file: not NAME=value")
            else:
                self.problem(line.number, "no =: compose takes its own value", fatal=False)
            return
        value = _Value(line, found.value)
        if value.quote:
            self._entry(found, value, self._compose_quoted(value))
        elif b"$" in trimmed(found.value):
            self._entry(found, value, EXPANDS)
        elif found.value.strip().startswith(b"#") or b"\t#" in found.value:
            self._entry(found, value, "readers differ on where its comment begins")
        else:
            self._entry(found, value, value.bare())

    def _compose_quoted(self, value: _Value) -> EnvValue | str:
        inner = value.inner()
        if inner is not None:
            expands = value.quote == '"' and b"$" in (unquoted(value.text) or b"")
            return EXPANDS if expands else inner
        text = value.text.decode("utf-8", "replace").strip()
        end = _closing(text)
        if not end:
            return self._spans(value.line, value.quote, single=True)
        after = text[end:].lstrip()
        if after and not after.startswith("#"):
            self.problem(value.line.number, "compose takes what follows the quote for another line")
        return ESCAPES

    def _spans(self, line: EnvLine, quote: str, *, single: bool) -> str:
        """Skip the lines that a value goes on in, after one that ends with ``quote`` open."""
        if quote == "\\":
            self.problem(line.number, "it ends in a backslash, and goes on in the next line")
        bare = ""
        while quote and self._lines:
            text = self._lines.pop(0).text
            quote, bare = _scan(text, "" if quote == "\\" else quote, single=single)
        if quote and quote != "\\":
            self.problem(line.number, f"its quote {quote} is never closed")
        elif bare[1:].strip():
            self.problem(line.number, "something follows the quote that closes it, lines below")
        return SPANS

    # --- sh ------------------------------------------------------------------------------------

    def _sh(self, line: EnvLine, found: Assignment | None) -> None:
        if self._bom and line.number == 1:
            return
        if found is None:
            self.problem(line.number, "no assignment: the shell runs it", fatal=False)
        elif found.separator == ":" or found.head[-2:-1].isspace():
            self.problem(line.number, f"the shell takes {found.name} for a command")
        elif not found.name.replace("_", "a").isalnum():
            self.problem(line.number, f"{found.name} is no name for a shell, but a command")
        else:
            value = _Value(line, found.value)
            self._entry(found, value, self._sh_value(found, value))

    def _sh_value(self, found: Assignment, value: _Value) -> EnvValue | str:
        text = found.value.decode("utf-8", "replace")
        still_open, bare = _scan(text, single=False)
        cut = next((char for char in bare if char in ";&|<>()"), "")
        if cut:
            self.problem(value.line.number, f"{cut} without quotes ends the value")
            return f"the shell ends it at its {cut}"
        spans = self._spans(value.line, still_open, single=False) if still_open else ""
        word, _, after = _word(bare.encode())
        follows = bare.encode() if bare[:1] in (" ", "\t") else after
        if follows.strip(b" \t"):
            return self._sh_command(found, value, follows)
        if spans:
            return spans
        if found.value[:1] in (b"'", b'"') and unquoted(value.text) is not None:
            return self._sh_quoted(value)
        if b"\\" in trimmed(found.value):
            return ESCAPES
        return JOINED if b"'" in word or b'"' in word else self._sh_plain(value, word)

    def _sh_command(self, found: Assignment, value: _Value, after: bytes) -> str:
        if after.lstrip(b" \t").startswith(b"#"):
            return "readers differ on where its comment begins"
        next_word = assignment(after.lstrip(b" \t"))
        if next_word is None or next_word.separator != "=" or next_word.head.endswith(b" ="):
            self.problem(
                value.line.number, f"the shell runs what follows, and {found.name} stays unset"
            )
        return "something follows it on its line"

    def _sh_quoted(self, value: _Value) -> EnvValue | str:
        text = unquoted(value.text) or b""
        if value.text.endswith(value.quote.encode() + b"\r"):
            self.problem(value.line.number, "CR LF: the value gets a carriage return at its end")
            return ENDING
        if value.quote == '"' and (b"$" in text or b"`" in text):
            return EXPANDS
        return value.inner() or EXPANDS

    def _sh_plain(self, value: _Value, word: bytes) -> EnvValue | str:
        if b"$" in word or b"`" in word or word.startswith(b"~") or b":~" in word:
            return EXPANDS
        if word.endswith(b"\r"):
            self.problem(value.line.number, "CR LF: the value gets a carriage return at its end")
        if word == trimmed(value.text):
            return value.bare()
        return value.raw() if word == value.text else ENDING


def _assigned(line: EnvLine) -> Assignment | None:
    """Return what a line assigns; a line that was masked whole assigns nothing."""
    if line.masked and line.raw is None:
        return None
    return _assignment(line.text)


# What travels of a line holds no secret, and most of it is the same on every target.
@lru_cache(maxsize=1024)
def _assignment(text: str) -> Assignment | None:
    return assignment(text.encode("utf-8", "surrogateescape"))


def _closing(text: str) -> int:
    """Return where the text after a closing quote begins; 0 when the first quote stays open."""
    escaped = False
    for at, char in enumerate(text[1:], 2):
        if char == text[0] and not escaped:
            return at
        escaped = char == "\\" and not escaped
    return 0


@lru_cache(maxsize=1024)
def _scan(text: str, quote: str = "", *, single: bool) -> tuple[str, str]:
    """Tell what is open where a line ends, and what of it stands outside quotes and escapes.

    Args:
        text: the line, or its value.
        quote: the quote that is open where it begins.
        single: whether a backslash escapes inside single quotes too.

    Returns:
        A quote, a backslash, or nothing; and the line without what is quoted, each escape a `%`.
    """
    before, bare = "", ""
    for char in text:
        if before == "\\":
            before = ""
            bare += "%"
            continue
        if not quote and char == "#" and before in (" ", "\t"):
            return "", bare
        if char in "'\"" and quote in ("", char):
            quote = "" if quote else char
            bare += char
        elif not quote and char != "\\":
            bare += char
        before = char if char != "\\" or single or quote != "'" else ""
    return quote or (before if before == "\\" else ""), bare


def _word(value: bytes) -> tuple[bytes, bytes, bytes]:
    """Split a value at its first blank: the word, the blank, the rest."""
    for at, char in enumerate(value):
        if char in b" \t":
            return value[:at], value[at : at + 1], value[at + 1 :]
    return value, b"", b""
