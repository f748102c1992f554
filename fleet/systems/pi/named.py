"""What pi's settings name: packages and resources, and whether they are there.

The names are known only once the settings were read, so nothing can be asked of them in the same
round trip. The folders that pi itself keeps them in are listed instead, and what lies elsewhere is
said to be not looked at, by its full path. Where pi keeps what: ``docs/packages.md`` and
``docs/settings.md`` of pi 1.6.0.
"""

import posixpath
import re
from collections.abc import Iterator
from typing import TypeAlias

from fleet.facts.paths import PathFact, State
from fleet.verifier.look import Look
from fleet.verifier.pi_sources import Source, source_of, sources

PACKAGES = "npm-packages"
_RESOURCES = ("extensions", "skills", "prompts", "themes")
_NOWHERE = (State.ABSENT, State.DANGLING, State.LOOP)
_PATTERN = re.compile(r"[*?\[{]")
# A line, and whether it was seen: what was not seen is not wrong.
Told: TypeAlias = tuple[str, bool]


def missing_names(look: Look, agent: str, document: dict[str, object]) -> Iterator[Told]:
    """Yield what the settings name and is not there, or was not seen.

    Args:
        look: the system on its target.
        agent: the folder the settings lie in; their relative paths begin there.
        document: the settings.
    """
    for text in sources(document, "packages"):
        source = source_of(text)
        if source.kind == "npm":
            yield from _npm(look, source.name)
        elif source.kind == "path":
            yield from _path(look, agent, text, f"the package {text}")
        else:
            place = source.place(agent)
            yield from _told(there(look, place), f"the package {text}", place)
    for kind in _RESOURCES:
        for entry in sources(document, kind):
            if not entry.startswith(("-", "!", "builtin:", "+")):
                yield from _path(look, agent, entry, f"{entry} ({kind})")


def _npm(look: Look, package: str) -> Iterator[Told]:
    """An npm package lies in the agent folder; of a scope only the scope's folder is seen."""
    seen = package.partition("/")[0]
    folder = look.artifact(PACKAGES)
    if folder is None or folder.state in (State.ABSENT, State.DANGLING):
        yield f"the package {package} is not installed", True
    elif folder.entries is None:
        yield f"whether {package} is installed: {folder.why or folder.state.value}", False
    elif seen not in {e.name for e in folder.entries if not e.dangling}:
        yield f"the package {package} is not installed in {posixpath.dirname(folder.path)}", True


def _path(look: Look, agent: str, entry: str, what: str) -> Iterator[Told]:
    if _PATTERN.search(entry):
        yield f"which files {what} stands for was not looked at", False
        return
    place = Source("path", entry).place(agent, look.facts.platform.home)
    place = posixpath.normpath(place)
    yield from _told(there(look, place), what, place)


def _told(found: bool | None, what: str, place: str) -> Iterator[Told]:
    if found is None:
        yield f"whether {what} is there was not looked at ({place})", False
    elif not found:
        yield f"{what} is not there ({place})", True


def there(look: Look, place: str) -> bool | None:
    """Tell whether something is at an absolute path, from what was read; None where it was not."""
    facts = {fact.absolute: fact for fact in look.facts.paths.values()}
    fact = facts.get(place)
    if fact is not None:
        return _present(fact)
    below = place
    while below != "/":
        above = posixpath.dirname(below)
        fact = facts.get(above)
        if fact is not None and fact.state in _NOWHERE:
            return False
        if fact is not None and fact.entries is not None and fact.why is None:
            names = {entry.name: entry.dangling for entry in fact.entries}
            if names.get(posixpath.basename(below), True):
                return False
            return True if below == place else None
        below = above
    return None


def _present(fact: PathFact) -> bool | None:
    if fact.state is State.PRESENT:
        return True
    return False if fact.state in _NOWHERE else None
