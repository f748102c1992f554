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

from fleet.facts.model import PathFact, State
from fleet.verifier.look import Look

PACKAGES = "npm-packages"
GIT = "git-packages"
_RESOURCES = ("extensions", "skills", "prompts", "themes")
_NOWHERE = (State.ABSENT, State.DANGLING, State.LOOP)
_LOCAL = re.compile(r"[.~]|/")
_PATTERN = re.compile(r"[*?\[{]")
_GIT = re.compile(
    r"^(?:git:)?(?:[a-z+]+://)?(?:[^@/]+@)?(?P<host>[A-Za-z0-9.-]+)(?::\d+)?[:/](?P<path>.+)$"
)
# A line, and whether it was seen: what was not seen is not wrong.
Told: TypeAlias = tuple[str, bool]


def missing_names(look: Look, agent: str, document: dict[str, object]) -> Iterator[Told]:
    """Yield what the settings name and is not there, or was not seen.

    Args:
        look: the system on its target.
        agent: the folder the settings lie in; their relative paths begin there.
        document: the settings.
    """
    for source in _sources(document.get("packages")):
        if source.startswith("npm:"):
            yield from _npm(look, source.removeprefix("npm:"))
        elif _LOCAL.match(source) or not _GIT.match(source):
            yield from _path(look, agent, source, f"the package {source}")
        else:
            yield from _git(look, agent, source)
    for kind in _RESOURCES:
        for entry in _sources(document.get(kind)):
            if not entry.startswith(("-", "!", "builtin:", "+")):
                yield from _path(look, agent, entry, f"{entry} ({kind})")


def _sources(listed: object) -> list[str]:
    entries = listed if isinstance(listed, list) else []
    sources = [e.get("source") if isinstance(e, dict) else e for e in entries]
    return [source for source in sources if isinstance(source, str)]


def _npm(look: Look, name: str) -> Iterator[Told]:
    """An npm package lies in the agent folder; of a scope only the scope's folder is seen."""
    scope, slash, rest = name.partition("/") if name.startswith("@") else ("", "", name)
    package = f"{scope}{slash}{rest.partition('@')[0]}"
    folder = look.artifact(PACKAGES)
    if folder is None or folder.state in (State.ABSENT, State.DANGLING):
        yield f"the package {package} is not installed", True
    elif folder.entries is None:
        yield f"whether {package} is installed: {folder.why or folder.state.value}", False
    elif (scope or package) not in {e.name for e in folder.entries if not e.dangling}:
        yield f"the package {package} is not installed in {posixpath.dirname(folder.path)}", True


def _git(look: Look, agent: str, source: str) -> Iterator[Told]:
    """A checkout lies at ``git/HOST/PATH`` in the agent folder; what is seen is the host."""
    found = _GIT.match(source)
    if found is None or ("." not in found["host"] and found["host"] != "localhost"):
        yield f"where the package {source} comes from is not understood here", False
        return
    path = re.sub(r"(@.*)?$", "", found["path"]).removesuffix(".git")
    place = posixpath.join(agent, "git", found["host"], path)
    yield from _told(there(look, place), f"the package {source}", place)


def _path(look: Look, agent: str, entry: str, what: str) -> Iterator[Told]:
    if _PATTERN.search(entry):
        yield f"which files {what} stands for was not looked at", False
        return
    home = look.facts.platform.home
    place = home + entry[1:] if entry == "~" or entry.startswith("~/") else entry
    place = posixpath.normpath(posixpath.join(agent, place))
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
