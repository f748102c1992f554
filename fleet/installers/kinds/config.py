"""Configurations: their program checks them beside the good one, and loads them when they hold.

What its program refuses never lies where that program would read it at its next start.
"""

import posixpath
from collections.abc import Iterable

from fleet.facts.request import PathQuestion, Read
from fleet.installers.decision import Decision
from fleet.installers.items import ConfigBody, Item
from fleet.installers.kinds.placed import place_file
from fleet.installers.ledger import Entry
from fleet.installers.model import (
    ABSENT,
    AS_LEFT,
    Action,
    MakeFolder,
    PutFile,
    Run,
    Step,
    TakePath,
)
from fleet.installers.site import Site

SECONDS = 60
MODE = 0o644
#: Begins with a dot and ends in no suffix that an include asks for.
CANDIDATE = ".{}.fleet-candidate"


class ConfigKind:
    """Keeps one program's configuration."""

    def questions(self, item: Item) -> Iterable[PathQuestion]:
        """Ask for the file."""
        yield PathQuestion(item.path, Read.WHOLE)

    def decide(self, item: Item, site: Site) -> Decision:
        """Check the new one beside the old, put it in its place, check the whole, load it."""
        body = _body(item)
        placed = place_file(item, site, item.path, body.content, MODE)
        if placed.conflict:
            return Decision(conflicts=(placed.conflict,))
        entries = (placed.entry,) if placed.entry else ()
        path, main = site.absolute(item.path), site.absolute(body.main)
        held = site.entry(item.key, "config")
        about = {"program": body.program, "main": main, "load": body.load}
        included = main in site.touched
        if not placed.actions and held and held.about == about and not included:
            return Decision(entries=(*entries, held))
        made = Entry(
            path=path,
            kind="config",
            system=item.system,
            artifact=item.artifact,
            about=about,
            when=site.facts.taken_at,
        )

        def run(verb: str, file: str = path) -> Run:
            return Run(words=words(made, verb, file), seconds=SECONDS)

        fresh = held is None
        folders = tuple(a for a in placed.actions if isinstance(a, MakeFolder))
        rest = placed.actions[len(folders) :]
        checked: tuple[Action, ...] = ()
        if any(isinstance(action, PutFile) for action in rest):
            beside = _beside(path)
            checked = (
                PutFile(path=beside, expect=ABSENT, content=body.content, mode=MODE),
                run("check", beside),
                TakePath(path=beside, expect=AS_LEFT),
            )
        # Undone, the former one is loaded again once it lies there.
        again = Run(undo=words(made, "left"), seconds=SECONDS)
        step = Step(
            key=item.key,
            change="create" if fresh else "change",
            summary=_summary(body, site.shown(path), changed=bool(placed.actions)),
            actions=(*folders, *checked, again, *rest, run("whole"), run("load")),
            diff=placed.diff,
            notes=placed.notes,
        )
        return Decision(steps=(step,), entries=(*entries, made))


def _summary(body: ConfigBody, shown: str, *, changed: bool) -> str:
    loaded = "" if body.load == "none" else f", and let {body.program} load it"
    return f"check and {'place' if changed else 'keep'} {shown}{loaded}"


def _body(item: Item) -> ConfigBody:
    if not isinstance(item.body, ConfigBody):
        raise TypeError(f"{item.key} is no configuration")
    return item.body


def _beside(path: str) -> str:
    folder, name = posixpath.split(path)
    return posixpath.join(folder, CANDIDATE.format(name))


def words(entry: Entry, verb: str, file: str = "") -> tuple[str, ...]:
    """Return the call of the apply program that checks or loads a configuration."""
    about = entry.about
    program, main, load = (about.get(name, "") for name in ("program", "main", "load"))
    return ("configuration", program, main, load, verb, file or entry.path)
