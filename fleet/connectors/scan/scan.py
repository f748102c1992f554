"""The search through an image's layers: told of every name, it reads few files and keeps none."""

import posixpath
from collections import Counter
from dataclasses import field

from fleet.connectors.deadline import Deadline
from fleet.connectors.scan.likely import Likely
from fleet.connectors.scan.rules import Hit, Rules
from fleet.connectors.scan.watch import Kind, Read, Size
from fleet.dataclass import dataclass
from fleet.facts.images import MOST_FOUND, ScanFact, SecretFact
from fleet.facts.request import Depth, ScanQuestion
from fleet.facts.walk import Unreadable, shown

MEBI = 1024 * 1024
ALL_LIMIT = 1 * MEBI
LIKELY_BYTES = 16 * MEBI
LIKELY_FILES = 4_000
LIKELY_SECONDS = 20.0
_BINARY_HEAD = 1024
#: Characters of the paths and of the folders above them that what was found is kept under.
_KEPT_CHARACTERS = 4 * MEBI
_NAMED_OTHERWISE = "a hard link to a file that was not read for its own name"


@dataclass(slots=True)
class _Found:
    """A file that holds secrets, and the layer that deletes it later."""

    path: str
    layer: int
    digest: str
    hits: list[Hit]
    gone: int | None = None


@dataclass(slots=True)
class _Count:
    files: int = 0
    read: int = 0
    bytes: int = 0
    skipped: Counter[str] = field(default_factory=Counter)


class LayerScan:
    """A :class:`fleet.connectors.scan.watch.Watch` that looks for secrets.

    What it costs is bounded: with :attr:`Depth.LIKELY` by files, bytes and time, with
    :attr:`Depth.ALL` by the size of each file and the time that the whole look may take. Of what
    it finds it keeps at most :data:`MOST_FOUND` secrets, and counts the others.
    """

    def __init__(self, question: ScanQuestion, nonce: str, deadline: Deadline) -> None:
        """Take what to look for.

        Args:
            question: how deep, and the secrets of the inventory.
            nonce: keys their digests.
            deadline: of the whole look at the image.
        """
        self.rules = Rules(question.secrets, nonce)
        self._all = question.depth is Depth.ALL
        self._depth = question.depth
        self._likely = Likely(question.paths)
        self._deadline = deadline if self._all else deadline.within(LIKELY_SECONDS)
        self._number = 0
        self._digest = ""
        self._unseen: dict[int, str] = {}
        self._count = _Count()
        self._cut = ""
        self._closed = 0
        self._found: list[_Found] = []
        self._kept = self._more = self._characters = 0
        self._under: dict[str, list[_Found]] = {}
        self._hidden: set[tuple[str, bool]] = (
            set()
        )  # in this layer; a name may come a million times

    def layer(self, digest: str) -> None:
        """Begin the next layer."""
        self._number += 1
        self._digest = digest
        self._hidden.clear()

    def unseen(self, digest: str, why: str) -> None:
        """Count a layer that cannot be looked into."""
        self.layer(digest)
        self._unseen[self._number] = why

    def closed(self) -> None:
        """Count a folder that may not be read."""
        self._closed += 1

    def stop(self, why: str) -> None:
        """Note that a source ends before all was told."""
        self._cut = self._cut or why

    def entry(self, path: str, kind: Kind, size: Size, read: Read) -> None:
        """Look into a file, where it is one to look into."""
        if path in self._under and self._first(path, opaque=kind == "directory"):
            self._covered(path, kind)
        if kind != "file":
            return
        self._count.files += 1
        limit = self._likely.limit(path)
        if (limit or self._all) and not self._cut:
            size = size() if callable(size) else size
            if size:
                self._look(path, size, read, limit)

    def hard_link(self, path: str, first: str) -> None:
        """Tell of what was found in a file under its other name too."""
        self.entry(path, "other", 0, _elsewhere)
        known = [each for each in self._under.get(first, ()) if each.path == shown(first)]
        for found in known[-1:]:
            self._keep(_Found(shown(path), self._number, self._digest, found.hits), path)
        limit = self._likely.limit(path)
        if limit and not (known or self._all or self._likely.limit(first)):
            self._count.skipped[_NAMED_OTHERWISE] += 1

    def whiteout(self, path: str, *, opaque: bool = False) -> None:
        """Note what a layer deletes of what was found in those below it."""
        if path in self._under and self._first(f"{path}/", opaque=opaque):
            for found in self._under[path]:
                if not opaque or found.path != path:
                    self._gone(found)

    def fact(self) -> ScanFact:
        """Return what was looked at and what was found."""
        return ScanFact(
            depth=self._depth.value,
            layers=self._number,
            unseen=self._unseen,
            files=self._count.files,
            read=self._count.read,
            bytes=self._count.bytes,
            skipped=dict(sorted(self._count.skipped.items())),
            cut=self._cut,
            closed=self._closed,
            secrets=self.rules.known,
            found=tuple(fact for each in self._found for fact in _told(each)),
            more=self._more,
        )

    def _first(self, path: str, *, opaque: bool) -> bool:
        """Tell whether a layer says this of a path for the first time."""
        mark = (path, opaque)
        if mark in self._hidden:
            return False
        self._hidden.add(mark)
        return True

    def _covered(self, path: str, kind: Kind) -> None:
        """A folder hides a file of its name; anything else hides all that lay there."""
        for found in self._under[path]:
            if kind != "directory" or found.path == path:
                self._gone(found)

    def _gone(self, found: _Found) -> None:
        if found.gone is None and found.layer < self._number:
            found.gone = self._number

    def _look(self, path: str, size: int, read: Read, limit: int) -> None:
        most = ALL_LIMIT if self._all else limit
        if size > most:
            self._count.skipped[f"larger than {most // 1024} KiB"] += 1
            return
        self._cut = self._spent()
        if self._cut:
            return
        try:
            content = read(most)
        except Unreadable as error:
            self._count.skipped[error.why] += 1
            return
        self._count.read += 1
        self._count.bytes += len(content)
        if b"\0" in content[:_BINARY_HEAD] and not limit:
            hits = self.rules.known_in(content)
        else:
            hits = self.rules.in_file(path, content, likely=bool(limit))
        if hits:
            self._keep(_Found(shown(path), self._number, self._digest, hits), path)

    @property
    def late(self) -> str:
        """How much time has passed, where none is left; else empty."""
        return f"{self._deadline.seconds:g} s had passed" if self._deadline.passed else ""

    def _spent(self) -> str:
        if self.late:
            return self.late
        if self._all:
            return ""
        if self._count.read >= LIKELY_FILES:
            return f"{LIKELY_FILES} files were read"
        if self._count.bytes >= LIKELY_BYTES:
            return f"{LIKELY_BYTES // MEBI} MiB were read"
        return ""

    def _keep(self, found: _Found, path: str) -> None:
        """Remember what was found; past the bound, only how much it was."""
        hits = found.hits[: MOST_FOUND - self._kept]
        # A path may have thousands of folders above it, and each is remembered.
        cost = len(path) * (path.count("/") + 1)
        if self._found and self._characters + cost > _KEPT_CHARACTERS:
            hits = []
        self._more += len(found.hits) - len(hits)
        if not hits:
            return
        self._kept += len(hits)
        self._characters += cost
        found.hits = hits
        self._found.append(found)
        while True:
            self._under.setdefault(path, []).append(found)
            if path in ("/", ""):
                return
            path = posixpath.dirname(path)


def _elsewhere(_limit: int) -> bytes:
    raise Unreadable("", "a hard link")


def _told(found: _Found) -> list[SecretFact]:
    return [
        SecretFact(
            place=found.path,
            key=hit.key,
            rule=hit.rule,
            layer=found.layer or None,
            digest=found.digest,
            gone=found.gone,
        )
        for hit in found.hits
    ]
