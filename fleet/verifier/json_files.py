"""JSON files of a target as the program that owns them reads them: one reading for every system.

Their texts are those without secrets (:mod:`fleet.facts.jsonshape`).
"""

import json
from collections.abc import Iterable, Iterator

from fleet.dataclass import dataclass
from fleet.facts.paths import PathFact, State
from fleet.verifier.look import Look


@dataclass(frozen=True, slots=True)
class JsonFile:
    """One file that is there; of the last three exactly one says something.

    Attributes:
        name: of its artifact.
        document: the object in it; None where there is none to be had.
        unread: why it was not seen.
        broken: why no object is in it, with the place.
    """

    name: str
    fact: PathFact
    document: dict[str, object] | None = None
    unread: str = ""
    broken: str = ""


def json_files(look: Look, names: Iterable[str], *, comments: bool) -> Iterator[JsonFile]:
    """Yield the files that are there, in the order given; a link to nothing is no file.

    Args:
        look: the system whose artifacts they are.
        names: of these artifacts.
        comments: whether comments and last commas are taken.
    """
    for name in names:
        fact = look.artifact(name)
        if fact is None or fact.state in (State.ABSENT, State.DANGLING):
            continue
        text = look.shape(name)
        if text is None:
            yield JsonFile(name, fact, unread=fact.why or "it could not be read")
            continue
        try:
            document = _parsed(text, comments=comments)
        except (ValueError, RecursionError) as error:
            yield JsonFile(name, fact, broken=_place(error))
            continue
        if isinstance(document, dict):
            yield JsonFile(name, fact, document)
        else:
            yield JsonFile(name, fact, broken="it holds no object")


def _parsed(text: str, *, comments: bool) -> object:
    from fleet.installers.jsonc_read import read_jsonc  # noqa: PLC0415 - lazy

    root = read_jsonc(text)  # names the place better than the strict parser
    if comments:
        return root.plain() if root else {}
    return json.loads(text or "{}")


def _place(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"line {error.lineno}, column {error.colno}: comments and last commas are not taken"
    return "it is nested too deep" if isinstance(error, RecursionError) else str(error)
