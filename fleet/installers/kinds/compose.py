"""Compose projects: the file, the ``.env`` beside it, and the containers kept up."""

import posixpath
from collections.abc import Iterable

from fleet.facts.envfile import assignment, split_lines
from fleet.facts.model import ContainerFact
from fleet.facts.request import PathQuestion, Read
from fleet.installers.decision import Decision
from fleet.installers.items import ComposeBody, Item
from fleet.installers.kinds.placed import Placed, place_file
from fleet.installers.ledger import Entry
from fleet.installers.model import Action, Run, Step
from fleet.installers.site import Site
from fleet.secrets import keyed_digest

UP_SECONDS = 900
DOWN_SECONDS = 180
FILE_MODE = 0o644
ENV_MODE = 0o600


class ComposeKind:
    """Keeps one project: checked before it is started, recreated when its environment changed."""

    def questions(self, item: Item) -> Iterable[PathQuestion]:
        """Ask for the compose file's bytes, and for the structure of its ``.env``."""
        yield PathQuestion(item.path, Read.WHOLE)
        yield PathQuestion(_env_path(item.path), Read.ENV)

    def decide(self, item: Item, site: Site) -> Decision:
        """Write what differs, and bring the project up where anything does."""
        body = _body(item)
        files = [place_file(item, site, item.path, body.content, FILE_MODE)]
        if body.env is not None:
            files.append(place_file(item, site, _env_path(item.path), body.env, ENV_MODE))
        conflicts = tuple(placed.conflict for placed in files if placed.conflict)
        if conflicts:
            return Decision(conflicts=conflicts)
        project = site.entry(item.key, "compose")
        entries = tuple(placed.entry for placed in files if placed.entry)
        why = _stale(item, site)
        if not any(placed.actions for placed in files) and not why:
            kept = (*entries, project) if project else entries
            return Decision(entries=kept, notes=_unseen(body, site))
        return _up(item, site, files, why, project)


def _body(item: Item) -> ComposeBody:
    if not isinstance(item.body, ComposeBody):
        raise TypeError(f"{item.key} is no compose project")
    return item.body


def _env_path(path: str) -> str:
    return posixpath.join(posixpath.dirname(path), ".env")


def _unseen(body: ComposeBody, site: Site) -> tuple[str, ...]:
    if body.project in site.facts.containers:
        return ()
    why = site.facts.unseen.get("containers", "it was not asked")
    return (f"whether the project {body.project} runs could not be seen: {why}",)


def _stale(item: Item, site: Site) -> str:
    """Say why the project must be brought up although its files are as they should be."""
    body = _body(item)
    containers = site.facts.containers.get(body.project)
    if containers is None:
        return ""
    if not containers:
        return "no container of it is there"
    for container in containers:
        if container.state != "running":
            return f"{container.name} is {container.state}"
        name = _older(body, site, container)
        if name:
            return f"{container.name} was created with another {name}"
    return ""


def _older(body: ComposeBody, site: Site, container: ContainerFact) -> str:
    """Return a variable of the ``.env`` that the container has another value of (cases B10)."""
    if body.env is None:
        return ""
    for line in split_lines(site.fill(body.env)):
        found = assignment(line)
        there = container.variables.get(found.name) if found else None
        if found is None or there is None or not there.set:
            continue
        value = found.value.decode().strip()
        if value[:1] == "'" and value[-1:] == "'":
            value = value[1:-1]
        same = (there.value, there.digest)
        if value not in same and keyed_digest(site.facts.nonce, value) not in same:
            return found.name
    return ""


def words(path: str, project: str, *, env: bool, more: tuple[str, ...]) -> tuple[str, ...]:
    """Return a compose command; the same for ``docker compose`` and ``docker-compose``."""
    folder = posixpath.dirname(path)
    named = ("--env-file", _env_path(path)) if env else ()
    return ("compose", "--project-directory", folder, *named, "-p", project, "-f", path, *more)


def _up(item: Item, site: Site, files: list[Placed], why: str, project: Entry | None) -> Decision:
    body, path = _body(item), site.absolute(item.path)
    env = body.env is not None

    def compose(*more: str) -> tuple[str, ...]:
        return words(path, body.project, env=env, more=more)

    fresh = project is None
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
        + (f": {why}" if why and not fresh else ""),
        actions=actions,
        diff="".join(placed.diff for placed in files),
        notes=tuple(note for placed in files for note in placed.notes),
    )
    entries = tuple(placed.entry for placed in files if placed.entry)
    return Decision(steps=(step,), entries=(*entries, made))
