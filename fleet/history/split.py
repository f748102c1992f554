"""Facts taken apart: what stays from night to night, and what is new each time by nature.

Digests of secrets are keyed with the run's nonce, so they differ in every run though nothing
changed; moments and durations do too. They are set aside, so that the rest of two nights' facts is
equal where nothing happened, and is kept once.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import TypeAlias

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from fleet.dataclass import dataclass
from fleet.errors import FactsError
from fleet.facts.model import FORMAT, Facts

Json: TypeAlias = "str | int | float | bool | list[Json] | dict[str, Json] | None"

#: Keys of facts whose values are new each time by nature.
VOLATILE = frozenset(
    {"taken_at", "nonce", "digest", "raw", "unquoted", "trimmed", "command", "arguments"}
    | {"milliseconds"}
)
HELD = 0  # what stands in the body in place of a value that was set aside
# Within a text every quote has a backslash before it, so a comma or a brace and then a quote begins
# a key; to look for these few is a tenth of the work of taking all apart. That the pattern begins
# with the quote lets the library leap from one to the next.
_NEW = re.compile(
    rb'"(?=[%s])(?<=[{,]")((?:%s)":)("[^"\\]*(?:\\.[^"\\]*)*"|-?[0-9]+(?=[,}])|true|false)'
    % ("".join({key[0] for key in VOLATILE}).encode(), "|".join(sorted(VOLATILE)).encode())
)


@dataclass(frozen=True, slots=True)
class Laid:
    """Facts as they are kept: a small part of what they take as they are used.

    Attributes:
        body: JSON without contents.
        aside: the values that were set aside, in the order of the body.
        contents: bytes by their sha256.
    """

    body: bytes
    aside: list[Json]
    contents: Mapping[str, bytes]


def split(facts: Facts) -> Laid:
    """Lay facts out to be kept."""
    try:
        text = facts.model_dump_json(exclude={"contents"}).encode()
    except PydanticSerializationError:  # a lone surrogate, which JSON cannot say
        tree = clean(facts.model_dump(mode="json", exclude={"contents"}))
        aside: list[Json] = []
        _set_aside(tree, aside)
        return Laid(packed(tree), aside, facts.contents)
    return Laid(*_parted(text), facts.contents)


def _parted(text: bytes) -> tuple[bytes, list[Json]]:
    """Part the text of facts, as JSON without blanks, into what stays and what is new each time."""
    values: list[bytes] = []

    def held(found: re.Match[bytes]) -> bytes:
        values.append(found[2])
        return b'"%s%d' % (found[1], HELD)

    body = _NEW.sub(held, text)
    return body, json.loads(b"[%s]" % b",".join(values))


def joined(body: bytes, aside: list[Json], contents: dict[str, bytes], *, where: str) -> Facts:
    """Put facts together again.

    Raises:
        FactsError: a newer fleet took them, or they are damaged.
    """
    tree = json.loads(body)
    told = tree.get("format") if isinstance(tree, dict) else None
    if told != FORMAT:
        raise FactsError(f"the facts kept are of format {told!r}; this fleet reads {FORMAT}")
    values = iter(aside)
    try:
        whole = _together(tree, values)
    except StopIteration:
        raise FactsError("the facts kept are not whole", where=where) from None
    try:
        facts = Facts.model_validate_json(json.dumps(whole))
    except ValidationError as error:
        place = ".".join(str(part) for part in error.errors(include_input=False)[0]["loc"])
        raise FactsError(
            f"the facts kept cannot be read by this fleet: {place}", where=where
        ) from None
    return facts.model_copy(update={"contents": contents})


def packed(value: Json) -> bytes:
    """Return JSON in its one form: keys in their order, no blanks, UTF-8; see :func:`clean`."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    try:
        return text.encode()
    except UnicodeEncodeError:
        return packed(clean(value))


def clean(tree: Json) -> Json:
    """Return JSON whose texts are Unicode: a lone surrogate is spelt out, as reports show it."""
    if isinstance(tree, str):
        return tree.encode("utf-8", "backslashreplace").decode()
    if isinstance(tree, dict):
        return {str(clean(key)): clean(value) for key, value in tree.items()}
    return [clean(one) for one in tree] if isinstance(tree, list) else tree


def _set_aside(tree: Json, aside: list[Json]) -> None:
    """Move the values that are new each time out of a tree, which is changed."""
    if isinstance(tree, dict):
        for key, value in tree.items():
            if isinstance(value, dict | list):
                _set_aside(value, aside)
            elif key in VOLATILE and value is not None and not isinstance(value, float):
                aside.append(value)
                tree[key] = HELD
    elif isinstance(tree, list):
        for one in tree:
            if isinstance(one, dict | list):
                _set_aside(one, aside)


def _together(tree: Json, values: Iterator[Json]) -> Json:
    if isinstance(tree, dict):
        return {
            key: next(values)
            if key in VOLATILE and value == HELD and value is not None
            else _together(value, values)
            for key, value in tree.items()
        }
    if isinstance(tree, list):
        return [_together(one, values) for one in tree]
    return tree
