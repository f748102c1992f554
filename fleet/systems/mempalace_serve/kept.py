"""How the server's token and its compose file are kept."""

import posixpath
from collections.abc import Iterator, Mapping

from fleet.facts.dotenv import Dialect, EnvEntry, interpret
from fleet.facts.paths import PathFact, State
from fleet.facts.running import ContainerFact
from fleet.systems.mempalace_serve.server import HTTP_TOKEN, containers, processes
from fleet.verifier.compose import read_compose, stand_ins
from fleet.verifier.compose_lint import Ground, lint
from fleet.verifier.look import Look
from fleet.verifier.model import (
    Judgement,
    Verdict,
    failed,
    not_applicable,
    not_checked,
    passed,
    warned,
)
from fleet.verifier.paths import hidden, missing

OTHERS = 0o077
_REBUILD = "build the image without the token, give it at the start of the container, and rotate it"
_PLACES = {"env": "environment (ENV)", "history": "history"}
_FILES = {"token-file": 0o600, "token-folder": 0o700, "compose-env": 0o600, "server-env": 0o600}


def token(look: Look) -> Judgement:
    """Only its owner can read the token: no mode, no argument list, no image shows it."""
    baked = [*_in_images(look)]
    shown = [*_open_files(look), *_in_arguments(look), *baked]
    if shown:
        return failed("others can read the token", *shown, remedy=_REBUILD if baked else None)
    seen = [f for f in map(look.artifact, _FILES) if f and f.state is State.PRESENT]
    hid = [f for f in map(look.artifact, _FILES) if f and hidden(f)]
    hid += [f for f in seen if f.mode is None]
    if hid:
        why = [f"{f.path}: {f.why or f.state}" for f in hid]
        return not_checked("not every file could be looked at", *why)
    if not (seen or processes(look) or containers(look)):
        return not_checked("neither the server nor a file with its token was seen")
    told = [f"{f.path} is {f.mode:04o}" for f in seen if f.mode is not None]
    if not (processes(look) or containers(look)):
        return not_checked("no running server was seen, so its argument list was not", *told)
    unseen = [f"{c.name} is made of {c.image or 'an image'}" for c in _unsearched(look)]
    if unseen:
        return not_checked("whether its image holds the token was not seen", *told, *unseen)
    return passed("only its owner can read the token", *told, *_minted(look))


def _open_files(look: Look) -> Iterator[str]:
    for name, wanted in _FILES.items():
        fact = look.artifact(name)
        if fact and fact.state is State.PRESENT and fact.mode is not None and fact.mode & OTHERS:
            yield f"{fact.path} is {fact.mode:04o}, want {wanted:04o}"


def _in_arguments(look: Look) -> Iterator[str]:
    for process in processes(look):
        for flag in process.secret_flags:
            yield f"{flag} stands in the argument list of process {process.pid}"
    for container in containers(look):
        for flag in container.secret_flags:
            yield f"{flag} stands in the command of container {container.name}"


def _in_images(look: Look) -> Iterator[str]:
    """Yield where an image holds a token: whoever can pull it reads that."""
    for container in containers(look):
        for place, _, name in (entry.partition(" ") for entry in container.baked or ()):
            if name == HTTP_TOKEN:
                yield f"{name} stands in the {_PLACES[place]} of the image of {container.name}"


def _unsearched(look: Look) -> list[ContainerFact]:
    return [c for c in containers(look) if c.state == "running" and c.baked is None]


def _minted(look: Look) -> list[str]:
    fact = look.artifact("token-file")
    if fact is None or fact.state is not State.PRESENT:
        return []
    return ["the server made it up and printed it to its log: rotate it if others read that"]


def compose_lint(look: Look) -> Judgement:
    """The compose file that lies on the target has none of the known traps."""
    fact = look.artifact("compose")
    if fact is None:
        return not_applicable("no compose file is declared here")
    nowhere = missing(fact)
    if nowhere:
        return nowhere
    content = look.content(fact)
    if content is None:
        return not_checked(fact.why or "its content was not read", fact.path)
    compose = read_compose(content, posixpath.basename(fact.path), compose_environment(look))
    ground = Ground(
        interfaces=look.facts.interfaces,
        files=_beside(look.artifact("compose-folder")),
        lan=look.value("allow_lan") is True,
    )
    problems = [p for p in lint(compose, ground) if p.verdict is not Verdict.NOT_APPLICABLE]
    told = [str(p) for p in problems]
    if any(p.verdict is Verdict.FAIL for p in problems):
        return failed("the compose file will not do", *told)
    if problems:
        return warned("the compose file holds a trap", *told)
    return passed(
        "no known trap", fact.path, f"services: {', '.join(s.name for s in compose.selected)}"
    )


def compose_environment(look: Look) -> dict[str, str]:
    """Return what compose gets from the ``.env`` beside; any text stands for a value not told."""
    return stand_ins(compose_entries(look))


def compose_entries(look: Look) -> Mapping[str, EnvEntry]:
    """Return the variables of the ``.env`` beside the compose file, as compose reads them."""
    fact = look.artifact("compose-env")
    if fact is None or fact.env is None:
        return {}
    return interpret(fact.env, Dialect.COMPOSE).entries


def _beside(folder: PathFact | None) -> tuple[str, ...] | None:
    if folder is None or folder.entries is None:
        return None
    return tuple(entry.name for entry in folder.entries)
