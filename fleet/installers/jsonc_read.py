"""Read JSON with comments and trailing commas, keeping where everything stands.

What VS Code and opencode call JSONC: RFC 8259 plus ``//`` and ``/* */`` comments and a comma after
the last member. Everything else is an error with its line and column.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import field

from fleet.dataclass import dataclass

MAX_DEPTH = 100

_BLANK = re.compile(r"[ \t\r\n]*")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"')
_SCALAR = re.compile(r"true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_LINE_COMMENT = re.compile(r"//[^\r\n]*")


class BrokenJson(ValueError):
    """The text is not JSON, even with comments.

    Attributes:
        line: counts from 1.
        column: counts from 1.
    """

    def __init__(self, what: str, text: str, offset: int) -> None:
        self.line = text.count("\n", 0, offset) + 1
        self.column = offset - (text.rfind("\n", 0, offset) + 1) + 1
        super().__init__(f"line {self.line}, column {self.column}: {what}")


@dataclass(slots=True)
class Node:
    """A value and where it stands: ``text[start:end]``.

    Attributes:
        value: for a scalar or a list, what it means.
        members: for an object, in order.
        tail: for an object, the end of the last thing in it that is no blank (its ``{``, a member,
            a comma or a comment).
        comma: for an object, whether its last member is followed by a comma.
    """

    start: int
    end: int = 0
    value: object = None
    members: "list[Member] | None" = None
    tail: int = 0
    comma: bool = False

    def plain(self) -> object:
        """Return what the value means, without places."""
        if self.members is None:
            return self.value
        return {member.key: member.node.plain() for member in self.members}

    def member(self, key: str) -> "Member | None":
        """Return the member of that name."""
        return next((m for m in self.members or () if m.key == key), None)


@dataclass(slots=True)
class Member:
    """One member of an object.

    Attributes:
        start: of the key.
        before: the end of the last thing before it that is no blank.
        comma: the place after the comma that follows it; None where none does.
    """

    key: str
    start: int
    before: int
    node: Node
    comma: int | None = None


@dataclass(slots=True)
class _Reader:
    text: str
    at: int = 0
    solid: int = 0  # the end of the last thing read that is no blank
    depth: int = field(default=0)

    def fail(self, what: str, at: int | None = None) -> BrokenJson:
        return BrokenJson(what, self.text, self.at if at is None else at)

    def skip(self) -> None:
        """Go past blanks and comments."""
        while True:
            blank = _BLANK.match(self.text, self.at)
            self.at = blank.end() if blank else self.at
            if self.text.startswith("//", self.at):
                comment = _LINE_COMMENT.match(self.text, self.at)
                self.at = comment.end() if comment else self.at
            elif self.text.startswith("/*", self.at):
                end = self.text.find("*/", self.at + 2)
                if end < 0:
                    raise self.fail("a comment is not closed")
                self.at = end + 2
            else:
                return
            self.solid = self.at

    def take(self, expected: str) -> bool:
        if not self.text.startswith(expected, self.at):
            return False
        self.at += len(expected)
        self.solid = self.at
        return True

    def read_value(self) -> Node:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.fail(f"more than {MAX_DEPTH} levels deep")
        start = self.at
        if self.take("{"):
            node = self.read_object(start)
        elif self.take("["):
            node = Node(start, value=list(self.read_items()))
        else:
            node = Node(start, value=self.read_scalar())
        node.end = self.at
        self.depth -= 1
        return node

    def read_object(self, start: int) -> Node:
        node = Node(start, members=[])
        members: list[Member] = []
        seen: set[str] = set()
        while True:
            self.skip()
            node.tail = self.solid
            if self.take("}"):
                break
            if members and members[-1].comma is None:
                raise self.fail("a comma or } is missing")
            before, at = self.solid, self.at
            key = self.read_string()
            if key in seen:
                raise self.fail(f"the key {key!r} is there twice", at)
            seen.add(key)
            self.skip()
            if not self.take(":"):
                raise self.fail("a colon is missing")
            self.skip()
            members.append(Member(key, at, before, self.read_value()))
            self.skip()
            if self.take(","):
                members[-1].comma = self.at
        node.members = members
        node.comma = bool(members) and members[-1].comma is not None
        return node

    def read_items(self) -> Iterator[object]:
        more = True
        while True:
            self.skip()
            if self.take("]"):
                return
            if not more:
                raise self.fail("a comma or ] is missing")
            yield self.read_value().plain()
            self.skip()
            more = self.take(",")

    def read_string(self) -> str:
        found = _STRING.match(self.text, self.at)
        if not found:
            raise self.fail("a string is missing, or is not closed")
        self.at = self.solid = found.end()
        return str(json.loads(found[0]))

    def read_scalar(self) -> object:
        if self.text.startswith('"', self.at):
            return self.read_string()
        found = _SCALAR.match(self.text, self.at)
        if not found:
            raise self.fail("a value is missing")
        self.at = self.solid = found.end()
        value: object = json.loads(found[0])
        return value


def read_jsonc(text: str) -> Node | None:
    """Read a text; None when there is nothing in it but blanks and comments.

    Raises:
        BrokenJson: it is not JSON, even with comments.
    """
    reader = _Reader(text, at=1 if text.startswith("\ufeff") else 0)
    reader.skip()
    if reader.at == len(text):
        return None
    node = reader.read_value()
    reader.skip()
    if reader.at != len(text):
        raise reader.fail("something follows the value")
    return node
