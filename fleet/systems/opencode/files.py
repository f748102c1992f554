"""opencode's files of configuration, in the order in which it lays one over the other.

The order is what opencode 1.18 does: objects are merged member by member, of all else the later
file wins. What stands in the environment itself (``OPENCODE_CONFIG_CONTENT``) goes over them all.
"""

from collections.abc import Mapping
from dataclasses import field

from fleet.dataclass import dataclass
from fleet.facts.paths import PathFact
from fleet.verifier.json_files import json_files
from fleet.verifier.look import Look

ORDER = (
    "config",
    "global",
    "global-jsonc",
    "named",
    "project",
    "project-jsonc",
    "project-folder",
    "project-folder-jsonc",
    "home-folder",
    "home-folder-jsonc",
    "named-folder",
    "named-folder-jsonc",
)
OF_PROJECT = frozenset(name for name in ORDER if name.startswith("project"))


@dataclass(frozen=True, slots=True)
class File:
    """One file that is there and could be understood.

    Attributes:
        name: of the artifact.
        servers: what stands under ``mcp``; values that may hold a secret are masked.
    """

    name: str
    fact: PathFact
    document: Mapping[str, object]
    servers: Mapping[str, object]

    @property
    def path(self) -> str:
        """Return the path as it is shown."""
        return self.fact.path


@dataclass(slots=True)
class Configuration:
    """All of them.

    Attributes:
        broken: lines about files that opencode cannot parse, and so does not start.
        unread: lines about files that are there and were not seen.
    """

    files: list[File] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)

    def entry(self, name: str) -> dict[str, object]:
        """Return a server as opencode sees it once every file is laid over the one before."""
        merged: dict[str, object] = {}
        for file in self.naming(name):
            held = file.servers[name]
            merged = _laid_over(merged, held) if isinstance(held, Mapping) else {}
        return merged

    def naming(self, name: str) -> list[File]:
        """Return the files that say something about a server, in their order."""
        return [file for file in self.files if name in file.servers]

    def names(self) -> list[str]:
        """Return every server that is named anywhere."""
        return list(dict.fromkeys(name for file in self.files for name in file.servers))

    def deciding(self, name: str, key: str) -> str:
        """Return the path of the last file that says something about a key of a server."""
        for file in reversed(self.naming(name)):
            held = file.servers[name]
            if isinstance(held, Mapping) and key in held:
                return file.path
        return ""


def configuration(look: Look) -> Configuration:
    """Read every file that opencode would read on this target."""
    found = Configuration()
    for file in json_files(look, ORDER, comments=True):
        path = file.fact.path
        servers = (file.document or {}).get("mcp", {})
        if file.unread:
            found.unread.append(f"{path}: {file.unread}")
        elif file.document is None:
            found.broken.append(f"{path} is no JSON, even with comments: {file.broken}")
        elif not isinstance(servers, dict):
            found.broken.append(f"{path}: `mcp` is no object")
        else:
            found.files.append(File(file.name, file.fact, file.document, servers))
    return found


def _laid_over(held: Mapping[str, object], fields: Mapping[str, object]) -> dict[str, object]:
    merged = dict(held)
    for name, new in fields.items():
        old = merged.get(name)
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            merged[name] = _laid_over(old, new)
        else:
            merged[name] = new
    return merged
