"""The toolkit's history, as plain data: which bytes belong to which commit.

Read once on the controller (no git runs on a target), so that deployed bytes can be named.
"""

from collections.abc import Mapping
from dataclasses import field

from fleet.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit of the toolkit; ``behind`` counts the commits after it, 0 is the newest."""

    id: str
    date: str
    behind: int

    @property
    def short(self) -> str:
        """Return the first seven characters of the id."""
        return self.id[:7]

    def __str__(self) -> str:
        return f"toolkit {self.short} of {self.date}"


@dataclass(frozen=True, slots=True)
class Toolkit:
    """A toolkit clone's history.

    Attributes:
        source: the clone's folder, for messages.
        blobs: for each path in the toolkit, the newest commit that carries each git blob id.
        trouble: why there is no history (not a clone, git refused), empty when there is one.
        commits: all of them, newest first.
        changes: for each path, which commit (by place in ``commits``) brought which blob, newest
            first; an empty blob where it was removed.
    """

    source: str
    blobs: Mapping[str, Mapping[str, Commit]] = field(default_factory=dict)
    trouble: str = ""
    commits: tuple[Commit, ...] = ()
    changes: Mapping[str, tuple[tuple[int, str], ...]] = field(default_factory=dict)
    _named: dict[str, tuple[str, Commit] | None] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def commit(self, prefix: str) -> Commit | None:
        """Return the one commit whose id begins with a prefix, or None."""
        found = [c for c in self.commits if c.id.startswith(prefix.lower())]
        return found[0] if len(found) == 1 else None

    def blob_at(self, path: str, commit: Commit) -> str:
        """Return the blob that a path had at a commit, empty where there was none."""
        changes = self.changes.get(path, ())
        return next((blob for index, blob in changes if index >= commit.behind), "")

    def name(self, blob: str) -> tuple[str, Commit] | None:
        """Return the path and the newest commit that carry a blob, or None."""
        if blob not in self._named:
            self._named[blob] = self._name(blob)
        return self._named[blob]

    def _name(self, blob: str) -> tuple[str, Commit] | None:
        for path, versions in self.blobs.items():
            if blob in versions:
                return path, versions[blob]
        return None
