"""Templates and copies: one file, written whole."""

from collections.abc import Iterable
from dataclasses import replace

from fleet.facts.paths import State
from fleet.facts.request import PathQuestion
from fleet.installers.decision import Decision
from fleet.installers.items import FileBody, Item
from fleet.installers.kinds.placed import place_file, questions
from fleet.installers.ledger import ONCE
from fleet.installers.site import Site


class FileKind:
    """Brings one file."""

    def questions(self, item: Item) -> Iterable[PathQuestion]:
        """Ask for the file; its bytes only where it can hold no secret, for the diff."""
        kept = item.env or item.certificates or _body(item).content.sealed
        return questions(item.path, env=item.env, whole=not kept)

    def decide(self, item: Item, site: Site) -> Decision:
        """Write the file where it is missing or differs."""
        body = _body(item)
        if body.once:
            return _once(item, site, body)
        return place_file(item, site, item.path, body.content, body.mode).decision(item, site)


def _once(item: Item, site: Site, body: FileBody) -> Decision:
    """Write the file where nothing lies; the ledger notes that what becomes of it is nobody's."""
    path = site.absolute(item.path)
    entry, fact = site.entry(item.key, "file", path), site.seen(path)
    if fact is not None and fact.state is State.PRESENT:
        return Decision(entries=(entry,) if entry else ())
    placed = place_file(item, site, item.path, body.content, body.mode)
    if placed.entry:
        made = placed.entry.model_copy(update={"about": {ONCE: "yes"}})
        placed = replace(placed, entry=made)
    return placed.decision(item, site)


def _body(item: Item) -> FileBody:
    if not isinstance(item.body, FileBody):
        raise TypeError(f"{item.key} is no file")
    return item.body
