"""Variables in a compose file's texts, filled in as compose does (its specification, chapter 12).

``$NAME``, ``${NAME}``, ``${NAME:-default}``, ``${NAME-default}``, ``${NAME:?message}``,
``${NAME?message}``, ``${NAME:+other}``, ``${NAME+other}``, nested to any reasonable depth, and
``$$`` for a dollar sign that the container is to see. A dollar that begins no name stays. The text
after an operator is filled in even where it is not used, so a variable required there is required
(measured with compose 2.40).
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import field

from fleet.dataclass import dataclass

MAX_DEPTH = 20

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OPERATOR = re.compile(r":?[-?+]")
_BRACES = re.compile(r"\$\$|\$\{|\}")


class BadVariable(ValueError):
    """A text that compose refuses to fill in; the message says why."""


@dataclass(frozen=True, slots=True)
class Mention:
    """A variable that a text names, where compose really looks at it.

    Attributes:
        operator: ``-``, ``?`` or ``+``, with its colon; empty for a bare variable.
        state: what the environment says of it: ``set``, ``empty`` or ``unset``.
    """

    name: str
    operator: str
    state: str


@dataclass(frozen=True, slots=True)
class Filled:
    """A text after filling in, and the variables it took."""

    text: str
    mentions: tuple[Mention, ...] = ()


def fill(text: str, environment: Mapping[str, str]) -> Filled:
    """Fill in a text.

    Raises:
        BadVariable: a required variable is missing (the file's own message is told), or the text
            is no valid format.
    """
    filler = _Filler(text, environment, depth=0)
    return Filled("".join(filler.parts()), tuple(filler.mentions))


@dataclass(slots=True)
class _Filler:
    """Reads a text once, left to right."""

    text: str
    environment: Mapping[str, str]
    depth: int
    at: int = 0
    mentions: list[Mention] = field(default_factory=list)

    def parts(self) -> Iterator[str]:
        """Return the pieces of the filled text."""
        while self.at < len(self.text):
            dollar = self.text.find("$", self.at)
            end = len(self.text) if dollar < 0 else dollar
            yield self.text[self.at : end]
            self.at = end
            if dollar >= 0:
                yield self._dollar()

    def _dollar(self) -> str:
        following = self.text[self.at + 1 : self.at + 2]
        if following == "$":
            self.at += 2
            return "$"
        if following == "{":
            self.at += 2
            return self._braced()
        self.at += 1
        name = _NAME.match(self.text, self.at)
        if name is None:
            return "$"
        self.at = name.end()
        return self._value(name.group(), "")

    def _braced(self) -> str:
        end = self._closing()
        match = _NAME.match(self.text, self.at, end)
        if match is None:
            shown = self.text[self.at : min(end, self.at + 20)]
            raise BadVariable(f"`${{{shown}}}` names no variable; write `$$` for a dollar")
        name, self.at = match.group(), match.end()
        operator = _OPERATOR.match(self.text, self.at, end)
        if operator is None and self.at != end:
            raise BadVariable(f"`${{{name}` is followed by something compose does not know")
        other = self.text[operator.end() : end] if operator else ""
        self.at = end + 1
        return self._chosen(name, operator.group() if operator else "", other)

    def _closing(self) -> int:
        """Return where the brace just opened is closed."""
        open_braces = 1
        for token in _BRACES.finditer(self.text, self.at):
            open_braces += {"${": 1, "}": -1}.get(token.group(), 0)
            if not open_braces:
                return token.start()
        raise BadVariable(f"`${{` is never closed in `{self.text[:60]}`")

    def _chosen(self, name: str, operator: str, other: str) -> str:
        """Return the variable's value or the text after its operator, whichever is meant."""
        state = self._state(name)
        there = state == "set" or (state == "empty" and ":" not in operator)
        if not operator:
            return self._value(name, operator)
        before = len(self.mentions)
        filled = self._nested(other)
        if there == operator.endswith("+"):
            if operator.endswith("?"):
                raise BadVariable(_missing(name, state, filled))
            self.mentions.insert(before, Mention(name, operator, state))
            return filled
        # What is not used is no variable of the text's.
        del self.mentions[before:]
        value = self._value(name, operator)
        return value if there else ""

    def _nested(self, text: str) -> str:
        if self.depth >= MAX_DEPTH:
            raise BadVariable(f"variables are nested deeper than {MAX_DEPTH} levels")
        inner = _Filler(text, self.environment, self.depth + 1)
        filled = "".join(inner.parts())
        self.mentions += inner.mentions
        return filled

    def _value(self, name: str, operator: str) -> str:
        self.mentions.append(Mention(name, operator, self._state(name)))
        return self.environment.get(name, "")

    def _state(self, name: str) -> str:
        if name not in self.environment:
            return "unset"
        return "set" if self.environment[name] else "empty"


def _missing(name: str, state: str, message: str) -> str:
    what = f"{name} is {'set but empty' if state == 'empty' else 'not set'}"
    return f"{what}: {message}" if message else what
