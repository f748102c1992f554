"""pi's own files: pi ignores one that does not parse, and says so to nobody who is not looking."""

import json
import posixpath
from dataclasses import field
from functools import lru_cache

from fleet.dataclass import dataclass
from fleet.facts.jsontext import read_json
from fleet.facts.paths import PathFact, State
from fleet.installers.jsonc_read import BrokenJson, read_jsonc
from fleet.systems.pi.named import missing_names
from fleet.systems.pi.package import package_of
from fleet.verifier.look import Look
from fleet.verifier.model import Judgement, failed, not_applicable, not_checked, passed
from fleet.verifier.shipped_schema import Shipped, shipped, violations

FILES = ("settings", "keybindings", "models")
COMMENTED = "models"  # there pi takes comments and trailing commas, from 0.73.1
_GONE = (State.ABSENT,)


@dataclass(slots=True)
class _Found:
    """What was found in all files: what is wrong, what was not seen, what holds."""

    wrong: list[str] = field(default_factory=list)
    unseen: list[str] = field(default_factory=list)
    good: list[str] = field(default_factory=list)


def settings(look: Look) -> Judgement:
    """Each file parses and is as the installed pi's schema says; the packages are installed."""
    found = _Found()
    for name in FILES:
        fact = look.artifact(name)
        if fact is not None and fact.state not in _GONE:
            _file(look, name, fact, found)
    if found.wrong:
        return failed("pi does not take its files as they are meant", *found.wrong, *found.unseen)
    if found.unseen:
        return not_checked(f"not everything could be seen: {found.unseen[0]}", *found.unseen)
    if not found.good:
        return not_applicable("there is none of pi's files yet")
    return passed("parse, match the schema of this pi, and what they name is there", *found.good)


def _file(look: Look, name: str, fact: PathFact, found: _Found) -> None:
    if fact.state in (State.DANGLING, State.LOOP):
        found.wrong.append(f"{fact.path}: a link that leads nowhere")
        return
    comments = name == COMMENTED
    text = fact.shape if comments else _text(look, fact)
    if text is None:
        found.unseen.append(f"{fact.path}: {fact.why or 'its content was not read'}")
        return
    try:
        document = _document(text, comments=comments)
    except BrokenJson as error:
        found.wrong.append(f"{fact.path} does not parse ({error}): pi ignores all of it")
        return
    except json.JSONDecodeError as error:
        where = f"line {error.lineno} column {error.colno}"
        found.wrong.append(f"{fact.path} does not parse ({where}): pi ignores all of it")
        return
    except RecursionError:
        found.wrong.append(f"{fact.path} is nested too deep")
        return
    _compared(look, name, fact, text, found)
    if name == "settings" and isinstance(document, dict):
        folder = posixpath.dirname(fact.absolute)
        for line, seen in missing_names(look, folder, document):
            (found.wrong if seen else found.unseen).append(f"{fact.path}: {line}")


def _document(text: str, *, comments: bool) -> object:
    if not comments:
        return read_json(text)
    root = read_jsonc(text)
    return root.plain() if root else None


def _text(look: Look, fact: PathFact) -> str | None:
    content = look.content(fact)
    return None if content is None else content.decode("utf-8", "replace")


@lru_cache(maxsize=8)
def _shipped(schema: bytes) -> Shipped:
    return shipped(read_json(schema))


@lru_cache(maxsize=64)
def _violations(text: str, schema: bytes, *, comments: bool) -> tuple[str, ...]:
    """Compare once what many targets have alike."""
    return tuple(violations(_document(text, comments=comments), _shipped(schema)))


def _compared(look: Look, name: str, fact: PathFact, text: str, found: _Found) -> None:
    told = False
    for launch in look.launches():
        command = launch.commands.get("pi")
        schema = command.beside.get(f"schemas/{name}.schema.json") if command else None
        package = package_of(look, command) if command else None
        if schema is None or package is None:
            continue
        told = True
        if schema.state is State.ABSENT:
            found.good.append(f"{fact.path}: parses; {package} ships no schema")
            continue
        try:
            lines = _violations(text, look.content(schema) or b"", comments=name == COMMENTED)
        except (ValueError, RecursionError):
            found.unseen.append(f"{schema.path}: {schema.why or 'it could not be understood'}")
            continue
        found.wrong += [f"{fact.path}: {line}" for line in lines]
        found.good += [] if lines else [f"{fact.path}: as {package} wants it"]
    if not told:
        found.unseen.append(f"{fact.path}: the schema of the installed pi could not be seen")
