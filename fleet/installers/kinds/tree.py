"""Folders pushed from the controller, file by file; what else lies in them stays."""

import posixpath
from collections.abc import Iterable, Iterator

from fleet.facts.request import PathQuestion
from fleet.installers.decision import Decision
from fleet.installers.items import Item, TreeBody
from fleet.installers.kinds.placed import Placed, place_file, place_link, questions
from fleet.installers.model import Content, Step
from fleet.installers.site import Site

SHOWN = 5


class TreeKind:
    """Brings a folder's files; each has its own entry in the ledger."""

    def questions(self, item: Item) -> Iterable[PathQuestion]:
        """Ask for every file."""
        for file in _body(item).files:
            yield from questions(posixpath.join(item.path, file.path), whole=bool(file.becomes))

    def decide(self, item: Item, site: Site) -> Decision:
        """Write the files that are missing or differ."""
        placed = list(_placed(item, site))
        conflicts = tuple(p.conflict for p in placed if p.conflict)
        if conflicts:
            return Decision(conflicts=conflicts)
        site.provided.add(site.absolute(item.path))
        changed = [p for p in placed if p.actions]
        entries = tuple(p.entry for p in placed if p.entry)
        if not changed:
            return Decision(entries=entries)
        new = all(p.new for p in placed)
        shown = site.shown(site.absolute(item.path))
        count = f"{len(changed)} of {len(placed)} files"
        step = Step(
            key=item.key,
            change="create" if new else "change",
            summary=f"{'create' if new else 'change'} {shown}: {count}",
            actions=tuple(action for p in changed for action in p.actions),
            diff="".join(p.diff for p in changed[:SHOWN]) + _more(len(changed) - SHOWN),
            notes=tuple(dict.fromkeys(note for p in changed for note in p.notes)),
        )
        return Decision(steps=(step,), entries=entries)


def _body(item: Item) -> TreeBody:
    if not isinstance(item.body, TreeBody):
        raise TypeError(f"{item.key} is no tree")
    return item.body


def _placed(item: Item, site: Site) -> Iterator[Placed]:
    for file in _body(item).files:
        path = posixpath.join(item.path, file.path)
        if file.link is not None:
            yield place_link(item, site, path, file.link)
        else:
            content = Content(data=file.data)
            yield place_file(item, site, path, content, file.mode, becomes=file.becomes)


def _more(count: int) -> str:
    return f"… and {count} more files\n" if count > 0 else ""
