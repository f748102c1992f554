"""Holding a JSON document against a schema that a target ships, which is hostile until bounded.

Of the schema only what compares values is kept: no regular expression of a target runs here, and no
reference leads out of the document. References are filled in up to a depth and a number of nodes.
"""

import re
from collections.abc import Iterator, Mapping

from fleet.dataclass import dataclass

MAX_NODES = 50_000
MAX_DEPTH = 40
MAX_TOLD = 5

_VALUES = frozenset(
    {"type", "enum", "const", "required", "minimum", "maximum", "exclusiveMinimum"}
    | {"exclusiveMaximum", "minLength", "maxLength", "minItems", "maxItems"}
)
_LISTS = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
_ONES = frozenset({"items", "additionalProperties"})
_EVERY_NAME = "^.*$"
_MASKED = re.compile(r"[x!${} ]*")


class TooLarge(ValueError):
    """A schema that holds more than a schema of settings ever would."""


@dataclass(slots=True)
class _Plain:
    """Fills one schema's references in, and keeps only what compares values."""

    definitions: Mapping[str, object]
    nodes: int = 0

    def schema(self, node: object, depth: int = 0) -> object:
        self.nodes += 1
        if self.nodes > MAX_NODES:
            raise TooLarge("the schema is too large")
        if not isinstance(node, dict):
            return node if isinstance(node, bool) else True
        if depth > MAX_DEPTH:
            return True
        reference = node.get("$ref")
        if isinstance(reference, str):
            name = reference.removeprefix("#/$defs/")
            return self.schema(self.definitions.get(name, True), depth + 1)
        return dict(self._kept(node, depth + 1))

    def _kept(self, node: Mapping[str, object], depth: int) -> Iterator[tuple[str, object]]:
        for name, value in node.items():
            if name in _VALUES:
                yield name, value
            elif name in _LISTS and isinstance(value, list):
                yield name, [self.schema(each, depth) for each in value]
            elif name in _ONES and "patternProperties" not in node:
                yield name, self.schema(value, depth)
            elif name == "properties" and isinstance(value, dict):
                yield name, {str(n): self.schema(each, depth) for n, each in value.items()}
            elif (
                name == "patternProperties"
                and isinstance(value, dict)
                and [*value] == [_EVERY_NAME]
            ):
                yield "additionalProperties", self.schema(value[_EVERY_NAME], depth)


@dataclass(frozen=True, slots=True)
class Shipped:
    """A schema of a target, reduced to what is taken of it."""

    plain: object


def shipped(schema: object) -> Shipped:
    """Take a schema.

    Raises:
        ValueError: it is none, or too large to be one of settings.
    """
    if not isinstance(schema, dict):
        raise ValueError("the schema is none")  # noqa: TRY004 - it is a target's, not a caller's
    definitions = schema.get("$defs")
    return Shipped(_Plain(definitions if isinstance(definitions, dict) else {}).schema(schema))


def violations(document: object, schema: Shipped) -> list[str]:
    """Return what in a document is not as a schema says, a line for each of the first few.

    Strings that are masked (see ``fleet.facts.jsonshape``) are held to be strings, no more.

    Raises:
        ValueError: the schema is none.
    """
    import jsonschema  # noqa: PLC0415 - only this gate needs it

    plain = schema.plain
    try:
        validator = jsonschema.Draft202012Validator(plain)  # type: ignore[arg-type]  # or a boolean
        found = [
            f"{_spot(error.absolute_path)}: {_told(error.validator, error.validator_value)}"
            for error in validator.iter_errors(document)
            if not (error.validator != "type" and _holds_masked(error.instance))
        ]
    except (jsonschema.SchemaError, TypeError, RecursionError) as error:
        raise ValueError("the schema is none") from error
    return sorted(found)[:MAX_TOLD]


def _spot(path: Iterator[object]) -> str:
    return ".".join(str(part) for part in path) or "the whole"


def _told(word: object, value: object) -> str:
    if word == "type":
        return f"is no {value if isinstance(value, str) else ' or '.join(map(str, _list(value)))}"
    if word == "enum":
        return f"is none of {', '.join(map(str, _list(value)))}"[:200]
    return f"is not as the schema says ({word})"


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


def _holds_masked(instance: object) -> bool:
    if isinstance(instance, str):
        return bool(_MASKED.fullmatch(instance))
    if isinstance(instance, dict):
        return any(map(_holds_masked, instance.values()))
    return isinstance(instance, list) and any(map(_holds_masked, instance))
