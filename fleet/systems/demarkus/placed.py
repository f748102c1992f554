"""Whether pi loads the packages: that they lie somewhere is not enough."""

import json
import posixpath
from collections.abc import Iterator, Mapping

from fleet.facts.paths import PathFact
from fleet.systems.demarkus.plugins import NONE_DECLARED, Plugin, plugins
from fleet.verifier.launches import Unseen
from fleet.verifier.look import Look
from fleet.verifier.model import Judgement, failed, not_applicable, not_checked, passed
from fleet.verifier.pi_loading import hider_of, unread_hiders
from fleet.verifier.pi_sources import Source, source_of


def placed(look: Look) -> Judgement:
    """The settings of pi name each package, or a link in the extensions folder leads to it."""
    found = plugins(look)
    if not found:
        return not_applicable(NONE_DECLARED)
    good: list[str] = []
    told = [line for plugin in found for line in _unloaded(look, plugin, good)]
    wrong = [line for line in told if not isinstance(line, Unseen)]
    if wrong:
        return failed("pi does not load it", *wrong)
    if told:
        return not_checked(f"not everything could be seen: {told[0]}", *told)
    return passed("pi loads the packages", *good)


def _unloaded(look: Look, plugin: Plugin, good: list[str]) -> Iterator[str]:
    entry = _linked(look, plugin)
    if entry:
        listing = look.artifact("extensions")
        hider = hider_of(look, listing, f"{entry}/package.json") if listing else None
        if hider:
            yield f"{plugin.package}: {hider}"
        else:
            good.append(f"{plugin.package}: the link extensions/{entry}")
            yield from map(Unseen, unread_hiders(look))
        return
    settings = look.artifact("settings")
    named, trouble = _listed(look, settings)
    if trouble:
        yield Unseen(trouble)
        return
    for source, options in named:
        if _is(look, source, plugin, settings):
            yield from _filtered(plugin, options)
            good.append(f"{plugin.package}: {source.kind} in settings.json")
            return
    yield f"{plugin.package}: settings.json does not name it, and no link leads to it"


def _linked(look: Look, plugin: Plugin) -> str:
    """Return the entry of the extensions folder that leads to a package; empty for none."""
    listing = look.artifact("extensions")
    if listing is None:
        return ""
    ends = _ends(plugin)
    for entry in listing.entries or ():
        if entry.target is None or entry.dangling:
            continue
        base = listing.final or listing.absolute
        if posixpath.normpath(posixpath.join(base, entry.target)) in ends:
            return entry.name
    return ""


def _ends(plugin: Plugin) -> set[str]:
    """Return the folders that are the package: as declared, and where that finally leads."""
    final = plugin.manifest.final
    return {plugin.folder, posixpath.dirname(final)} if final else {plugin.folder}


def _listed(
    look: Look, settings: PathFact | None
) -> tuple[list[tuple[Source, Mapping[str, object]]], str]:
    """Return the packages that pi's settings name, each with its options; or why not."""
    content = look.content(settings)
    if settings is None or content is None:
        if settings is None or settings.final is None:
            return [], settings.why or "" if settings and settings.why else ""
        return [], f"{settings.path}: {settings.why or 'its content was not read'}"
    try:
        parsed: object = json.loads(content)
    except (ValueError, RecursionError):
        return [], ""  # pi ignores settings that do not parse
    packages = parsed.get("packages") if isinstance(parsed, dict) else None
    found: list[tuple[Source, Mapping[str, object]]] = []
    for entry in packages if isinstance(packages, list) else ():
        options: Mapping[str, object] = entry if isinstance(entry, dict) else {}
        text = options.get("source", entry)
        if isinstance(text, str):
            found.append((source_of(text), options))
    return found, ""


def _is(look: Look, source: Source, plugin: Plugin, settings: PathFact | None) -> bool:
    agent = posixpath.dirname(settings.absolute) if settings else ""
    place = posixpath.normpath(source.place(agent, look.facts.platform.home))
    return place in _ends(plugin)


def _filtered(plugin: Plugin, options: Mapping[str, object]) -> Iterator[str]:
    """Tell of options that keep pi from loading the gate."""
    if options.get("autoload") is False or options.get("extensions") == []:
        yield f"{plugin.package}: settings.json turns its extensions off"
    elif options.get("extensions") is not None:
        yield Unseen(f"{plugin.package}: which of its extensions settings.json lets pass")
