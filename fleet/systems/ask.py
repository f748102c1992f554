"""From systems to the request: everything an audit and a plan need to see, asked once."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from fleet.dataclass import dataclass
from fleet.facts.request import (
    CONTAINER,
    CheckQuestion,
    CommandQuestion,
    ContainerQuestion,
    LaunchQuestion,
    PathQuestion,
    ProcessQuestion,
    Read,
    Request,
    ScanQuestion,
)
from fleet.inventory.model import Kind, Target
from fleet.inventory.render import holds, render
from fleet.systems.model import Ask, Link, System
from fleet.systems.resolve import Resolved

_DEPTH = list(Read)


def request_for(
    target: Target,
    resolved: Sequence[Resolved],
    *,
    nonce: str,
    known: frozenset[str] = frozenset(),
    extra: Iterable[PathQuestion] = (),
    scan: ScanQuestion | None = None,
) -> Request:
    """Compile the one request that answers all gates of a target, and a plan's questions.

    ``extra`` are further paths, from the planner. Paths asked twice are asked once, as deep as the
    deeper of the two; of two alike, what may travel for one may travel. ``scan`` says how an image
    is searched for secrets, where a system wants that.
    """
    asked = _asked(_Alike(resolved))
    public, secret, commands = asked.public, asked.secret, asked.commands
    asks = [r.system.ask for r in resolved]
    paths = _merged([*asked.paths, *extra])
    own = tuple(question.path for question in paths)
    return Request(
        nonce=nonce,
        paths=paths,
        launches=tuple(
            LaunchQuestion(launch, public, secret, commands)
            for launch in launches_of(target)
            # A shell that nobody wants to know anything of is not started.
            if public or secret or commands or any(r.system.gates for r in resolved)
        ),
        processes=asked.processes,
        containers=tuple(_projects(resolved, public, secret)),
        listeners=any(a.listeners for a in asks),
        interfaces=_interfaces(asks),
        crontab=next((a.crontab for a in asks if a.crontab), ""),
        checks=tuple(_checks(resolved)),
        known=known,
        scan=replace(scan or ScanQuestion(), paths=own) if any(a.layers for a in asks) else None,
    )


class _Alike:
    """What targets have in common that are asked the same: descriptions, artifacts, and exports.

    Descriptions and artifacts are compared as objects: targets that look alike share them.
    """

    __slots__ = ("_hash", "exports", "resolved")

    def __init__(self, resolved: Sequence[Resolved]) -> None:
        self.resolved = tuple(resolved)
        self.exports = tuple(tuple(r.exports) for r in resolved)
        same = tuple((id(r.system), id(r.artifacts)) for r in resolved)
        self._hash = hash((same, self.exports))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Alike) or len(self.resolved) != len(other.resolved):
            return False
        pairs = zip(self.resolved, other.resolved, strict=True)
        same = all(a.system is b.system and a.artifacts is b.artifacts for a, b in pairs)
        return same and self.exports == other.exports

    def __hash__(self) -> int:
        return self._hash


@dataclass(frozen=True, slots=True)
class _Asked:
    """What is asked of all that are alike."""

    public: tuple[str, ...]
    secret: tuple[str, ...]
    commands: tuple[CommandQuestion, ...]
    paths: tuple[PathQuestion, ...]
    processes: tuple[ProcessQuestion, ...]


@lru_cache(maxsize=256)
def _asked(alike: _Alike) -> _Asked:
    resolved = alike.resolved
    public, secret = _exported(resolved)
    return _Asked(
        public,
        secret,
        tuple(_commands(resolved)),
        tuple(_paths(resolved, public)),
        _processes(resolved, public, secret),
    )


def _interfaces(asks: Iterable[Ask]) -> bool | str:
    """Ask for all of them unless one and the same is all that matters."""
    wanted = {ask.interfaces for ask in asks if ask.interfaces}
    return wanted.pop() if len(wanted) == 1 else bool(wanted)


def launches_of(target: Target) -> tuple[str, ...]:
    """Return the ways pi is launched on a target: those declared, or a container's own."""
    if target.launches or target.kind is Kind.HOST:
        return target.launches
    return (CONTAINER,)


def _exported(resolved: Sequence[Resolved]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Split the names to look up into those whose values may travel and all others."""
    public = public_names(r.system for r in resolved)
    named = [v.env for r in resolved for v in r.system.variables.values() if v.env]
    wanted = dict.fromkeys([*named, *(name for r in resolved for name in r.exports)])
    return (
        tuple(name for name in wanted if name in public),
        tuple(name for name in wanted if name not in public),
    )


def public_names(systems: Iterable[System]) -> frozenset[str]:
    """Return the environment names that a system declares public: only their values travel."""
    return frozenset(
        v.env for system in systems for v in system.variables.values() if v.env and v.public
    )


def _paths(resolved: Sequence[Resolved], public: tuple[str, ...]) -> Iterator[PathQuestion]:
    for r in resolved:
        for artifact in r.artifacts.values():
            if artifact.path:
                told = artifact.keys if artifact.read is Read.JSON else public
                yield PathQuestion(artifact.path, artifact.read, public=told)
            if isinstance(artifact, Link) and artifact.source:
                # As deep as what it is linked as: a copy that is not loaded is named as well.
                read = max(Read.HASH, artifact.read, key=_DEPTH.index)
                yield PathQuestion(artifact.source, read)


def _merged(questions: Iterable[PathQuestion]) -> tuple[PathQuestion, ...]:
    merged: dict[str, PathQuestion] = {}
    for question in questions:
        held = merged.get(question.path)
        merged[question.path] = question if held is None else _deeper(held, question)
    return tuple(merged.values())


def _deeper(one: PathQuestion, other: PathQuestion) -> PathQuestion:
    if {one.read, other.read} == {Read.WHOLE, Read.JSON}:
        # A file's structure can be told from its bytes, and an edit needs the bytes.
        return one if one.read is Read.WHOLE else other
    if one.read is other.read:
        return replace(one, public=tuple(dict.fromkeys((*one.public, *other.public))))
    return max(one, other, key=lambda question: _DEPTH.index(question.read))


def _commands(resolved: Sequence[Resolved]) -> Iterator[CommandQuestion]:
    """Yield each program once, asked as deep as the deepest system wants it."""
    wanted: dict[str, CommandQuestion] = {}
    for r in resolved:
        ask = r.system.ask
        for name, read in ask.commands.items():
            held = wanted.get(name, CommandQuestion(name))
            wanted[name] = CommandQuestion(
                name,
                max(read, held.read, key=_DEPTH.index),
                manifest=held.manifest or name in ask.manifests,
                version=held.version or ask.versions.get(name, ""),
                every=held.every or name in ask.every,
                beside=tuple(dict.fromkeys((*held.beside, *ask.beside.get(name, ())))),
                headers=tuple(dict.fromkeys((*held.headers, *ask.headers.get(name, ())))),
                package=held.package or ask.packages.get(name, ""),
            )
    yield from wanted.values()


def _processes(
    resolved: Sequence[Resolved], public: tuple[str, ...], secret: tuple[str, ...]
) -> tuple[ProcessQuestion, ...]:
    """Return each question about processes once, with what every system wants to know of them."""
    wanted: dict[str, ProcessQuestion] = {}
    for r in resolved:
        for name, ask in r.system.ask.processes.items():
            held = wanted.get(name, ProcessQuestion(name, ask.words, comm=ask.comm))
            told, hidden = (public, secret) if ask.exports else ((), ())
            variables = dict.fromkeys((*held.variables, *ask.variables, *told))
            secrets = dict.fromkeys((*held.secret_variables, *ask.secret_variables, *hidden))
            wanted[name] = replace(
                held,
                public=tuple(dict.fromkeys((*held.public, *ask.public))),
                secret=tuple(dict.fromkeys((*held.secret, *ask.secret))),
                variables=tuple(v for v in variables if v not in secrets),
                secret_variables=tuple(secrets),
            )
    return tuple(wanted.values())


def _checks(resolved: Sequence[Resolved]) -> Iterator[CheckQuestion]:
    for r in resolved:
        for name, check in r.system.ask.checks.items():
            where = f"{r.system.system}.ask.checks.{name}"
            if check.when is None or holds(check.when, r.variables, where=where):
                words = tuple(render(word, r.variables, where=where) for word in check.words)
                yield CheckQuestion(name, words)


def _projects(
    resolved: Sequence[Resolved], public: tuple[str, ...], secret: tuple[str, ...]
) -> Iterator[ContainerQuestion]:
    for r in resolved:
        text = r.system.ask.project
        if not text:
            continue
        project = render(text, r.variables, where=f"{r.system.system}.ask.project")
        if project:
            ask = r.system.ask
            yield ContainerQuestion(
                project,
                tuple(dict.fromkeys((*public, *ask.variables))),
                tuple(dict.fromkeys((*secret, *ask.secret_variables))),
            )
