"""The toolkit's history, as plain data: which bytes belong to which commit.

Read once on the controller (no git runs on a target), so that deployed bytes can be named.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field


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
    """

    source: str
    blobs: Mapping[str, Mapping[str, Commit]] = field(default_factory=dict)
    trouble: str = ""

    def name(self, blob: str) -> tuple[str, Commit] | None:
        """Return the path and the newest commit that carry a blob, or None."""
        for path, versions in self.blobs.items():
            if blob in versions:
                return path, versions[blob]
        return None
