"""Facts in files: written once, judged later, on another machine, without a connection."""

import hashlib
import json
import re

from pydantic import ValidationError

from fleet.errors import FactsError
from fleet.facts.model import FORMAT, Facts
from fleet.facts.text import printable

SUFFIX = ".facts.json"
LONGEST_NAME = 80

_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]+")


def dumps(facts: Facts) -> str:
    """Return facts as JSON text, one object with a ``format``, ending in a line feed."""
    return facts.model_dump_json(indent=1) + "\n"


def loads(text: str, *, where: str) -> Facts:
    """Return the facts that a JSON text holds.

    Args:
        text: what :func:`dumps` made.
        where: the file's name, for the error's text.

    Raises:
        FactsError: it is no JSON, of another format, or a field is not what it must be.
    """
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
    try:
        facts = Facts.model_validate_json(text)
    except ValidationError as error:
        raise FactsError(_told(error), where=where) from None
    for name, content in facts.contents.items():
        if hashlib.sha256(content).hexdigest() != name:
            raise FactsError(f"the content of {name} is not what its hash says", where=where)
    return facts


def file_name(target: str) -> str:
    """Return the file name for a target's facts: safe on every file system, one for each name."""
    safe = _UNSAFE.sub("_", target).lstrip(".")[:LONGEST_NAME]
    if safe != target or safe != safe.lower():
        digest = hashlib.sha256(target.encode("utf-8", "backslashreplace")).hexdigest()
        safe = f"{safe or 'target'}-{digest[:8]}"
    return safe + SUFFIX


def _told(error: ValidationError) -> str:
    problem = error.errors(include_input=False, include_url=False)[0]
    place = ".".join(str(part) for part in problem["loc"])
    more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
    return f"the field {printable(place)} is wrong: {printable(problem['msg'])}{more}"
