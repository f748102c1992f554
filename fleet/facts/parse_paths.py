"""Paths, commands and launching shells, from the records of an answer."""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Literal, TypeAlias, TypeVar, get_args

from fleet.facts.frames import Answer, Record, not_understood
from fleet.facts.ini import named
from fleet.facts.parse_notes import notes
from fleet.facts.paths import Entry, EnvFile, EnvLine, PathFact, State
from fleet.facts.pem import certificates_in
from fleet.facts.request import CommandQuestion, LaunchQuestion, PathQuestion, Read, Request
from fleet.facts.running import CommandFact, EnvValue, LaunchFact

CHANGED = "it changed while it was read"

Choice = TypeVar("Choice", bound=str)
FileKind = Literal["file", "directory", "other"]
EntryKind = Literal["file", "directory", "link", "other"]
LaunchState = Literal["ok", "missing", "timeout", "failed", "unsupported"]
FILE_KINDS: tuple[FileKind, ...] = get_args(FileKind)
ENTRY_KINDS: tuple[EntryKind, ...] = get_args(EntryKind)
LAUNCH_STATES: tuple[LaunchState, ...] = get_args(LaunchState)
_GONE = re.compile(r"p[0-9]{1,9} [0-9]{1,5}(?: p[0-9]{1,9} [0-9]{1,5})*")
_STATES: Mapping[str, State] = {state.value: state for state in State}
PERMISSIONS = 0o7777


#: Fields of a path's fact by their names, on their way to be validated, all of them at once.
Told: TypeAlias = dict[str, object]


def one_of(record: Record, index: int, choices: tuple[Choice, ...]) -> Choice:
    """Return a field that must be one of ``choices``."""
    text = record.text(index)
    for choice in choices:
        if choice == text:
            return choice
    raise record.wrong("a field is none of the words agreed on")


def take_variables(answer: Answer, key: str, public: Mapping[str, bool]) -> dict[str, EnvValue]:
    """Return the variables told under one key; ``public`` says of each name asked for if it is."""
    variables: dict[str, EnvValue] = {}
    for record in answer.many("var", key):
        name, how = record.text(1), one_of(record, 2, ("public", "secret", "unset"))
        if name not in public or (how == "public" and not public[name]):
            raise record.wrong("a variable was not asked for")
        variables[name] = _variable(record, how)
    return variables


def _variable(record: Record, how: str) -> EnvValue:
    if how == "unset":
        return EnvValue(set=False)
    if how == "public":
        raw = record.raw(3) or b""
        return EnvValue(set=True, length=len(raw), value=raw.decode("utf-8", "backslashreplace"))
    return EnvValue(set=True, length=record.number(3) or 0, digest=record.digest(4))


class PathReader:
    """Reads what became of paths; ``contents`` fills with the bytes that were sent for them."""

    def __init__(self, answer: Answer, request: Request, home: str) -> None:
        self.contents: dict[str, bytes] = {}
        self._answer = answer
        self._home = home
        self._gone = _gone(answer)
        self._known = request.known
        self._sent: dict[str, bytes | None] = {}
        for record in answer.many("data"):
            self._take_contents(record)

    def _take_contents(self, record: Record) -> None:
        """Take contents that were sent one after the other; sizes only say where each ends."""
        names, held = record.digests(0), record.raw(1) or b""
        sizes = record.numbers(2) if len(names) > 1 else (len(held),)
        if len(sizes) != len(names):
            raise record.wrong("it has not as many sizes as contents")
        at = 0
        for name, size in zip(names, sizes, strict=True):
            if name in self._sent or name in self._known:
                raise record.wrong("a content was not to be sent")
            content, at = held[at : at + size], at + size
            self._sent[name] = content if hashlib.sha256(content).hexdigest() == name else None

    def questions(self, questions: Iterable[PathQuestion]) -> dict[str, PathFact]:
        """Return the facts of all paths; a path that was asked twice has one fact of both."""
        facts: dict[str, PathFact] = {}
        for number, question in enumerate(questions):
            cut = self._gone.pop(f"p{number}", None)
            if cut is None:
                fact = self.path(f"p{number}", question.read, question.path)
            else:
                fact = _absent(question.path, self._home, cut)
            held = facts.get(question.path)
            facts[question.path] = fact if held is None else _merged(held, fact)
        if self._gone:
            raise not_understood("nobody asked for a path that is absent")
        return facts

    def path(self, key: str, read: Read, path: str | None = None) -> PathFact:
        """Return what became of one path; without ``path`` the target says which one it was."""
        record = self._answer.one("path", key)
        state, final = _state(record), record.maybe(4)
        if final is None and state is State.PRESENT:
            raise record.wrong("what is present lies nowhere")
        if final is not None and state not in (State.PRESENT, State.UNREADABLE):
            raise record.wrong("what is not there lies somewhere")
        hops, closed = self._answer.many("hop", key), self._answer.many("closed", key)
        if final is None:
            return _nowhere(path, record, tuple(hops), tuple(closed))
        told = self._stat(key) | self._noted(key, final) | self._whole(key, read, final)
        fact = _led(path, record, hops, closed, told)
        if fact.state is State.PRESENT and fact.why is None and not _answers(fact, read):
            raise record.wrong("what was to be read is missing, and nothing says why,")
        return fact

    def _stat(self, key: str) -> Told:
        record = self._answer.one("stat", key)
        mode = record.number(2, 8)
        return {
            "kind": one_of(record, 1, FILE_KINDS),
            "mode": None if mode is None else mode & PERMISSIONS,
            "uid": record.number(3),
            "size": record.number(4),
            "mtime": record.number(5),
            "owner": record.maybe(6),
            "inode": record.number(7),
        }

    def _noted(self, key: str, final: str) -> Told:
        record = self._answer.maybe("note", key)
        if record is None:
            return {}
        state = State(one_of(record, 1, ("present", "unreadable", "unsupported")))
        at = None if state is State.PRESENT else final
        return {"state": state, "at": at, "why": record.text(2)}

    def _whole(self, key: str, read: Read, final: str) -> Told:
        if read is Read.LIST:
            may = self._answer.maybe("may", key)
            return {"entries": self._entries(key), "writable": may.flag(1) if may else None}
        if read is Read.NOTES:
            return {"notes": notes(self._answer, key)}
        if read is Read.ENV:
            return {"env": self._env(key)}
        if read is Read.JSON:
            json = self._answer.maybe("json", key)
            return {"shape": json.text(1) if json else None}
        if read is Read.INI:
            ini = self._answer.maybe("ini", key)
            return {"sections": named(ini.maybe(1) or "") if ini else None}
        told: Told = {}
        if read is Read.PEM:
            pem = self._answer.maybe("pem", key)
            told["certificates"] = certificates_in(pem.raw(1) or b"") if pem else None
        record = self._answer.maybe("sum", key)
        sha256 = record.digest(1) if record else None
        if sha256 is None:
            return told
        if read is Read.WHOLE and sha256 not in self._known:
            content = self._sent.get(sha256)
            if content is None:
                return told | {"state": State.UNREADABLE, "at": final, "why": CHANGED}
            self.contents[sha256] = content
        return told | {"sha256": sha256}

    def _entries(self, key: str) -> tuple[Entry, ...] | None:
        entries = tuple(
            Entry(
                kind=one_of(record, 1, ENTRY_KINDS),
                dangling=record.flag(2),
                name=record.text(3),
                target=record.maybe(4),
            )
            for record in self._answer.many("entry", key)
        )
        return entries if self._answer.maybe("entries", key) else None

    def _env(self, key: str) -> EnvFile | None:
        lines = tuple(
            EnvLine(
                number=record.number(1) or 0,
                masked=record.flag(2),
                text=record.text(3),
                raw=record.digest(4),
                unquoted=record.digest(5),
                trimmed=record.digest(6),
            )
            for record in self._answer.many("line", key)
        )
        record = self._answer.maybe("env", key)
        if record is None:
            return None
        return EnvFile(
            lines=lines,
            bom=record.flag(1),
            encrypted="git-crypt" if record.maybe(2) == "git-crypt" else None,
            binary=record.flag(3),
            truncated=record.flag(4),
        )

    def launch(self, key: str, question: LaunchQuestion) -> LaunchFact:
        """Return what a way of launching exports."""
        record = self._answer.one("launch", key)
        state = one_of(record, 1, LAUNCH_STATES)
        if state != "ok":
            return LaunchFact(launch=question.launch, state=state, why=record.maybe(2))
        names = dict.fromkeys(question.secret, False) | dict.fromkeys(question.public, True)
        return LaunchFact(
            launch=question.launch,
            state=state,
            variables=take_variables(self._answer, key, names),
            commands={
                command.name: self._command(f"{key}.{number}", command)
                for number, command in enumerate(question.commands)
            },
        )

    def _command(self, key: str, question: CommandQuestion) -> CommandFact:
        if not self._answer.one("command", key).flag(1):
            return CommandFact(name=question.name, others=() if question.every else None)
        version = self._answer.maybe("version", key)
        return CommandFact(
            name=question.name,
            file=self.path(f"{key}.file", question.read),
            manifest=self._manifest(key),
            version=(version.maybe(1) or "").strip() if version else None,
            others=self._others(key, question) if question.every else None,
            beside={
                path: self.path(f"{key}.beside.{number}", Read.WHOLE)
                for number, path in enumerate(question.beside, 1)
                if self._answer.has("path", f"{key}.beside.{number}")
            },
        )

    def _manifest(self, key: str) -> PathFact | None:
        if not self._answer.has("path", f"{key}.manifest"):
            return None
        return self.path(f"{key}.manifest", Read.WHOLE)

    def _others(self, key: str, question: CommandQuestion) -> tuple[CommandFact, ...]:
        found: list[CommandFact] = []
        while self._answer.has("path", f"{key}.more.{len(found) + 1}.file"):
            more = f"{key}.more.{len(found) + 1}"
            file = self.path(f"{more}.file", question.read)
            found.append(CommandFact(name=question.name, file=file, manifest=self._manifest(more)))
        return tuple(found)


def _gone(answer: Answer) -> dict[str, int]:
    """Return the keys of paths that were told together, and how much of each was not reached."""
    gone: dict[str, int] = {}
    for record in answer.many("absent"):
        told = record.text(0)
        if not _GONE.fullmatch(told):
            raise record.wrong("a field does not say how far paths lead")
        words = told.split(" ")
        for key, cut in zip(words[::2], words[1::2], strict=True):
            if key in gone:
                raise record.wrong("a path is told twice")
            gone[key] = int(cut)
    return gone


def _state(record: Record) -> State:
    state = _STATES.get(record.text(1))
    if state is None:
        raise record.wrong("a field is none of the words agreed on")
    return state


def _led(
    path: str | None,
    record: Record,
    hops: Sequence[Record],
    closed: Sequence[Record],
    told: Told,
) -> PathFact:
    """Return where a path led to, and what is told of what lies there."""
    absolute = record.text(3)
    where: Told = {
        "path": absolute if path is None else path,
        "absolute": absolute,
        "state": _state(record),
        "link": record.flag(2),
        "hops": [{"path": hop.text(1), "target": hop.text(2)} for hop in hops],
        "final": record.maybe(4),
        "at": record.maybe(5),
        "why": record.maybe(6),
        "closed": tuple(dict.fromkeys([shut.text(1) for shut in closed])),
    }
    return PathFact.model_validate(where | told)


@lru_cache(maxsize=4096)
def _absent(path: str, home: str, cut: int) -> PathFact:
    """Return that a path leads through no link, and ends ``cut`` characters early."""
    absolute = path
    if path == "~" or path.startswith("~/"):
        absolute = home if path == "~" else home.removesuffix("/") + path[1:]
    length = len(absolute) - cut
    if length < 1 or absolute[length:][:1] not in ("", "/") or not absolute.isascii():
        raise not_understood("a path that is absent ends within a name")
    return PathFact(path=path, absolute=absolute, state=State.ABSENT, at=absolute[:length])


@lru_cache(maxsize=4096)
def _nowhere(
    path: str | None, record: Record, hops: tuple[Record, ...], closed: tuple[Record, ...]
) -> PathFact:
    """Return where a path led to that ends nowhere: most do, and alike on all of a fleet."""
    return _led(path, record, hops, closed, {})


def _answers(fact: PathFact, read: Read) -> bool:
    if read is Read.LIST:
        return fact.kind != "directory" or fact.entries is not None
    if read is Read.NOTES:
        return fact.kind != "directory" or fact.notes is not None
    if fact.kind != "file" or read is Read.STAT:
        return True
    told = {Read.ENV: fact.env, Read.JSON: fact.shape, Read.INI: fact.sections}
    return told.get(read, fact.sha256) is not None


def _merged(one: PathFact, other: PathFact) -> PathFact:
    worse = other if one.state is State.PRESENT else one
    read = {
        name: getattr(one, name) if getattr(one, name) is not None else getattr(other, name)
        for name in (
            "sha256",
            "entries",
            "env",
            "writable",
            "shape",
            "certificates",
            "sections",
            "notes",
        )
    }
    return worse.model_copy(update=read)
