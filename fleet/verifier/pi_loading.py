"""What keeps pi from loading an extension that lies in its folder, and pi says nothing of.

The rules are measured on pi 0.82 to 1.6: one level deep, ``.ts`` and ``.js`` only, a root
``index.*`` or manifest hides everything else, ignore files and settings filters hide without a
word, and a dangling link is skipped.

Who asks reads the folder and what may hide its files as the artifacts ``extensions``,
``extensions-manifest``, ``extensions-gitignore``, ``extensions-ignore``, ``extensions-fdignore``
and ``settings``.
"""

import posixpath
from collections.abc import Sequence

from fleet.facts.jsontext import read_json
from fleet.facts.paths import PathFact, State
from fleet.verifier.look import Look

_INDEXES = ("index.ts", "index.js")
_IGNORES = ("extensions-gitignore", "extensions-ignore", "extensions-fdignore")


def hider_of(look: Look, listing: PathFact, name: str) -> str | None:
    """Tell what keeps pi from loading an extension; None where nothing does.

    Args:
        look: a system that reads what may hide one.
        listing: the folder of the extensions.
        name: the file from there: ``mempalace.ts``, or ``pi-mnemo/index.ts``.
    """
    first = name.partition("/")[0]
    names = {e.name for e in listing.entries or () if not e.dangling}
    index = next((i for i in _INDEXES if i in names and i != first), None)
    if index:
        return f"extensions/{index} hides every other file of the folder"
    return _manifest(look, {first, name}) or _ignored(look, name) or _filtered(look, name)


def _manifest(look: Look, names: set[str]) -> str | None:
    content = look.content(look.artifact("extensions-manifest"))
    if content is None:
        return None
    try:
        manifest = read_json(content)
    except ValueError:
        return None  # pi tolerates a manifest that does not parse
    section = manifest.get("pi") if isinstance(manifest, dict) else None
    listed = section.get("extensions") if isinstance(section, dict) else None
    if not isinstance(listed, list):
        return None
    paths = {posixpath.normpath(entry) for entry in listed if isinstance(entry, str)}
    if names & paths:
        return None
    return "extensions/package.json lists the extensions to load, and not this one"


def _ignored(look: Look, name: str) -> str | None:
    for artifact in _IGNORES:
        fact = look.artifact(artifact)
        content = look.content(fact)
        if fact is None or content is None:
            continue
        lines = content.decode(errors="replace").splitlines()
        if _matches(lines, name):
            return f"{posixpath.basename(fact.path)} ignores it"
    return None


def _filtered(look: Look, name: str) -> str | None:
    content = look.content(look.artifact("settings"))
    try:
        settings = read_json(content or b"{}")
    except ValueError:
        return None  # pi ignores settings that do not parse, filters included
    entries = settings.get("extensions") if isinstance(settings, dict) else None
    for entry in entries if isinstance(entries, list) else []:
        if isinstance(entry, str) and _excludes(entry, f"extensions/{name}"):
            return f"settings.json turns it off: {entry}"
    return None


def _excludes(entry: str, path: str) -> bool:
    """``-PATH`` excludes that path to the letter, ``!PATTERN`` what the pattern matches."""
    if entry.startswith("-"):
        return entry[1:] == path
    return entry.startswith("!") and _matches([entry[1:]], path)


def _matches(lines: Sequence[str], path: str) -> bool:
    from pathspec import GitIgnoreSpec  # noqa: PLC0415 - lazy, few machines have such a file

    return GitIgnoreSpec.from_lines(lines).match_file(path)


def unread_hiders(look: Look) -> list[str]:
    """Return the files that may hide an extension, are there, and were not read."""
    facts = [look.artifact(name) for name in ("extensions-manifest", *_IGNORES, "settings")]
    there = (State.PRESENT, State.UNREADABLE, State.UNSUPPORTED)
    return [
        f"{fact.path}: {fact.why or fact.state}"
        for fact in facts
        if fact and fact.state in there and fact.kind != "directory" and look.content(fact) is None
    ]
