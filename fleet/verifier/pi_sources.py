"""What ``packages`` and resource lists in pi's settings name, and where pi keeps it.

A source is ``npm:NAME[@VERSION]``, a git repository (``git:HOST/PATH[@REF]`` or a URL), or a path.
pi tells npm packages apart by their name, repositories by their address without the ref, and paths
by where they lead. From ``docs/packages.md`` of pi 1.6.0.
"""

import re
from collections.abc import Mapping
from typing import Literal

from fleet.dataclass import dataclass

_NPM = re.compile(r"(@?[^@]+)(?:@(.+))?")
_GIT = re.compile(
    r"(?:git:(?:[a-z+]+://)?|(?:https?|ssh|git)://)(?:[^@/]+@)?(?P<host>[A-Za-z0-9.-]+)(?::\d+)?"
    r"[:/](?P<path>[^@]+)(?:@(?P<ref>.+))?"
)


@dataclass(frozen=True, slots=True)
class Source:
    """One source of a package.

    Attributes:
        name: of an npm package; ``HOST/PATH`` of a repository; a path as it was written.
        version: what is asked for of it; empty for any.
    """

    kind: Literal["npm", "git", "path"]
    name: str
    version: str = ""

    def place(self, agent: str, home: str = "~") -> str:
        """Return the folder it lies in, where pi's agent folder is ``agent``."""
        if self.kind == "npm":
            return f"{agent}/npm/node_modules/{self.name}"
        if self.kind == "git":
            return f"{agent}/git/{self.name}"
        if self.name == "~" or self.name.startswith("~/"):
            return home + self.name[1:]
        return self.name if self.name.startswith("/") else f"{agent}/{self.name}"


def source_of(text: str) -> Source:
    """Understand a source as pi does; what is neither of npm nor of git is a path."""
    if text.startswith("npm:"):
        found = _NPM.fullmatch(text.removeprefix("npm:"))
        return Source("npm", found[1], found[2] or "") if found else Source("npm", text[4:])
    git = _GIT.fullmatch(text)
    if git and ("." in git["host"] or git["host"] == "localhost"):
        path = git["path"].strip("/").removesuffix(".git")
        return Source("git", f"{git['host']}/{path}", git["ref"] or "")
    return Source("path", text)


def sources(settings: Mapping[str, object], key: str) -> list[str]:
    """Return a list of sources: each is text, or an object that names one."""
    listed = settings.get(key)
    entries = listed if isinstance(listed, list) else []
    found = [e.get("source") if isinstance(e, dict) else e for e in entries]
    return [source for source in found if isinstance(source, str)]
