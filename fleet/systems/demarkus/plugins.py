"""The two packages: where each lies, and what its manifest says.

pi drops an entry of a manifest that leads nowhere without a word, and takes entries to the letter:
patterns are not expanded.
"""

import json
import posixpath
from collections.abc import Iterator

from fleet.dataclass import dataclass
from fleet.facts.paths import PathFact, State
from fleet.systems.pi.named import there
from fleet.verifier.code import is_script
from fleet.verifier.look import Look
from fleet.verifier.model import Judgement, failed, not_applicable, not_checked, passed
from fleet.verifier.paths import hidden, missing, way

PLUGINS = {"memory": "demarkus-pi-memory", "knowledge": "demarkus-pi-knowledge"}
NONE_DECLARED = "no package of demarkus is declared here"


@dataclass(frozen=True, slots=True)
class Plugin:
    """One of the packages on a target.

    Attributes:
        name: ``memory`` or ``knowledge``, the head of its artifacts' names.
        manifest: its ``package.json``.
    """

    name: str
    manifest: PathFact

    @property
    def package(self) -> str:
        """Return the package's own name."""
        return PLUGINS[self.name]

    @property
    def folder(self) -> str:
        """Return its folder, absolute on the target."""
        return posixpath.dirname(self.manifest.absolute)

    def scripts(self, look: Look) -> Iterator[PathFact]:
        """Yield its source files that an audit asks for, in the order of the description."""
        for name in look.resolved.artifacts:
            fact = look.artifact(name)
            if name.startswith(f"{self.name}-") and fact is not None and is_script(fact.path):
                yield fact

    def unasked(self, look: Look) -> list[str]:
        """Return the source files in its ``src`` that no audit asks for."""
        listing = look.artifact(f"{self.name}-src")
        asked = {fact.absolute for fact in self.scripts(look)}
        paths = (
            [
                posixpath.join(listing.absolute, entry.name)
                for entry in (listing.entries or ())
                if not entry.dangling
            ]
            if listing
            else []
        )
        return [path for path in paths if is_script(path) and path not in asked]


def plugins(look: Look) -> tuple[Plugin, ...]:
    """Return the packages that are declared here."""
    facts = ((name, look.artifact(f"{name}-manifest")) for name in PLUGINS)
    return tuple(Plugin(name, fact) for name, fact in facts if fact is not None)


def manifest(look: Look) -> Judgement:
    """Each package is there, and everything its manifest gives to pi exists."""
    found = plugins(look)
    if not found:
        return not_applicable(NONE_DECLARED)
    wrong: list[str] = []
    unseen: list[str] = []
    good: list[str] = []
    for plugin in found:
        blocked = hidden(plugin.manifest)
        if blocked:
            return blocked
        if missing(plugin.manifest):
            wrong.append(f"{plugin.package} is not there: {way(plugin.manifest)}")
            continue
        for line, seen in _entries(look, plugin, good):
            (wrong if seen else unseen).append(line)
    if wrong:
        return failed("pi does not get all of the package", *wrong, *unseen)
    if unseen:
        return not_checked(f"not everything could be seen: {unseen[0]}", *unseen)
    return passed("everything that the manifests give to pi is there", *good)


def _entries(look: Look, plugin: Plugin, good: list[str]) -> Iterator[tuple[str, bool]]:
    """Yield what is wrong with a manifest, or was not seen; add what holds to ``good``."""
    where = plugin.manifest.path
    content = look.content(plugin.manifest)
    if content is None:
        yield f"{where}: {plugin.manifest.why or 'its content was not read'}", False
        return
    section = _section(content)
    if section is None:
        yield f"{where}: it has no section `pi` that could be understood", True
        return
    for kind in ("extensions", "skills"):
        listed = section.get(kind)
        entries = listed if isinstance(listed, list) else []
        if not entries:
            yield f"{where}: pi.{kind} names nothing", True
        for entry in entries:
            if not isinstance(entry, str):
                yield f"{where}: an entry of pi.{kind} is no text", True
                continue
            place = posixpath.normpath(posixpath.join(plugin.folder, entry))
            found = there(look, place)
            if found is None:
                yield f"{where}: whether {entry} (pi.{kind}) is there was not looked at", False
            elif not found:
                yield f"{where}: {entry} (pi.{kind}) is not there", True
            else:
                good.append(f"{plugin.package}: {entry}")


def _section(content: bytes) -> dict[str, object] | None:
    try:
        parsed: object = json.loads(content)
    except (ValueError, RecursionError):
        return None
    section = parsed.get("pi") if isinstance(parsed, dict) else None
    return section if isinstance(section, dict) else None


def present(fact: PathFact | None) -> bool:
    """Tell whether something is there."""
    return fact is not None and fact.state is State.PRESENT
