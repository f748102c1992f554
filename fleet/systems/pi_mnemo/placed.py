"""Where pi-mnemo lies, whether once, and whether pi would load it from there."""

import json
import posixpath
from collections.abc import Iterator

from fleet.dataclass import dataclass
from fleet.facts.paths import PathFact, State
from fleet.systems.model import Link
from fleet.verifier.look import Look
from fleet.verifier.model import (
    Judgement,
    Verdict,
    failed,
    follows_from,
    not_checked,
    passed,
)
from fleet.verifier.paths import hidden, hops, missing, way
from fleet.verifier.pi_loading import hider_of, unread_hiders
from fleet.verifier.pi_sources import source_of

WAYS = ("npm", "git", "link")
_LINKED = "pi-mnemo"


@dataclass(frozen=True, slots=True)
class Manifest:
    """What the ``package.json`` of a copy says.

    Attributes:
        version: empty where it tells none.
        extensions: the files that pi is to load, relative and plain.
    """

    version: str
    extensions: tuple[str, ...]


def placed(look: Look) -> Judgement:
    """It lies where it is declared, nowhere else, and what its manifest names is there."""
    declared = look.text("mnemo_install")
    if declared not in WAYS:
        return failed(
            f"mnemo_install is {declared!r}, none of {', '.join(WAYS)}",
            remedy="say in the inventory how it comes",
        )
    fact = look.artifact("package")
    if fact is None:
        return not_checked("where it lies was not asked")
    found = _loaded(look)
    nowhere = missing(fact)
    if nowhere and nowhere.verdict is not Verdict.FAIL:
        return nowhere
    if nowhere:
        others = [_named(look, way) for way in WAYS if way in found]
        return failed(nowhere.message, *nowhere.evidence, *others)
    unread = [line for way in WAYS if way != declared for line in _unread(look, way)]
    wrong = [*_place(look, fact), *_manifest(look, declared, fact), *_unlisted(look, declared)]
    twice = [_named(look, way) for way in WAYS if way in found and way != declared]
    if twice:
        wrong.append("it is there more than once, and pi loads each copy")
    if wrong:
        return failed(wrong[0], way(fact), *wrong[1:], *twice)
    unread += _unseen(look, declared, fact)
    if unread:
        return not_checked(f"not everything could be seen: {unread[0]}", *unread)
    manifest = manifest_of(look, declared)
    version = f" {manifest.version}" if manifest and manifest.version else ""
    return passed(f"pi-mnemo{version}, by {declared}", way(fact), *hops(fact))


def manifest_of(look: Look, how: str) -> Manifest | None:
    """Return the manifest of the copy that came in one way; None where none can be read."""
    content = look.content(look.artifact(f"{how}-manifest"))
    try:
        document = json.loads(content or b"")
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict):
        return None
    section = document.get("pi")
    listed = section.get("extensions") if isinstance(section, dict) else None
    entries = [e for e in listed if isinstance(e, str)] if isinstance(listed, list) else []
    version = document.get("version")
    return Manifest(
        version if isinstance(version, str) else "", tuple(map(posixpath.normpath, entries))
    )


def _loaded(look: Look) -> set[str]:
    """Return the ways in which pi gets a copy: one that the settings do not name is not loaded."""
    return {
        way
        for way in WAYS
        if (fact := look.artifact(f"{way}-manifest")) and fact.state is State.PRESENT
        if way == "link" or _listed(look, way)
    }


def _named(look: Look, how: str) -> str:
    fact = look.artifact(f"{how}-manifest")
    return f"by {how}: {posixpath.dirname(fact.path) if fact else '?'}"


def _unread(look: Look, how: str) -> list[str]:
    fact = look.artifact(f"{how}-manifest")
    states = (State.UNREADABLE, State.UNSUPPORTED)
    return [f"{fact.path}: {fact.why or fact.state}"] if fact and fact.state in states else []


def _place(look: Look, fact: PathFact) -> Iterator[str]:
    """Yield what is wrong with the folder itself, and with where a link leads."""
    if fact.kind != "directory":
        yield f"is a {fact.kind}, not a folder"
    link = look.resolved.artifacts.get("link")
    if not isinstance(link, Link) or not link.source:
        return
    source = look.path(link.source)
    wanted = source.final or source.absolute
    if source.state is State.PRESENT and fact.final != wanted:
        told = "leads to another place" if fact.hops else "is a folder of its own, not a link"
        yield f"{told}: it should lead to {wanted}"


def _manifest(look: Look, how: str, folder: PathFact) -> Iterator[str]:
    fact = look.artifact(f"{how}-manifest")
    if fact is None or (fact.state is State.PRESENT and look.content(fact) is None):
        return
    if hidden(fact):
        return
    manifest = manifest_of(look, how)
    if fact.state is not State.PRESENT or manifest is None:
        yield f"{fact.path} is {fact.state if fact.state is not State.PRESENT else 'no manifest'}"
        return
    if not manifest.extensions:
        yield f"{fact.path} names no extension (pi.extensions): pi loads nothing of it"
    names = None if folder.entries is None else {e.name for e in folder.entries if not e.dangling}
    for entry in manifest.extensions:
        if names is not None and entry.partition("/")[0] not in names:
            yield f"{fact.path} names {entry}, which is not there: pi drops it in silence"
    wanted = look.text("mnemo_version")
    if how != "git" and wanted and manifest.version != wanted:
        yield f"it is {manifest.version or 'of no version'}, {wanted} is declared"


def _unlisted(look: Look, how: str) -> Iterator[str]:
    if how == "link":
        return
    fact = look.artifact("settings")
    if fact is None or hidden(fact) or (fact.state is State.PRESENT and look.content(fact) is None):
        return
    if not _listed(look, how):
        yield f"{fact.path} does not name it among its packages: pi does not load it"


def _unseen(look: Look, how: str, folder: PathFact) -> Iterator[str]:
    for name in (f"{how}-manifest", *(["settings"] if how != "link" else [])):
        fact = look.artifact(name)
        if fact is None or (fact.state is not State.ABSENT and look.content(fact) is None):
            yield f"{fact.path}: {fact.why or 'its content was not read'}" if fact else name
    if folder.entries is None:
        yield f"{folder.path}: {folder.why or 'it was not listed'}"
    link = look.resolved.artifacts.get("link")
    if how == "link" and not (isinstance(link, Link) and link.source):
        return
    if isinstance(link, Link):
        source = look.path(link.source)
        if hidden(source):
            yield f"{source.path}: {source.why or source.state}"


def _listed(look: Look, how: str) -> object:
    """Return the entry of the settings that names the package; None where none does."""
    name = look.text("mnemo_package" if how == "npm" else "mnemo_git")
    for entry in _packages(look):
        text = entry.get("source") if isinstance(entry, dict) else entry
        source = source_of(text) if isinstance(text, str) else None
        if source and (source.kind, source.name) == (how, name):
            return entry
    return None


def _packages(look: Look) -> list[object]:
    """Return the packages of pi's settings; pi ignores settings that do not parse."""
    try:
        document = json.loads(look.content(look.artifact("settings")) or b"{}")
    except (ValueError, RecursionError):
        return []
    listed = document.get("packages") if isinstance(document, dict) else None
    return listed if isinstance(listed, list) else []


def seen(look: Look) -> Judgement:
    """Pi would load the files that its manifest names."""
    how = look.text("mnemo_install")
    manifest = manifest_of(look, how) if how in WAYS else None
    if manifest is None or not manifest.extensions:
        return follows_from("mnemo.placed")
    return _linked(look, manifest) if how == "link" else _narrowed(look, how, manifest)


def _linked(look: Look, manifest: Manifest) -> Judgement:
    listing = look.artifact("extensions")
    if listing is None or listing.entries is None:
        why = (listing.why,) if listing and listing.why else ()
        return not_checked("the extensions folder could not be listed", *why)
    files = [f"{_LINKED}/{entry}" for entry in manifest.extensions]
    hiders = [hider for file in files if (hider := hider_of(look, listing, file))]
    if hiders:
        return failed(hiders[0], *files)
    unread = unread_hiders(look)
    if unread:
        return not_checked("what may hide it could not be read", *unread)
    return passed("pi would load it", *files)


def _narrowed(look: Look, how: str, manifest: Manifest) -> Judgement:
    """An entry of the settings may take a part of a package only."""
    entry = _listed(look, how)
    if entry is None:
        return follows_from("mnemo.placed")
    filters = entry.get("extensions") if isinstance(entry, dict) else None
    if filters is None:
        return passed("pi would load it", *manifest.extensions)
    if filters == []:
        return failed("settings.json takes no extension of the package", '"extensions": []')
    texts = [text for text in filters if isinstance(text, str)] if isinstance(filters, list) else []
    for text in texts:
        if text[:1] in "-!" and posixpath.normpath(text[1:]) in manifest.extensions:
            return failed("settings.json turns it off", text)
    plain = [text for text in texts if text[:1] not in "-!+"]
    if plain and {posixpath.normpath(text) for text in plain} >= set(manifest.extensions):
        return passed("pi would load it", *manifest.extensions)
    if not plain and all(text[:1] in "+-" for text in texts):
        return passed("pi would load it", *manifest.extensions)
    return not_checked("what the filters in settings.json leave of it was not worked out", *texts)
