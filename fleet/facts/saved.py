"""Facts in files: written once, judged later, on another machine, without a connection."""

import hashlib
import json
import re

from pydantic import ValidationError

from fleet.errors import FactsError
from fleet.facts.model import FORMAT, Facts
from fleet.facts.shared import BESIDE, Shared, named
from fleet.facts.text import printable

SUFFIX = ".facts.json"
LONGEST_NAME = 80

_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]+")


def dumps(facts: Facts, *, beside: bool = False) -> str:
    """Return facts as JSON text, one object with a ``format``, ending in a line feed.

    What is not known is left out, which is most of what could be said of a path.

    Args:
        facts: what is to be kept.
        beside: whether contents are only named, because they lie in the folder beside the file.
    """
    if not beside:
        return facts.model_dump_json(indent=1, exclude_none=True) + "\n"
    told = facts.model_dump(mode="json", exclude_none=True, exclude={"contents"})
    told["contents"] = dict.fromkeys(sorted(facts.contents), BESIDE)
    return json.dumps(told, indent=1) + "\n"


def loads(text: str | bytes, *, where: str, shared: Shared | None = None) -> Facts:
    """Return the facts that a JSON text holds.

    Args:
        text: what :func:`dumps` made; bytes are UTF-8.
        where: the file's name, for the error's text.
        shared: what other facts of the same reader hold, so that it is read and held once.

    Raises:
        FactsError: it is no JSON, of another format, a field is not what it must be, or a content
            that should lie beside does not.
    """
    shared = shared or Shared()
    try:
        facts = Facts.model_validate_json(text, context=shared)
    except ValidationError as error:
        _refuse_format(text, where)
        raise FactsError(_told(error), where=where) from None
    if "format" not in facts.model_fields_set:
        _refuse_format(text, where)
    for name, content in facts.contents.items():
        if not shared.holds(name, content) and named(content) != name:
            raise FactsError(f"the content of {name} is not what its hash says", where=where)
    return facts


def _refuse_format(text: str | bytes, where: str) -> None:
    """Say what is wrong with a text that holds no facts of this format, if that is it."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FactsError(f"not JSON: {error}", where=where) from None
    told = data.get("format") if isinstance(data, dict) else None
    if told is None:
        raise FactsError("JSON, but no facts: it has no `format`", where=where)
    if told != FORMAT:
        raise FactsError(
            f"facts of format {printable(repr(told))}; this fleet reads {FORMAT}",
            where=where,
            hint="take the facts again with this version of fleet",
        )


def file_name(target: str) -> str:
    """Return the file name for a target's facts: safe on every file system, one for each name."""
    safe = _UNSAFE.sub("_", target).lstrip(".")[:LONGEST_NAME]
    if safe != target or safe != safe.lower():
        digest = hashlib.sha256(target.encode("utf-8", "backslashreplace")).hexdigest()
        safe = f"{safe or 'target'}-{digest[:8]}"
    return safe + SUFFIX


def _told(error: ValidationError) -> str:
    problem = error.errors(include_input=False, include_url=False)[0]
    if problem["type"] == "value_error" and problem["loc"] == ("contents",):
        return str(problem["ctx"]["error"])  # one of our own, about what lies beside
    place = ".".join(str(part) for part in problem["loc"])
    more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
    return f"the field {printable(place)} is wrong: {printable(problem['msg'])}{more}"
