"""What one kind of installer decides about one item, and the rules all of them share."""

import hashlib
import json
import posixpath
from collections.abc import Iterable
from enum import Enum, auto
from typing import Protocol

from fleet.dataclass import dataclass
from fleet.facts.paths import PathFact
from fleet.facts.paths import State as Seen
from fleet.facts.request import PathQuestion
from fleet.installers.items import Item
from fleet.installers.jsonc_anew import digest as digest_of
from fleet.installers.ledger import BECOMES, Entry
from fleet.installers.model import Conflict, State, Step
from fleet.installers.site import Site, state_of, trail


@dataclass(frozen=True, slots=True)
class Decision:
    """What becomes of one item.

    Attributes:
        entries: what the ledger is to say of it, in place of entries of the same place.
        notes: what the reader should know although nothing changes.
    """

    steps: tuple[Step, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    entries: tuple[Entry, ...] = ()
    notes: tuple[str, ...] = ()


class Kind(Protocol):
    """One kind of installer: a pure pair of questions and decision."""

    def questions(self, item: Item) -> Iterable[PathQuestion]:
        """Return what must be seen to decide."""
        ...

    def decide(self, item: Item, site: Site) -> Decision:
        """Decide what to do, from what was seen."""
        ...


class Standing(Enum):
    """What lies at a path, as far as bringing something there is concerned."""

    FREE = auto()  # nothing is there
    SAME = auto()  # what is wanted is there
    OURS = auto()  # something fleet put there, as it was put
    EDITED = auto()  # something fleet put there, edited since
    FOREIGN = auto()
    FOLDER = auto()
    UNSEEN = auto()


def standing(site: Site, path: str, entry: Entry | None, *, same: bool) -> Standing:
    """Tell what lies at a path. ``entry`` is what the ledger says of it, None for nothing."""
    fact = site.seen(path)
    state = None if fact is None else state_of(fact)
    if fact is None or state is None or fact.blocked:
        return Standing.UNSEEN
    if state == "-":
        return Standing.FREE
    if same:
        return Standing.SAME
    if state == "d":
        return Standing.FOLDER
    if entry is None:
        return Standing.FOREIGN
    return Standing.OURS if unedited(site, entry, fact) else Standing.EDITED


def unedited(site: Site, entry: Entry, fact: PathFact) -> bool:
    """Tell whether what lies there is what was put there, or what its program made of that."""
    return as_put(entry, fact) or became(site, fact, entry.about.get(BECOMES, ""))


def became(site: Site, fact: PathFact, digest: str) -> bool:
    """Tell whether a file holds the JSON of a digest, however it is laid out."""
    if not digest or fact.link or fact.kind != "file":
        return False
    try:
        return digest_of(json.loads(site.content(fact) or b"")) == digest
    except (ValueError, RecursionError):
        return False


def as_put(entry: Entry, fact: PathFact) -> bool:
    """Tell whether what lies there is, byte by byte, what the ledger says was put there."""
    if entry.kind == "link":
        return fact.link and trail(fact).text == entry.text
    if fact.link or fact.kind != "file":
        return False
    if entry.sha256:
        return fact.sha256 == entry.sha256
    return entry.mtime is not None and (fact.mtime, fact.size) == (entry.mtime, entry.size)


def in_the_way(
    item: Item, site: Site, path: str, found: Standing, entry: Entry | None = None
) -> Conflict | None:
    """Say why a path must be left alone; None where it may be written."""
    fact, shown = site.seen(path), site.shown(path)
    if found is Standing.UNSEEN:
        what, hint = unseen(site, fact)
        return Conflict(key=item.key, path=path, what=f"{shown} {what}", hint=hint)
    if found is Standing.FOLDER:
        return Conflict(
            key=item.key,
            path=path,
            what=f"{shown} is a folder",
            hint="move it away; a folder is never replaced",
        )
    if found not in (Standing.FOREIGN, Standing.EDITED) or fact is None or site.adopt:
        return None
    what = "was edited since fleet wrote it"
    if found is Standing.FOREIGN:
        what = f"is {described(fact)} that fleet did not put there"
    kept = posixpath.basename(backup_path(path, state_of(fact), entry))
    return Conflict(
        key=item.key,
        path=path,
        what=f"{shown} {what}",
        hint=f"move it away, or use --adopt: it is kept beside as {kept}, "
        "and uninstall puts it back",
        adoptable=True,
    )


READABLE = "make it readable, or declare `become` in the inventory"
LOOK_AGAIN = "then plan again"


def unseen(site: Site, fact: PathFact | None) -> tuple[str, str]:
    """Say what keeps a path from being seen, and what to do about it."""
    if fact is None:
        return "was not looked at", READABLE
    at = site.shown(fact.at or fact.absolute)
    if fact.blocked:
        what, hint = blocked(site, fact)
        return f"cannot be put there: {what}", hint
    if fact.state is Seen.DANGLING:
        return (
            f"leads through a link to nothing ({at} does not exist)",
            f"make the folder {at}, or take the link away, {LOOK_AGAIN}",
        )
    if fact.state is Seen.LOOP:
        return (
            f"leads through a link loop ({at})",
            f"take the link {at} away, or let it lead to a folder, {LOOK_AGAIN}",
        )
    return f"cannot be seen: {fact.why or fact.state}", READABLE


def blocked(site: Site, fact: PathFact) -> tuple[str, str]:
    """Say what stands where a folder must be for a path to be there, and what to do about it."""
    at = site.shown(fact.at or fact.absolute)
    told = f"{at} is not a folder"
    if fact.state is Seen.DANGLING and fact.hops:
        at = site.shown(fact.hops[-1].path)
        told = f"{at} leads to {site.shown(fact.at or '')}, which is not a folder"
    return told, f"move {at} away, or declare another path in the inventory, {LOOK_AGAIN}"


def described(fact: PathFact) -> str:
    """Say what lies at a path."""
    if fact.link:
        dead = {Seen.DANGLING: ", which does not exist", Seen.LOOP: ", a loop"}.get(fact.state, "")
        return f"a link to {trail(fact).text}{dead}"
    return {"file": "a regular file", "directory": "a folder"}.get(
        fact.kind or "", "a special file"
    )


def backup_path(path: str, state: State | None, entry: Entry | None) -> str:
    """Return where what lies at a path is kept when it is adopted.

    The same content has one name, until something is kept for the path already: the same edit may
    come back, and a name that is taken would stop it from being adopted again.
    """
    again = entry.when.isoformat() if entry and entry.backup else ""
    digest = hashlib.sha256(f"{state or ''}{again}".encode()).hexdigest()
    return f"{path}.before-fleet-{digest[:8]}"


def where_written(site: Site, path: str) -> tuple[str, ...]:
    """Say where a path really leads, when a folder on the way is a link."""
    fact = site.seen(path)
    if fact is None:
        return ()
    asked = site.absolute(path).rpartition("/")[0] or "/"
    real = trail(fact).parent
    if real == asked or trail(fact).missing:
        return ()
    return (f"{site.shown(asked)} leads to {site.shown(real)}: it is written in there",)
