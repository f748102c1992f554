"""Reading a container's compose file where it lies, and holding the container against it."""

import posixpath
from collections.abc import Iterator, Mapping, Sequence

from fleet.facts.dotenv import Dialect, EnvEntry, interpret
from fleet.facts.images import ImageFact
from fleet.facts.model import Facts
from fleet.facts.paths import PathFact, State
from fleet.facts.request import PathQuestion, Read
from fleet.facts.running import ContainerFact
from fleet.systems.model import Compose as ComposeArtifact
from fleet.verifier.compose import Compose, read_compose, stand_ins
from fleet.verifier.compose_running import Ground
from fleet.verifier.composed import Around, Compared, compare_container, untold
from fleet.verifier.fleetwide.composing import Composed
from fleet.verifier.fleetwide.member import Member
from fleet.verifier.model import Verdict

MERGED = "it was made of {} files, and they are not merged here"
INCLUDES = "the file includes others, which were not read"
ENDINGS = (".yml", ".yaml")
LONGEST = 4096  # characters of a path
NOT_ASKED = "`fleet drift` reads it where it lies"


def first_questions(container: ContainerFact) -> tuple[PathQuestion, ...]:
    """Return what is to be read on the engine's machine: the compose file, and what fills it in.

    A label is text of whoever made the container: only what is called like a YAML file is read as
    a compose file.
    """
    if _misnamed(container):
        return ()
    told = [PathQuestion(container.compose_files[0], Read.WHOLE)]
    return (*told, *(PathQuestion(path, Read.ENV) for path in _dotenv_paths(container)))


def further_questions(container: ContainerFact, facts: Facts) -> tuple[PathQuestion, ...]:
    """Return what the compose file names beside: the files of variables of the service."""
    if _misnamed(container):
        return ()
    file = _read(container, facts)
    service = file.services.get(container.service) if isinstance(file, Compose) else None
    paths = [_beside(container, e.path, facts) for e in service.env_files] if service else []
    return tuple(PathQuestion(path, Read.ENV) for path in paths if is_path(path))


def is_path(text: str) -> bool:
    """Tell whether a text from a label or a file is an absolute path that can be asked for."""
    return text.startswith("/") and text.isprintable() and len(text) <= LONGEST


def _misnamed(container: ContainerFact) -> str:
    """Say why the file that a container's label names is not read; empty where it is."""
    if len(container.compose_files) != 1:
        return MERGED.format(len(container.compose_files))
    told = (*container.compose_files, container.compose_folder, *container.compose_env)
    if not all(is_path(path) for path in told if path):
        return "its label names no absolute path"
    if not container.compose_files[0].endswith(ENDINGS):
        return "its label names no YAML file"
    return ""


def _folder(container: ContainerFact) -> str:
    return container.compose_folder or posixpath.dirname(container.compose_files[0])


def _dotenv_paths(container: ContainerFact) -> tuple[str, ...]:
    return container.compose_env or (posixpath.join(_folder(container), ".env"),)


def _beside(container: ContainerFact, path: str, facts: Facts) -> str:
    if path.startswith("~/"):
        return facts.platform.home + path[1:]
    return posixpath.normpath(posixpath.join(_folder(container), path))


def labelled(member: Member, container: ContainerFact, members: Sequence[Member]) -> Composed:
    """Hold a container against the compose file that its labels name."""
    path = ", ".join(container.compose_files)
    facts = _where_it_lies(member, container, members)
    if isinstance(facts, str):
        return Composed(member.name, container, path, Compared(unseen=(facts,)))
    file = _read(container, facts)
    if isinstance(file, str):
        return Composed(member.name, container, path, Compared(unseen=(file,)))
    fact = _fact(facts, container.compose_files[0])
    written = fact.mtime if fact else None
    image = member.facts.image if member.facts else None
    compared = _held(file, container, facts, image)
    return Composed(member.name, container, path, compared, written)


def _where_it_lies(
    member: Member, container: ContainerFact, members: Sequence[Member]
) -> Facts | str:
    """Return facts that may hold a container's compose file, or in words why there are none."""
    misnamed = _misnamed(container)
    if misnamed:
        return misnamed
    if member.beside is not None:
        return member.beside.facts or member.beside.why
    nonce = member.facts.nonce if member.facts else ""
    for other in members:
        if other.facts and other.facts.nonce == nonce and _tells_of(other.facts, container):
            return other.facts
    return NOT_ASKED


def _tells_of(facts: Facts, container: ContainerFact) -> bool:
    """Whether these are the facts of the machine that a container runs on, and of its file."""
    told = (c for group in facts.containers.values() for c in group)
    here = any((c.name, c.created) == (container.name, container.created) for c in told)
    return here and container.compose_files[0] in {fact.absolute for fact in facts.paths.values()}


def _fact(facts: Facts, path: str) -> PathFact | None:
    found = facts.paths.get(path)
    return found or next((f for f in facts.paths.values() if f.absolute == path), None)


def _read(container: ContainerFact, facts: Facts) -> Compose | str:
    path = container.compose_files[0]
    fact = _fact(facts, path)
    content = facts.content(fact)
    if fact is None:
        return "it was not looked for"
    if fact.state in (State.ABSENT, State.DANGLING):
        return "it is not on the machine of the engine; compose was run on another, or it is gone"
    if content is None:
        return fact.why or f"it is {fact.state.value}"
    entries = _entries(facts, _dotenv_paths(container))
    return read_compose(content, posixpath.basename(path), stand_ins(entries))


def _entries(facts: Facts, paths: Sequence[str]) -> Mapping[str, EnvEntry]:
    found: dict[str, EnvEntry] = {}
    for path in paths:
        fact = _fact(facts, path)
        if fact is not None and fact.env is not None:
            found.update(interpret(fact.env, Dialect.COMPOSE).entries)
    return found


def _env_files(
    container: ContainerFact, file: Compose, facts: Facts
) -> Iterator[tuple[str, Mapping[str, EnvEntry] | None]]:
    service = file.services.get(container.service)
    for env_file in service.env_files if service else ():
        fact = _fact(facts, _beside(container, env_file.path, facts))
        if fact is not None and fact.state is State.ABSENT and not env_file.required:
            yield env_file.path, {}
        elif fact is None or fact.env is None or fact.env.encrypted:
            yield env_file.path, None
        else:
            yield env_file.path, _entries(facts, [fact.absolute])


def _held(
    file: Compose, container: ContainerFact, facts: Facts, image: ImageFact | None = None
) -> Compared:
    service = file.services.get(container.service)
    if service is None:
        # Where, and not what: the label may name a file that is nobody's to show.
        broken = [p.where for p in file.problems if p.verdict is Verdict.FAIL]
        if broken:
            return Compared(unseen=(f"it could not be read as a compose file: {broken[0]}",))
        if ("include",) in file.places:
            return Compared(unseen=(INCLUDES,))
        return Compared(wrong=(f"the file has no service {container.service} any more",))
    dotenv = _entries(facts, _dotenv_paths(container))
    ground = Ground(
        home=facts.platform.home,
        folder=_folder(container),
        project=container.project,
        nonce=facts.nonce,
        unknown=untold(dotenv),
    )
    around = Around(dotenv, dict(_env_files(container, file, facts)))
    return compare_container(ground, around, file, service, container, image)


def deployed(
    name: str, facts: Facts, artifact: ComposeArtifact, fact: PathFact, container: ContainerFact
) -> Composed:
    """Hold a container of a declared compose project against the file that was brought there."""
    path = fact.absolute
    known = container.model_copy(
        update={"project": artifact.project, "compose_files": (path,), "compose_folder": ""}
    )
    file = _read(known, facts)
    if isinstance(file, str):
        return Composed(name, container, path, Compared(unseen=(file,)))
    compared = _held(file, known, facts)
    told = container.model_copy(update={"project": artifact.project})
    return Composed(name, told, path, compared, fact.mtime)
