"""From a plan to the one program that carries it out on the target.

The program is a constant library and a payload of quoted calls. It is read from stdin, and its
last line starts it, so that a program that was cut on its way does nothing. Secrets stand in the
payload only, as bytes for the shell's own ``printf``: in no argument of any process.
"""

import hashlib
import posixpath
import time
from collections.abc import Callable, Iterable
from dataclasses import field
from datetime import UTC, datetime
from functools import lru_cache
from importlib.resources import files

from fleet.dataclass import dataclass
from fleet.facts.text import bare_script
from fleet.installers import ledger as ledgers
from fleet.installers.content import Reveal, filled
from fleet.installers.kinds.block import markers
from fleet.installers.ledger import Entry, Ledger
from fleet.installers.model import (
    ABSENT,
    FOLDER,
    Action,
    Content,
    EditFile,
    MakeFolder,
    MoveFolder,
    Plan,
    PutBack,
    PutBlock,
    PutFile,
    PutLink,
    Run,
    SetMode,
    TakeBlock,
    TakePath,
)
from fleet.installers.shellwords import printed, word, words
from fleet.installers.site import link_state
from fleet.secrets import Secret

LIBRARY = ("hold.sh", "files.sh", "together.sh", "programs.sh")
LEDGER_MODE = 0o600


def program(plan: Plan, *, holder: str, since: datetime, reveal: Reveal) -> tuple[str, Secret]:
    """Return the library and the payload that carry out a plan.

    Args:
        plan: what to do; a saved plan does, its guards are checked on the target.
        holder: who does it (``user@controller``), told to a second operator and kept in the
            ledger.
        since: when that one began, told as well.
        reveal: gives a secret's value.

    Raises:
        SecretError: a secret has no value, or one that the file it goes to cannot hold.
    """
    writer = _Writer(plan, reveal, _one_line(holder), since)
    return library(), Secret(writer.payload())


@lru_cache(maxsize=1)
def library() -> str:
    """Return the constant half of every apply program: functions only."""
    folder = files("fleet.installers") / "shell"
    text = "\n".join((folder / name).read_text(encoding="utf-8") for name in LIBRARY)
    return bare_script(text)


def _one_line(text: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in text)[:200]


@dataclass(slots=True)
class _Writer:
    """Writes one payload: contents, guards, calls, and the journal that undoes them."""

    plan: Plan
    reveal: Reveal
    holder: str
    since: datetime
    contents: list[str] = field(default_factory=list)
    guards: list[str] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    journal: list[str] = field(default_factory=list)
    sizes: dict[str, int] = field(default_factory=dict)
    number: int = 0

    def payload(self) -> str:
        home = self.plan.home
        state = home.rstrip("/") + ledgers.STATE[1:]
        if not self.plan.recover:
            for _, action in self.plan.actions:
                self.add(action)
            if self.calls and (self.plan.ledger.entries or self.plan.ledger_expect != ABSENT):
                self.add(self.ledger_action(f"{state}/ledger.json"))
        head = [
            f"MARK={word(self.plan.mark)}",
            f"STATE={word(state)}",
            f"HOLDER={word(self.holder)}",
            f"SINCE={self.since.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}",
            f"HOME={word(home)}",
            "export HOME",
            # Before the machine's own, as a login shell has it: what was installed a step ago, a
            # newer node for one, is what the next one runs on.
            "PATH=$HOME/.local/bin:$PATH:/opt/homebrew/bin",
        ]
        made = self.plan.state_folders
        head += _function(
            "homes", [f"try mkdir -p -m 700 {words(made)} || return 1" if made else ":"]
        )
        head += _function("unhome", _emptied(reversed(made)))
        head += [*self.contents, *_function("record", [printed(self.recorded().encode())])]
        work = ["begin", *self.calls, "commit"] if self.calls else ["leave 0"]
        main = ["watch", "ready", "lock", "recover", *self.guards, *work]
        return "\n".join([*head, *_function("main", main), "main </dev/null", ""])

    def recorded(self) -> str:
        """Return the journal: what undoes each step, last first, and the folders to drop."""
        home = _emptied(reversed(self.plan.state_folders))
        return "\n".join(
            [
                *_function("j_steps", list(reversed(self.journal))),
                *_function("j_home", home),
                *_function("j_gone", _emptied(self.plan.gone)),
                "" if self.plan.gone else "folders=none",
                "",
            ]
        )

    def add(self, action: Action) -> None:
        self.number += 1
        _WRITERS[type(action)](self, action)

    def ledger_action(self, path: str) -> Action:
        expect = self.plan.ledger_expect
        if not self.plan.ledger.entries:
            # Nothing of fleet's is left: its own book goes too.
            return TakePath(path=path, expect=expect)
        entries = tuple(self.signed(entry) for entry in self.plan.ledger.entries)
        told = Ledger(entries=entries, folders=self.plan.ledger.folders)
        content = Content(data=told.to_bytes())
        return PutFile(path=path, expect=expect, content=content, mode=LEDGER_MODE)

    def signed(self, entry: Entry) -> Entry:
        """Say who put a new entry there, and how long a file with secrets has become."""
        update: dict[str, object] = {} if entry.by else {"by": self.holder}
        if entry.path in self.sizes and entry.kind == "file" and not entry.sha256:
            update["size"] = self.sizes[entry.path]
        return entry.model_copy(update=update)

    # --- pieces of calls ---

    def beside(self, path: str, what: str) -> str:
        name = f".{self.plan.mark[1:]}-{self.number}.{what}"
        return posixpath.join(posixpath.dirname(path), name)

    def guard(self, expect: str, path: str) -> None:
        if expect != "=":
            self.guards.append(f"hold {self.number} {word(expect)} {word(path)}")

    def content(self, body: str) -> str:
        name = f"c{self.number}"
        self.contents += [f"{name}() {{", body, "}"]
        return name

    def call(self, *parts: str) -> None:
        self.calls.append(f"{parts[0]} {self.number} {words(parts[1:])}".rstrip())

    def undo(self, verb: str, *parts: str) -> None:
        self.journal.append(f"j {self.number} {verb} {words(parts)}".rstrip())

    def replace(self, path: str, expect: str, backup: str = "") -> tuple[str, str]:
        """Guard a path and journal its replacement; returns the names for new and old."""
        self.guard(expect, path)
        if backup:
            self.guard(ABSENT, backup)
        new = self.beside(path, "new")
        old = "" if expect == ABSENT else backup or self.beside(path, "old")
        self.undo("file", path, new, old, *(("kept",) if backup else ()))
        return new, old


def _function(name: str, lines: list[str]) -> list[str]:
    return [f"{name}() {{", *lines, "}"]


def _emptied(folders: Iterable[str]) -> list[str]:
    """Return what removes folders that are empty, inner ones first: each is tried."""
    told, most = tuple(folders), 200
    several = (told[start : start + most] for start in range(0, len(told), most))
    return [*(f"rmdir {words(some)} 2>/dev/null" for some in several), ":"]


def _octal(mode: int) -> str:
    return f"{mode:o}"


def _folder(writer: _Writer, action: MakeFolder) -> None:
    writer.guard(ABSENT, action.path)
    writer.undo("folder", action.path)
    writer.call("folder", action.path, _octal(action.mode))


def _put(writer: _Writer, action: PutFile) -> None:
    data = filled(action.content, writer.reveal)
    writer.sizes[action.path] = len(data)
    new, old = writer.replace(action.path, action.expect, action.backup)
    stamp = (
        "" if action.mtime is None else time.strftime("%Y%m%d%H%M.%S", time.gmtime(action.mtime))
    )
    together = not action.backup and action.expect[0] in (ABSENT, "f")
    writer.call(
        "bring" if together else "put",
        action.expect,
        action.path,
        new,
        old,
        _octal(action.mode),
        hashlib.sha256(data).hexdigest(),
        writer.content(printed(data)),
        stamp,
    )


def _link(writer: _Writer, action: PutLink) -> None:
    new, old = writer.replace(action.path, action.expect, action.backup)
    state = link_state(action.text)
    writer.call("link", action.expect, action.path, new, old, action.text, state)


def _edit(writer: _Writer, action: EditFile) -> None:
    parts, at, size = [], 0, action.size
    for splice in action.splices:
        data = filled(splice.insert, writer.reveal)
        parts += [f"part {at} {splice.offset}"] if splice.offset > at else []
        parts += [printed(data)] if data else []
        at = splice.offset + splice.removed
        size += len(data) - splice.removed
    parts += [f"part {at} {action.size}"] if action.size > at else []
    new, old = writer.replace(action.path, action.expect, action.backup)
    content = writer.content(" &&\n".join(parts) or ":")
    writer.call("edit", action.expect, action.path, new, old, str(size), content)


def _block(writer: _Writer, action: PutBlock) -> None:
    new, old = writer.replace(action.path, action.expect)
    content = writer.content(printed(filled(action.content, writer.reveal)))
    mode = _octal(action.mode)
    first, joined, last = markers(action.name)
    writer.call("block", action.expect, action.path, new, old, mode, first, joined, last, content)


def _unblock(writer: _Writer, action: TakeBlock) -> None:
    new, old = writer.replace(action.path, action.expect)
    created = "1" if action.created else ""
    marks = markers(action.name)
    writer.call("unblock", action.expect, action.path, new, old, created, *marks, action.sha256)


def _take(writer: _Writer, action: TakePath) -> None:
    writer.guard(action.expect, action.path)
    old = writer.beside(action.path, "old")
    writer.undo("take", action.path, old)
    verb = "uncheck" if action.expect == FOLDER else "take"
    writer.call(verb, action.expect, action.path, old)


def _again(writer: _Writer, action: PutBack) -> None:
    writer.guard(action.expect, action.path)
    new = writer.beside(action.path, "new")
    old = "" if action.expect == ABSENT else writer.beside(action.path, "old")
    writer.undo("again", action.path, new, old, action.backup)
    writer.call("again", action.expect, action.path, new, old, action.backup)


def _access(writer: _Writer, action: SetMode) -> None:
    writer.guard(action.expect, action.path)
    writer.undo("access", action.path, _octal(action.former))
    writer.call("access", action.expect, action.path, _octal(action.mode))


def _move(writer: _Writer, action: MoveFolder) -> None:
    writer.guard(ABSENT, action.path)
    writer.undo("move", action.path, action.beside)
    writer.call("move", action.beside, action.path)


def _run(writer: _Writer, action: Run) -> None:
    if action.undo:
        writer.undo("run", str(action.seconds), *action.undo)
    if action.words:
        writer.call("run", str(action.seconds), *action.words)
    else:
        writer.call("after")


_WRITERS: dict[type, Callable[..., None]] = {
    MakeFolder: _folder,
    PutFile: _put,
    PutLink: _link,
    EditFile: _edit,
    PutBlock: _block,
    TakeBlock: _unblock,
    TakePath: _take,
    PutBack: _again,
    SetMode: _access,
    MoveFolder: _move,
    Run: _run,
}
