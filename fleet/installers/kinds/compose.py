"""Compose projects: the file, the ``.env`` beside it, and the containers kept up."""

import posixpath
from collections.abc import Iterable

from fleet.facts.request import PathQuestion, Read
from fleet.installers.decision import Decision
from fleet.installers.items import ComposeBody, Item
from fleet.installers.kinds.compose_drift import Running, compared, env_path
from fleet.installers.kinds.placed import Placed, place_file
from fleet.installers.ledger import Entry
from fleet.installers.model import Action, Run, Step
from fleet.installers.site import Site

UP_SECONDS = 900
DOWN_SECONDS = 180
FILE_MODE = 0o644
ENV_MODE = 0o600


class ComposeKind:
    """Keeps one project: checked before it is started, recreated when its environment changed."""

    def questions(self, item: Item) -> Iterable[PathQuestion]:
        """Ask for the compose file's bytes, and for the structure of its ``.env``."""
        yield PathQuestion(item.path, Read.WHOLE)
        yield PathQuestion(env_path(item.path), Read.ENV)

    def decide(self, item: Item, site: Site) -> Decision:
        """Write what differs, and bring the project up where anything does."""
        body = _body(item)
        files = [place_file(item, site, item.path, body.content, FILE_MODE)]
        if body.env is not None:
            files.append(place_file(item, site, env_path(item.path), body.env, ENV_MODE))
        conflicts = tuple(placed.conflict for placed in files if placed.conflict)
        if conflicts:
            return Decision(conflicts=conflicts)
        project = site.entry(item.key, "compose")
        entries = tuple(placed.entry for placed in files if placed.entry)
        running = compared(_body(item), site, path=site.absolute(item.path))
        if not any(placed.actions for placed in files) and not running.why:
            kept = (*entries, project) if project else entries
            return Decision(entries=kept, notes=running.unseen)
        return _up(item, site, files, running, project)


def _body(item: Item) -> ComposeBody:
    if not isinstance(item.body, ComposeBody):
        raise TypeError(f"{item.key} is no compose project")
    return item.body


def words(path: str, project: str, *, env: bool, more: tuple[str, ...]) -> tuple[str, ...]:
    """Return a compose command; the same for ``docker compose`` and ``docker-compose``."""
    folder = posixpath.dirname(path)
    named = ("--env-file", env_path(path)) if env else ()
    return ("compose", "--project-directory", folder, *named, "-p", project, "-f", path, *more)


def _up(
    item: Item, site: Site, files: list[Placed], running: Running, project: Entry | None
) -> Decision:
    body, path = _body(item), site.absolute(item.path)
    env = body.env is not None

    def compose(*more: str) -> tuple[str, ...]:
        return words(path, body.project, env=env, more=more)

    # A project that somebody else started is recreated, and never taken down to undo that.
    fresh = project is None and not site.facts.containers.get(body.project)
    up = compose("up", "-d", "--remove-orphans", "--force-recreate")
    # Undone last to first: a new project goes down while its files are still there; an old one
    # comes up again only after its old files are back, hence the step before them.
    actions: tuple[Action, ...] = (
        *((Run(undo=up, seconds=UP_SECONDS),) if not fresh else ()),
        *(action for placed in files for action in placed.actions),
        Run(words=compose("config", "-q")),
        Run(words=up, undo=compose("down") if fresh else (), seconds=UP_SECONDS),
    )
    made = Entry(
        path=path,
        kind="compose",
        system=item.system,
        artifact=item.artifact,
        about={"project": body.project, "env": "1" if env else ""},
        when=site.facts.taken_at,
    )
    step = Step(
        key=item.key,
        change="create" if fresh else "change",
        summary=f"{'start' if fresh else 'recreate'} the compose project {body.project}"
        + (f": {_told(running.why)}" if running.why and not fresh else ""),
        actions=actions,
        diff="".join(placed.diff for placed in files),
        notes=(*(note for placed in files for note in placed.notes), *running.why[1:]),
    )
    entries = tuple(placed.entry for placed in files if placed.entry)
    return Decision(steps=(step,), entries=(*entries, made))


def _told(why: tuple[str, ...]) -> str:
    return why[0] if len(why) == 1 else f"{why[0]}, and {len(why) - 1} more"
