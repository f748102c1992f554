"""From all that lies on a canned target to what one request is answered: no more than was asked.

A gate that looks at what its system never asks for must not pass here and fail on a real target.
"""

from collections.abc import Callable, Collection, Mapping

from fleet.facts.envfile import read_env_file
from fleet.facts.environment import env_value
from fleet.facts.jsonshape import NOT_JSON, json_shape
from fleet.facts.model import Facts
from fleet.facts.notes import LEVELS, NoteFact, note_of
from fleet.facts.paths import Entry, PathFact, State
from fleet.facts.request import CommandQuestion, LaunchQuestion, PathQuestion, Read, Request
from fleet.facts.running import CheckFact, CommandFact, EnvValue, LaunchFact

HASHED = (Read.HASH, Read.WHOLE)
NOT_CANNED = "no such way of launching is canned"


def answered(facts: Facts, request: Request, *, absent: Callable[[str], PathFact]) -> Facts:
    """Return facts with only what a request asks for.

    Args:
        facts: all there is.
        request: what is asked.
        absent: makes the fact of a path at which there is nothing.
    """
    paths = {
        question.path: _path(facts, facts.paths.get(question.path), question, absent)
        for question in request.paths
    }
    launches = {
        question.launch: _launch(facts, facts.launches.get(question.launch), question)
        for question in request.launches
    }
    asked = {q.name: facts.processes.get(q.name, ()) for q in request.processes}
    containers = {q.project: facts.containers.get(q.project, ()) for q in request.containers}
    checks = {q.name: facts.checks.get(q.name, CheckFact(state="missing")) for q in request.checks}
    unseen = facts.unseen
    # Who may not see the processes of others sees his own.
    processes = {n: found for n, found in asked.items() if found or "processes" not in unseen}
    told = facts.model_copy(
        update={
            "paths": paths,
            "launches": launches,
            "processes": processes,
            "containers": {} if "containers" in unseen else containers,
            "checks": {} if "checks" in unseen else checks,
            "listeners": _part("listeners", request.listeners, facts.listeners or (), unseen),
            "interfaces": _part(
                "interfaces", bool(request.interfaces), facts.interfaces or {}, unseen
            ),
            "crontab": _part("crontab", bool(request.crontab), facts.crontab or 0, unseen),
        }
    )
    return told.model_copy(update={"contents": _sent(facts, request, told)})


def _part(name: str, asked: bool, told: object, unseen: Mapping[str, str]) -> object:
    return told if asked and name not in unseen else None


def _path(
    facts: Facts,
    fact: PathFact | None,
    question: PathQuestion,
    absent: Callable[[str], PathFact],
) -> PathFact:
    if fact is None:
        fact = _implied(facts, absent(question.path))
    if question.read is Read.NOTES and fact.kind == "directory":
        return fact.model_copy(update={"notes": _notes(facts, question.path), "entries": None})
    content = facts.content(fact)
    changes: dict[str, object] = {}
    if question.read not in HASHED:
        changes["sha256"] = None
    if question.read is not Read.LIST:
        changes["entries"] = None
    if question.read is Read.ENV and content is not None:
        changes["env"] = read_env_file(content, nonce=facts.nonce, public=question.public)
    if question.read is Read.JSON and content is not None:
        shape = json_shape(content, question.public)
        changes |= {"shape": shape, "why": NOT_JSON if shape is None else fact.why}
    return fact.model_copy(update=changes)


def _implied(facts: Facts, absent: PathFact) -> PathFact:
    """Return a folder where something canned lies below, and else that nothing is there."""
    head = absent.path.rstrip("/") + "/"
    below = {p.removeprefix(head): f for p, f in facts.paths.items() if p.startswith(head)}
    there = {
        name: fact for name, fact in below.items() if fact.link or fact.state is not State.ABSENT
    }
    if not there:
        return absent
    entries = {name.partition("/")[0]: _entry(name, fact) for name, fact in there.items()}
    told = {
        "state": State.PRESENT,
        "at": None,
        "final": absent.absolute,
        "kind": "directory",
        "mode": 0o755,
        "entries": tuple(entries[name] for name in sorted(entries)),
    }
    return absent.model_copy(update=told)


def _notes(facts: Facts, folder: str) -> tuple[NoteFact, ...]:
    """Return what is told of the canned notes below a folder."""
    head = folder.rstrip("/") + "/"
    found = {
        name: fact
        for path, fact in facts.paths.items()
        if path.startswith(head) and _is_note(name := path.removeprefix(head))
    }
    return tuple(
        note_of(name, facts.content(fact) or b"")
        if fact.state is State.PRESENT
        else NoteFact(name=name, why=fact.why or fact.state.value)
        for name, fact in sorted(found.items())
    )


def _is_note(name: str) -> bool:
    parts = name.split("/")
    hidden = any(part.startswith(".") for part in parts)
    return name.endswith(".md") and len(parts) <= LEVELS and not hidden


def _entry(name: str, fact: PathFact) -> Entry:
    first, deeper, _ = name.partition("/")
    if deeper:
        return Entry(name=first, kind="directory")
    if fact.link:
        dangling = fact.state is State.DANGLING
        return Entry(name=first, kind="link", target=fact.hops[0].target, dangling=dangling)
    return Entry(name=first, kind=fact.kind or "other")


def _launch(facts: Facts, launch: LaunchFact | None, question: LaunchQuestion) -> LaunchFact:
    if launch is None:
        return LaunchFact(launch=question.launch, state="unsupported", why=NOT_CANNED)
    if launch.state != "ok":
        return launch
    unset = EnvValue(set=False)
    public = {n: launch.variables.get(n, unset) for n in question.public}
    secret = {n: _hidden(launch.variables.get(n, unset), facts.nonce) for n in question.secret}
    commands = {q.name: _command(launch.commands.get(q.name), q) for q in question.commands}
    return launch.model_copy(update={"variables": {**public, **secret}, "commands": commands})


def _hidden(value: EnvValue, nonce: str) -> EnvValue:
    """Return what travels of a value that is not public."""
    return value if value.value is None else env_value(value.value, nonce=nonce, public=False)


def _command(command: CommandFact | None, question: CommandQuestion) -> CommandFact:
    if command is None:
        return CommandFact(name=question.name)
    file = command.file
    if file is not None and question.read not in HASHED:
        file = file.model_copy(update={"sha256": None})
    manifest = command.manifest if question.manifest else None
    return command.model_copy(update={"file": file, "manifest": manifest})


def _sent(facts: Facts, request: Request, told: Facts) -> Mapping[str, bytes]:
    """Return the bytes that travel: of what is read whole, unless they are known."""
    wanted: set[str | None] = set()
    for path in request.paths:
        if path.read is Read.WHOLE:
            wanted.add(told.paths[path.path].sha256)
    for question in request.launches:
        wanted |= _of_commands(told.launches[question.launch], question.commands)
    return {
        digest: content
        for digest, content in facts.contents.items()
        if digest in wanted and digest not in request.known
    }


def _of_commands(launch: LaunchFact, questions: Collection[CommandQuestion]) -> set[str | None]:
    wanted: set[str | None] = set()
    for question in questions:
        command = launch.commands.get(question.name)
        if command is None:
            continue
        if command.file is not None and question.read is Read.WHOLE:
            wanted.add(command.file.sha256)
        if command.manifest is not None:
            wanted.add(command.manifest.sha256)
        wanted |= {fact.sha256 for fact in command.beside.values()}
    return wanted
