"""Units of systemd and launchd: written, enabled and started; restarted when something changed."""

import posixpath
import re
from collections.abc import Iterable

from fleet.facts.request import PathQuestion, Read
from fleet.installers.decision import Decision
from fleet.installers.items import Item, ServiceBody
from fleet.installers.kinds.placed import place_file
from fleet.installers.ledger import Entry
from fleet.installers.model import Action, Run, Step
from fleet.installers.site import Site

SECONDS = 120
MODE = 0o644
LINK = "link-"

_WANTED = re.compile(r"^(WantedBy|RequiredBy)\s*=\s*(.+)$", re.MULTILINE)
_SUFFIX = {"WantedBy": "wants", "RequiredBy": "requires"}


class ServiceKind:
    """Keeps one unit running."""

    def questions(self, item: Item) -> Iterable[PathQuestion]:
        """Ask for the unit, and for the folders that enabling it makes."""
        yield PathQuestion(item.path, Read.WHOLE)
        for folder in _enabling(item):
            yield PathQuestion(folder)

    def decide(self, item: Item, site: Site) -> Decision:
        """Write the unit and start it; restart it where it, or a file it names, changed."""
        body = _body(item)
        placed = place_file(item, site, item.path, body.content, MODE)
        if placed.conflict:
            return Decision(conflicts=(placed.conflict,))
        entries = (placed.entry,) if placed.entry else ()
        service = site.entry(item.key, "service")
        changed = _changed(body, site)
        if not placed.actions and (service is None or not changed):
            return Decision(entries=(*entries, service) if service else entries)
        path = site.absolute(item.path)

        def do(action: str) -> tuple[str, ...]:
            return words(body.manager, action, body.unit, path)

        fresh = service is None
        before: tuple[Action, ...] = (
            Run(undo=do("reload") if fresh else do("start"), seconds=SECONDS),
        )
        run = Run(words=do("start"), undo=do("stop") if fresh else (), seconds=SECONDS)
        made = Entry(
            path=path,
            kind="service",
            system=item.system,
            artifact=item.artifact,
            about={"manager": body.manager, "unit": body.unit, **_links(item, site)},
            when=site.facts.taken_at,
        )
        step = Step(
            key=item.key,
            change="create" if fresh else "change",
            summary=f"{'start' if fresh else 'restart'} the service {body.unit}"
            + (f": {site.shown(changed)} changed" if changed and not placed.actions else ""),
            actions=(*before, *placed.actions, run),
            diff=placed.diff,
            notes=placed.notes,
        )
        for folder in _enabling(item):
            fact = site.seen(folder)
            if fact is not None and fact.state == "absent":
                site.folders[site.absolute(folder)] = None
        return Decision(steps=(step,), entries=(*entries, made))


def _body(item: Item) -> ServiceBody:
    if not isinstance(item.body, ServiceBody):
        raise TypeError(f"{item.key} is no service")
    return item.body


def words(manager: str, action: str, unit: str, path: str) -> tuple[str, ...]:
    """Return the call of the apply program that does something to a unit."""
    return ("service", manager, action, unit, path)


def _enabling(item: Item) -> tuple[str, ...]:
    """Return the folders in which enabling the unit makes a link."""
    body = _body(item)
    if body.manager == "launchd":
        return ()
    text = body.content.data.decode()
    return tuple(
        posixpath.join(posixpath.dirname(item.path), f"{target}.{_SUFFIX[kind]}")
        for kind, targets in _WANTED.findall(text)
        for target in targets.split()
    )


def _links(item: Item, site: Site) -> dict[str, str]:
    """Return where enabling the unit makes its links, for the ledger."""
    folders = enumerate(_enabling(item))
    return {f"{LINK}{n}": f"{site.absolute(folder)}/{_body(item).unit}" for n, folder in folders}


def links(entry: Entry) -> tuple[str, ...]:
    """Return the links that enabling a unit made."""
    return tuple(path for name, path in entry.about.items() if name.startswith(LINK))


def _changed(body: ServiceBody, site: Site) -> str:
    """Return a path the unit names and this plan changes; empty for none."""
    text = body.content.data.decode()
    home = site.home.rstrip("/")
    for path in sorted(site.touched):
        if path in text or (path.startswith(f"{home}/") and f"%h{path[len(home) :]}" in text):
            return path
    return ""
