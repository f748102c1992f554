"""The frames of an answer: records cut out of whatever a target printed.

A record is one line ``@fleet TAB nonce TAB number TAB kind TAB fields… TAB .``; see
``probe/core.sh``.
Other lines are noise (rc files, banners) and are skipped. That an answer is whole shows in three
ways: it begins with ``begin``, its records are numbered without a gap, and ``end`` says how many.
"""

import base64
import binascii
import re
from collections.abc import Iterator
from dataclasses import field
from functools import lru_cache

from fleet.dataclass import dataclass
from fleet.errors import ProbeError
from fleet.facts.compile import ANSWER
from fleet.facts.text import printable

MARK = b"@fleet"
HEAD = 4  # mark, nonce, number, kind

_PLAIN = re.compile(rb"[ -~]*")
_HEX = re.compile(rb"(?:[0-9a-f]{2})*")
_KEY = re.compile(r"[a-z][0-9]{1,9}(?:\.(?:[0-9]{1,10}|file|manifest|more|beside))*")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_DECIMAL = re.compile(r"[0-9]{1,19}")
_OCTAL = re.compile(r"[0-7]{1,19}")
_DIGITS = 19
_SHORT = 128


@lru_cache(maxsize=8192)
def _plain(packed: bytes) -> str | None:
    """Return a short field of plain text; machines of one fleet say the same over and over."""
    if packed[:1] == b"=" and _PLAIN.fullmatch(packed, 1):
        return packed[1:].decode("ascii")
    return None


@lru_cache(maxsize=8192)
def _key(packed: bytes) -> str | None:
    """Return a key; the questions of one fleet have the same."""
    key = packed.decode("ascii", "replace")
    return key if _KEY.fullmatch(key) else None


@lru_cache(maxsize=256)
def _kind(packed: bytes) -> str:
    return packed.decode("ascii", "backslashreplace")[:_DIGITS]


@dataclass(frozen=True, slots=True)
class Record:
    """One record: its kind and its fields, decoded one by one when they are asked for."""

    kind: str
    fields: tuple[bytes, ...]

    def raw(self, index: int) -> bytes | None:
        """Return a field's bytes; None for a field that holds nothing."""
        if not 0 <= index < len(self.fields):
            raise self.wrong("a field is missing")
        packed = self.fields[index]
        if packed[:1] == b"b" and b"!" in packed:
            packed = packed.rpartition(b"!")[2]  # it was begun anew, by another tool
        head, body = packed[:1], packed[1:]
        if packed == b"-":
            return None
        if head == b"=" and _PLAIN.fullmatch(body):
            return body
        if head == b"l" and body and _PLAIN.fullmatch(body):
            return body[1:].replace(body[:1], b"\n")
        if head == b"x" and _HEX.fullmatch(body):
            return bytes.fromhex(body.decode("ascii"))
        if head == b"b":
            try:
                return base64.b64decode(body, validate=True)
            except (binascii.Error, ValueError):
                pass  # refused below, as every other encoding is
        raise self.wrong("a field is not encoded as agreed")

    def maybe(self, index: int) -> str | None:
        """Return a field as text, what is no UTF-8 escaped; None where there is nothing."""
        if 0 <= index < len(self.fields) and len(self.fields[index]) <= _SHORT:
            plain = _plain(self.fields[index])
            if plain is not None:
                return plain
        raw = self.raw(index)
        return None if raw is None else raw.decode("utf-8", "backslashreplace")

    def text(self, index: int) -> str:
        """Return a field that must hold something, as text."""
        text = self.maybe(index)
        if text is None:
            raise self.wrong("a field is empty")
        return text

    def key(self) -> str:
        """Return the first field, which names the question and is not encoded."""
        key = _key(self.fields[0]) if self.fields else None
        if key is None:
            raise self.wrong("it names no question")
        return key

    def flag(self, index: int) -> bool:
        """Return a field that is 0 or 1."""
        text = self.text(index)
        if text not in ("0", "1"):
            raise self.wrong("a field is neither 0 nor 1")
        return text == "1"

    def number(self, index: int, base: int = 10) -> int | None:
        """Return a field that is a number, None where there is nothing."""
        if base == 10 and 0 <= index < len(self.fields):  # noqa: PLR2004 - most are decimal, and plain
            packed = self.fields[index]
            if packed[:1] == b"=" and packed[1:].isdigit() and len(packed) <= 1 + _DIGITS:
                return int(packed[1:])
        text = self.maybe(index)
        if text is None:
            return None
        if not (_DECIMAL if base == 10 else _OCTAL).fullmatch(text):  # noqa: PLR2004 - decimal or octal
            raise self.wrong("a field is no number")
        return int(text, base)

    def digest(self, index: int) -> str | None:
        """Return a field that is a sha256 in hex, None where there is nothing."""
        text = self.maybe(index)
        if text is not None and not _SHA256.fullmatch(text):
            raise self.wrong("a field is no sha256")
        return text

    def digests(self, index: int) -> tuple[str, ...]:
        """Return a field of one or more sha256 in hex, a blank between."""
        found = tuple(self.text(index).split(" "))
        if not all(_SHA256.fullmatch(name) for name in found):
            raise self.wrong("a field is no sha256")
        return found

    def numbers(self, index: int) -> tuple[int, ...]:
        """Return a field of numbers, a blank between."""
        found = self.text(index).split(" ")
        if not all(_DECIMAL.fullmatch(word) for word in found):
            raise self.wrong("a field is no number")
        return tuple(int(word) for word in found)

    def wrong(self, why: str) -> ProbeError:
        """Return the error that says what is wrong with this record."""
        return not_understood(f"{why} in a record `{self.kind}`")


def not_understood(why: str) -> ProbeError:
    """Return the error for an answer that was not made by the probe that was sent."""
    return ProbeError(
        f"its answer was not understood: {why}",
        hint="something on the way changes what the probe prints, or prints in its name",
    )


def read_records(output: bytes, nonce: str) -> list[Record]:
    """Return the records of an answer without its ``begin`` and ``end``.

    Raises:
        ProbeError: the answer is absent, cut, doubled, mixed with another or of another format.
    """
    records: list[Record] = []
    ended = False
    for record in _numbered(output, nonce):
        if ended:
            raise not_understood("something follows its end")
        if record.kind == "unfit":
            raise ProbeError(f"it cannot be asked: {printable(record.text(0))}")
        if not records and (record.kind != "begin" or record.text(0) != ANSWER):
            raise not_understood(f"it does not begin as `{ANSWER}`")
        if records and record.kind == "begin":
            raise not_understood("it begins twice")
        ended = record.kind == "end"
        if ended and record.number(0) != len(records):
            raise not_understood("it does not hold as many records as it says")
        records.append(record)
    if not records:
        raise ProbeError(
            "it printed no answer",
            hint="is its login shell a POSIX shell, and does it run commands without a terminal?",
        )
    if not ended:
        raise ProbeError("its answer was cut off", hint="try again; a longer --timeout may help")
    return records[1:-1]


def _numbered(output: bytes, nonce: str) -> Iterator[Record]:
    expected, own = 1, nonce.encode()
    for line in output.split(b"\n"):
        parts = line.split(b"\t")
        if parts[0] != MARK:
            continue
        if len(parts) < HEAD + 1 or parts[-1] != b".":
            raise ProbeError("its answer was cut off in the middle of a line", hint="try again")
        if parts[1] != own:
            raise not_understood("it belongs to another question")
        if parts[2] != b"%d" % expected:
            raise not_understood("records are missing, doubled or mixed up")
        expected += 1
        yield Record(_kind(parts[3]), tuple(parts[HEAD:-1]))


@dataclass(slots=True)
class Answer:
    """Records by kind and key; each is taken once, and :meth:`finish` finds what was not."""

    _held: dict[tuple[str, str], list[Record]] = field(default_factory=dict)

    @classmethod
    def of(cls, records: list[Record], unkeyed: frozenset[str]) -> "Answer":
        """Sort records; kinds in ``unkeyed`` have no question's key."""
        answer = cls()
        for record in records:
            key = "" if record.kind in unkeyed else record.key()
            answer._held.setdefault((record.kind, key), []).append(record)
        return answer

    def has(self, kind: str, key: str) -> bool:
        """Whether a record of a kind about one question is still to be taken."""
        return (kind, key) in self._held

    def many(self, kind: str, key: str = "") -> list[Record]:
        """Take all records of a kind about one question, in the order they came."""
        return self._held.pop((kind, key), [])

    def maybe(self, kind: str, key: str = "") -> Record | None:
        """Take the record of a kind about one question, if there is one."""
        records = self.many(kind, key)
        if len(records) > 1:
            raise not_understood(f"two records `{kind}` where one is due")
        return records[0] if records else None

    def one(self, kind: str, key: str = "") -> Record:
        """Take the record of a kind about one question.

        Raises:
            ProbeError: there is none, or more than one.
        """
        record = self.maybe(kind, key)
        if record is None:
            raise not_understood(f"a record `{kind}` is missing")
        return record

    def finish(self) -> None:
        """Raise ProbeError when records are left that nobody asked for."""
        for kind, _ in self._held:
            raise not_understood(f"nobody asked for its record `{printable(kind)}`")
