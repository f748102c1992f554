"""A YAML document as a tree in which every part knows its line and column."""

from typing import Self, TypeAlias

from fleet.dataclass import dataclass
from fleet.errors import Place
from fleet.inventory.model import Scalar, SecretRef, Value


class WrittenInt(int):
    """An integer that prints as it was written (``0x1F``, ``0o17``, ``+1``)."""

    text: str

    def __new__(cls, text: str | int) -> Self:
        """Read the text; ``0x`` and ``0o`` are understood."""
        number = super().__new__(cls, text if isinstance(text, int) else int(text, 0))
        number.text = str(text)
        return number

    def __str__(self) -> str:
        return self.text


class WrittenFloat(float):
    """A number with a point that prints as it was written, so that ``1.10`` stays ``1.10``."""

    text: str

    def __new__(cls, text: str | float) -> Self:
        """Read the text."""
        number = super().__new__(cls, text)
        number.text = str(text)
        return number

    def __str__(self) -> str:
        return self.text


class Verbatim(str):
    """Text in which ``{{`` means nothing (Ansible's ``!unsafe``)."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class ScalarNode:
    """One value; ``text`` is what was written, without quotes."""

    value: Scalar | SecretRef
    text: str
    place: Place
    weight: int = 1
    height: int = 1

    @property
    def kind(self) -> str:
        """Return what it is, in a reader's words."""
        if self.value is None:
            return "nothing"
        if isinstance(self.value, bool):
            return "true or false"
        if isinstance(self.value, SecretRef):
            return "a secret reference"
        return "a text" if isinstance(self.value, str) else "a number"

    def data(self) -> Value:
        """Return the value."""
        return self.value

    def words(self) -> Value:
        """Return the value, a number as the text that was written."""
        is_number = isinstance(self.value, int | float) and not isinstance(self.value, bool)
        return self.text if is_number else self.value


@dataclass(frozen=True, slots=True)
class ListNode:
    """A sequence."""

    items: tuple["Node", ...]
    place: Place
    weight: int
    height: int
    kind = "a list"

    def data(self) -> Value:
        """Return it as plain data."""
        return [item.data() for item in self.items]

    def words(self) -> Value:
        """Return it as plain data, numbers as the text that was written."""
        return [item.words() for item in self.items]


@dataclass(frozen=True, slots=True)
class Pair:
    """A key's place and its value."""

    place: Place
    value: "Node"


@dataclass(frozen=True, slots=True)
class MapNode:
    """A mapping; keys are texts, whatever they look like."""

    pairs: dict[str, Pair]
    place: Place
    weight: int
    height: int
    kind = "a mapping"

    def data(self) -> Value:
        """Return it as plain data."""
        return {key: pair.value.data() for key, pair in self.pairs.items()}

    def words(self) -> Value:
        """Return it as plain data, numbers as the text that was written."""
        return {key: pair.value.words() for key, pair in self.pairs.items()}


Node: TypeAlias = ScalarNode | ListNode | MapNode
