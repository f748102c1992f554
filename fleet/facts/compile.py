"""Compile a request into the one program that answers it on a target.

The program is the parts of a constant library that are needed (``probe/*.sh``), and one call for
each question. Every word that comes from a question passes through :func:`call`, the one place
that quotes.
"""

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib.resources import files

from fleet.errors import UsageError
from fleet.facts.notes import PATTERNS
from fleet.facts.request import (
    CONTAINER,
    TEXT_LIMIT,
    CheckQuestion,
    CommandQuestion,
    ContainerQuestion,
    LaunchQuestion,
    PathQuestion,
    ProcessQuestion,
    Read,
    Request,
)
from fleet.facts.text import bare_script

ANSWER = "fleet.answer/1"
PUBLIC_FLAGS = ("--host", "--port", "--palace")
SECRET_FLAGS = ("--token",)

_LETTER = {
    Read.STAT: "s",
    Read.HASH: "h",
    Read.PEM: "p",
    Read.WHOLE: "w",
    Read.LIST: "l",
    Read.INI: "i",
    Read.JSON: "j",
    Read.NOTES: "n",
    Read.ENV: "e",
}
# Reads that tell what stands under a name, where the name is public.
_NAMED = (Read.ENV, Read.JSON)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PROGRAM = re.compile(r"[A-Za-z0-9_.+-]+")
_PLAIN = re.compile(r"[A-Za-z0-9_.,:/=+@%-]+")
_NONCE = re.compile(r"[A-Za-z0-9_-]{4,128}")
_SPECIAL = re.compile(r"([].[\\^$*+?(){}|])")


def probe_script(request: Request) -> str:
    """Return a POSIX shell program that answers ``request``; it is read from the stdin of ``sh``.

    Nothing runs before the program was read to its end, so a cut connection runs nothing.

    Raises:
        UsageError: the request asks for something that cannot be asked (a relative path, a name
            that is none).
    """
    calls = [*_begin(request), *_places(request), *_running(request), "answer_end"]
    return f"{_library(_parts(request))}\n{_function('main', calls)}\nmain </dev/null\nexit 0\n"


def standing_script(request: Request) -> str:
    """Return the program of :func:`probe_script` that stays, where it can, to be asked again.

    It says that it stays by a line ``@stays TAB nonce`` after its answer, and a line ``again`` asks
    it. Where all that lies at paths and all that launches report is as it was, it answers what else
    was asked, and says that it stays; else it ends, and says nothing.

    Raises:
        UsageError: as :func:`probe_script`.
    """
    if any(path.read is Read.NOTES for path in request.paths):
        return probe_script(request)  # of notes not every name is remembered
    functions = (
        _function("launches", list(_launched(request)) or [":"]),
        _function("rest", list(_running(request)) or [":"]),
        _function("main", [*_begin(request), "may_stay", *_places(request), "(rest; answer_end)"]),
    )
    library = _library((*_parts(request), "again"))
    # One command, so that the shell has read all of it when it reads what it is asked.
    return "\n".join((library, *functions, "{ main </dev/null; stay; exit 0; }\n"))


def _library(parts: Iterable[str]) -> str:
    return "".join(map(_part, parts))


def _function(name: str, calls: Iterable[str]) -> str:
    return "\n".join((f"{name}() {{", *calls, "}"))


def _begin(request: Request) -> Iterator[str]:
    if not _NONCE.fullmatch(request.nonce):
        raise UsageError("a nonce is 4 to 128 letters, digits, - and _")
    yield call("answer_begin", request.nonce, str(request.seconds), " ".join(sorted(request.known)))
    if any(path.read is Read.NOTES for path in request.paths):
        yield call("note_patterns", *PATTERNS.values())


def _running(request: Request) -> Iterator[str]:
    """Yield the questions about what runs here, and how."""
    yield from _processes(request.processes)
    if request.listeners:
        yield "ask_listeners"
    if request.interfaces:
        only = (request.interfaces,) if isinstance(request.interfaces, str) else ()
        yield call("ask_interfaces", *only)
    if request.crontab:
        yield call("ask_crontab", request.crontab)
    for number, check in enumerate(request.checks):
        yield _check(f"k{number}", check)
    for number, container in enumerate(request.containers):
        yield _containers(f"c{number}", container)


def _places(request: Request) -> Iterator[str]:
    """Yield the questions about paths, launches, and programs on the PATH of each."""
    first = request.launches[:1]
    for launch in first:
        yield from _launch("l0", launch)
        if launch.commands:  # so that their links are read together with those of the paths
            yield call("see_programs", *(command.name for command in launch.commands))
    if request.paths:
        words = (word for number, path in enumerate(request.paths) for word in _path(number, path))
        yield call("ask_paths", *words)
    for launch in first:
        yield from _commands("l0", launch)
    for number, launch in enumerate(request.launches[1:], 1):
        yield from _launch(f"l{number}", launch)
        yield from _commands(f"l{number}", launch)
    yield "answer_paths"


def call(function: str, *words: str) -> str:
    """Return a call of a shell function, its words quoted.

    Raises:
        UsageError: a word holds a NUL character, which no shell can be given.
    """
    for word in words:
        if "\0" in word:
            raise UsageError("a path, name or word holds a NUL character", where=repr(word))
    return " ".join((function, *map(shlex.quote, words)))


def _path(number: int, question: PathQuestion) -> tuple[str, ...]:
    """Return what is said of one path: key, read, limit, path, public names."""
    path = question.path
    if not (path.startswith(("/", "~/")) or path == "~"):
        raise UsageError("a path on a target is absolute or begins with ~/", where=repr(path))
    names = _names(question.public) if question.read in _NAMED else ""
    return f"p{number}", _LETTER[question.read], str(question.limit), path, names


def _launched(request: Request) -> Iterator[str]:
    """Yield the same launches, told nothing of but whether they report what they did."""
    for number, launch in enumerate(request.launches):
        yield from _launch(f"l{number}", launch, "run_launch")


def _launch(key: str, question: LaunchQuestion, function: str = "ask_launch") -> Iterator[str]:
    words = [] if question.launch == CONTAINER else launch_words(question.launch)
    versions = [_asked(command) for command in question.commands if command.version]
    if versions:
        yield call("want_versions", *versions)
    yield call(function, key, _names(question.public), _names(question.secret), *words)


def _commands(key: str, question: LaunchQuestion) -> Iterator[str]:
    """Yield the questions about programs on the PATH of the launch that was asked for last."""
    for number, command in enumerate(question.commands):
        yield _command(f"{key}.{number}", command)


def launch_words(launch: str) -> list[str]:
    """Split a way of launching into words, as a shell does.

    Raises:
        UsageError: it is empty, or a quote in it does not end.
    """
    try:
        words = shlex.split(launch)
    except ValueError as error:
        raise UsageError(f"a way of launching is not quoted right: {error}", where=launch) from None
    if not words:
        raise UsageError("a way of launching is empty", hint="for example `bash -lc`")
    return words


def _command(key: str, question: CommandQuestion) -> str:
    if not question.name or "/" in question.name:
        raise UsageError("a command is a name without a slash", where=repr(question.name))
    manifest = "1" if question.manifest else "0"
    words = [question.name, _LETTER[question.read], str(TEXT_LIMIT), manifest]
    if question.version or question.every or question.beside:
        flags = ("1" if flag else "0" for flag in (question.version, question.every))
        words += [*flags, *map(_beside, question.beside)]
    return call("ask_command", key, *words)


def _asked(question: CommandQuestion) -> str:
    """Return a program and the argument that makes it tell its version, as a launch is told them.

    Both stand unquoted in the launch's own words, and are of the catalogue.
    """
    asked = f"{question.name}={question.version}"
    if not (_PROGRAM.fullmatch(question.name) and _PLAIN.fullmatch(question.version)):
        raise UsageError(
            "a program that is asked for its version, and the word it is asked with, are plain",
            where=repr(asked),
            hint="letters, digits and some of _ . , : / = + @ % -, and no blank",
        )
    return asked


def _beside(path: str) -> str:
    if path.startswith("/") or ".." in path.split("/"):
        raise UsageError("what lies beside a manifest lies below its folder", where=repr(path))
    return path


def _processes(questions: Sequence[ProcessQuestion]) -> Iterator[str]:
    if questions:
        yield call("ask_candidates", *map(_pattern, questions))
    for number, process in enumerate(questions):
        yield _process(f"r{number}", process)


def _pattern(question: ProcessQuestion) -> str:
    """Return what the longest word of a process looks like as one of its arguments."""
    if not question.words or not all(question.words):
        raise UsageError("a process is looked for by at least one word", where=question.name)
    longest = _SPECIAL.sub(r"\\\1", max(question.words, key=len))
    return f"(^|[/.]){longest}$"


def _process(key: str, question: ProcessQuestion) -> str:
    comm = [_lines(question.comm)] if question.comm else []
    return call(
        "ask_process",
        key,
        _lines(question.words),
        _lines(question.public),
        _lines(question.secret),
        _lines(_valid(question.variables)),
        _lines(_valid(question.secret_variables)),
        *comm,
    )


def _check(key: str, question: CheckQuestion) -> str:
    if not question.words or not question.words[0] or "/" in question.words[0]:
        raise UsageError("what is run to check is a name without a slash", where=question.name)
    return call("ask_check", key, *question.words)


def _containers(key: str, question: ContainerQuestion) -> str:
    return call(
        "ask_containers",
        key,
        question.project,
        _lines(PUBLIC_FLAGS),
        _lines(SECRET_FLAGS),
        _names(question.public),
        _names(question.secret),
    )


def _lines(words: Iterable[str]) -> str:
    words = tuple(words)
    if any("\n" in word for word in words):
        raise UsageError("a word or flag of a process holds a line feed", where=repr(words))
    return "\n".join(words)


def _names(names: Iterable[str]) -> str:
    return " ".join(_valid(names))


def _valid(names: Iterable[str]) -> Iterator[str]:
    for name in names:
        if not _NAME.fullmatch(name):
            raise UsageError("not the name of a variable", where=repr(name))
        yield name


def _parts(request: Request) -> Iterator[str]:
    """Yield the names of the parts of the library that a request needs."""
    yield from ("core", "paths")
    reads = {path.read for path in request.paths}
    reads |= {command.read for launch in request.launches for command in launch.commands}
    if Read.ENV in reads:
        yield "env"
    if Read.JSON in reads:
        yield "json"
    if Read.NOTES in reads:
        yield "notes"
    if request.launches or request.containers or request.crontab or request.checks:
        yield "launches"
    if request.processes or request.listeners or request.interfaces or request.containers:
        yield "running"
    if request.containers:
        yield "containers"


def probe_part(name: str) -> str:
    """Return one part of the probe's library, for another program that stands on it."""
    return _part(name)


@cache
def _part(name: str) -> str:
    text = files("fleet.facts").joinpath("probe", f"{name}.sh").read_text("utf-8")
    return bare_script(text)
