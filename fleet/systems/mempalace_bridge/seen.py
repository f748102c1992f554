"""Would pi load it? pi skips in silence what this gate names aloud.

The rules are measured on pi 0.82 to 1.6: one level deep, ``.ts`` and ``.js`` only, a root
``index.*`` or manifest hides everything else, ignore files and settings filters hide without a
word, and a dangling link is skipped.
"""

import json
import posixpath

from pathspec import GitIgnoreSpec

from fleet.facts.model import PathFact, State
from fleet.verifier.look import Look
from fleet.verifier.model import (
    Judgement,
    failed,
    follows_from,
    not_applicable,
    not_checked,
    passed,
)
from fleet.verifier.paths import hidden

_INDEXES = ("index.ts", "index.js")
_IGNORES = ("extensions-gitignore", "extensions-ignore", "extensions-fdignore")


def seen(look: Look) -> Judgement:
    """Pi would load the extension from where it lies."""
    fact = look.artifact("bridge")
    if fact is None:
        return not_applicable("no bridge is declared here")
    unseen = hidden(fact)
    if unseen:
        return unseen
    if fact.state is not State.PRESENT:
        return follows_from("bridge.placed")
    name = posixpath.basename(fact.path)
    if posixpath.splitext(name)[1] not in (".ts", ".js"):
        return failed("pi loads only .ts and .js files", fact.path)
    if name.startswith("."):
        return failed("pi skips names that begin with a dot", fact.path)
    listing = look.artifact("extensions")
    if listing is None or listing.entries is None:
        return not_checked("the extensions folder could not be listed", *_why(listing))
    hider = _hider(look, listing, name)
    if hider:
        return failed(hider, fact.path)
    unread = _unread(look)
    if unread:
        return not_checked("what may hide it could not be read", *unread)
    return passed("pi would load it", fact.path)


def _unread(look: Look) -> list[str]:
    """Return the files that may hide an extension, are there, and were not read."""
    facts = [look.artifact(name) for name in ("extensions-manifest", *_IGNORES, "settings")]
    there = (State.PRESENT, State.UNREADABLE, State.UNSUPPORTED)
    return [
        f"{fact.path}: {fact.why or fact.state}"
        for fact in facts
        if fact and fact.state in there and fact.kind != "directory" and look.content(fact) is None
    ]


def _why(listing: PathFact | None) -> tuple[str, ...]:
    return (listing.why,) if listing and listing.why else ()


def _hider(look: Look, listing: PathFact, name: str) -> str | None:
    names = {e.name for e in listing.entries or () if not e.dangling}
    index = next((i for i in _INDEXES if i in names and i != name), None)
    if index:
        return f"extensions/{index} hides every other file of the folder"
    return _manifest(look, name) or _ignored(look, name) or _filtered(look, name)


def _manifest(look: Look, name: str) -> str | None:
    content = look.content(look.artifact("extensions-manifest"))
    if content is None:
        return None
    try:
        manifest = json.loads(content)
    except ValueError:
        return None  # pi tolerates a manifest that does not parse
    section = manifest.get("pi") if isinstance(manifest, dict) else None
    listed = section.get("extensions") if isinstance(section, dict) else None
    if not isinstance(listed, list):
        return None
    paths = {posixpath.normpath(entry) for entry in listed if isinstance(entry, str)}
    if name in paths:
        return None
    return "extensions/package.json lists the extensions to load, and not this one"


def _ignored(look: Look, name: str) -> str | None:
    for artifact in _IGNORES:
        fact = look.artifact(artifact)
        content = look.content(fact)
        if fact is None or content is None:
            continue
        lines = content.decode(errors="replace").splitlines()
        if GitIgnoreSpec.from_lines(lines).match_file(name):
            return f"{posixpath.basename(fact.path)} ignores it"
    return None


def _filtered(look: Look, name: str) -> str | None:
    content = look.content(look.artifact("settings"))
    try:
        settings = json.loads(content or b"{}")
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
    return entry.startswith("!") and GitIgnoreSpec.from_lines([entry[1:]]).match_file(path)
