"""How the server runs: does it stay, does it alone write, is it what is installed."""

import posixpath
import re
from collections.abc import Iterator, Mapping

from packaging.version import InvalidVersion, Version

from fleet.dataclass import dataclass
from fleet.facts.paths import PathFact, State
from fleet.facts.running import ContainerFact, EnvValue, ProcessFact
from fleet.systems.mempalace_serve.asked import Heard, spoken, views
from fleet.systems.mempalace_serve.server import (
    COMPOSE_PALACE,
    containers,
    own_processes,
    processes,
)
from fleet.verifier.look import Look
from fleet.verifier.model import (
    Judgement,
    failed,
    not_applicable,
    not_checked,
    passed,
    warned,
)

IDLE_HOURS = "MEMPALACE_MCP_IDLE_HOURS"
READ_ONLY = "MEMPALACE_MCP_READ_ONLY"
DEFAULT_HOURS = "8"

_RESTARTS = frozenset({"always", "unless-stopped"})
_TELLS_STALE = Version("3.7.0")
_TAKES_LOCK = Version("3.7.0")
_TRUE = frozenset({"1", "true", "yes", "on"})
_WITHIN = "within the container of process"
_UNITS = ("unit-systemd", "unit-systemd-user", "unit-launchd")
_RESTART_LINE = re.compile(rb"^[ \t]*Restart[ \t]*=[ \t]*([a-z-]+)[ \t]*$", re.MULTILINE)
_KEPT_ALIVE = re.compile(rb"<key>KeepAlive</key>\s*<true\s*/>")
# As in proc(5): number, kind, mode, READ or WRITE, pid, device and inode, range.
_LOCK = re.compile(rb"^\d+: FLOCK +\S+ +WRITE +(-?\d+) +[0-9a-f]+:[0-9a-f]+:(\d+) ", re.MULTILINE)


def stays(look: Look) -> Judgement:
    """The server does not end by itself after idle hours, or something starts it again."""
    running = [c for c in containers(look) if c.state == "running"]
    servers = own_processes(look)
    if not (running or servers):
        return not_checked("neither the server nor its container was seen")
    unit, restarts = _unit_restarts(look)
    ends: list[str] = []
    kept: list[str] = []
    unseen: list[str] = []
    for where, variables, policy in _kept_by(running, servers, restarts):
        hours = _idle_hours(variables)
        if policy in _RESTARTS:
            kept.append(f"{where}: restart is {policy}")
        elif hours is None:
            unseen.append(f"{where}: its environment was not seen")
        elif hours == "0":
            kept.append(f"{where}: {IDLE_HOURS} is 0")
        else:
            ends.append(f"{where}: {hours} idle hours, restart is {policy or 'not seen'}")
    told = [*ends, *kept, *unseen, *([unit] if unit else [])]
    if ends:
        return warned("ends by itself after idle hours, and nothing starts it again", *told)
    if unseen:
        return not_checked("whether it ends by itself was not seen", *told)
    return passed("stays, or is started again", *told)


def _kept_by(
    running: list[ContainerFact], servers: tuple[ProcessFact, ...], restarts: str
) -> Iterator[tuple[str, Mapping[str, EnvValue], str]]:
    for container in running:
        yield f"container {container.name}", container.variables, container.restart or "no"
    if not running:  # else the processes seen are those within the containers
        for server in servers:
            yield f"process {server.pid}", server.variables, restarts


def _idle_hours(variables: Mapping[str, EnvValue]) -> str | None:
    """Return the hours after which it ends, "0" for never, None where they were not seen."""
    if IDLE_HOURS not in variables:
        return None
    text = (variables[IDLE_HOURS].value or "").strip() or DEFAULT_HOURS
    try:
        return "0" if float(text) <= 0 else text
    except ValueError:
        return DEFAULT_HOURS


def _unit_restarts(look: Look) -> tuple[str, str]:
    """Return the unit that was seen, in words, and when it starts the server again."""
    for name in _UNITS:
        fact = look.artifact(name)
        content = look.content(fact)
        if fact is None or content is None:
            continue
        if name == "unit-launchd":
            policy = "always" if _KEPT_ALIVE.search(content) else "no"
        else:
            found = _RESTART_LINE.findall(content)
            policy = found[-1].decode() if found else "no"
        return f"{fact.path}: restart is {policy}", policy
    return "", ""


@dataclass(frozen=True, slots=True)
class _Writer:
    """Something that writes to a palace: where its lock lives is where its home is.

    ``own`` is what serves the palace that is asked about; a machine may serve others too.
    """

    name: str
    palace: str
    home: str | None
    own: bool = True

    def __str__(self) -> str:
        return f"{self.name}: palace {self.palace}, HOME {self.home or 'not seen'}"


def writer(look: Look) -> Judgement:
    """One server writes to a palace, and holds its lock; whoever shares it shares the home."""
    found = [*_writers(look)]
    meant = {each.palace for each in found if each.own}
    writers = [each for each in found if each.palace in meant]
    if not writers:
        return not_checked("no writing server was seen here")
    told = [str(each) for each in writers]
    by_palace: dict[str, list[_Writer]] = {}
    for each in writers:
        by_palace.setdefault(each.palace, []).append(each)
    for palace, shared in by_palace.items():
        if len(shared) > 1:
            homes = {each.home for each in shared}
            apart = "" if len(homes) == 1 else "; their homes differ, so no lock keeps them apart"
            return failed(f"{len(shared)} servers write to {palace}{apart}", *told)
    if sum(_WITHIN in each.palace for each in writers) > 1:
        return not_checked("several servers run in containers that were not looked into", *told)
    shut = [
        f"{name} is true, says /statusz"
        for fact in views(look)
        for name, flag in fact.writer.items()
        if flag and name.startswith("peer_writer")
    ]
    if shut:
        return failed("another process holds the palace, so nothing can be written", *shut, *told)
    return _locked(look, told)


def _writers(look: Look) -> Iterator[_Writer]:
    inner: list[str] = []
    own = {process.pid for process in own_processes(look)}
    for container in containers(look):
        if container.state != "running" or _reads_only(container.flags, container.variables):
            continue
        palace = container.flags.get("--palace") or COMPOSE_PALACE
        inner.append(palace)
        home = container.variables.get("HOME")
        where = _outside(palace, container.mounts)
        yield _Writer(f"container {container.name}", where, home.value if home else None)
    for process in processes(look):
        palace = process.flags.get("--palace") or look.text("palace_path") or "not told"
        if _reads_only(process.flags, process.variables) or (process.contained and inner):
            continue  # what runs in a container is told by its engine
        if palace in inner:  # the container's own process, seen from outside
            inner.remove(palace)
            continue
        home = process.variables.get("HOME")
        where = f"{palace} {_WITHIN} {process.pid}" if process.contained else palace
        known = home.value if home else None
        yield _Writer(f"process {process.pid}", where, known, own=process.pid in own)


def _reads_only(flags: Mapping[str, str], variables: Mapping[str, EnvValue]) -> bool:
    told = variables.get(READ_ONLY)
    return "--read-only" in flags or (
        told is not None and (told.value or "").strip().lower() in _TRUE
    )


def _outside(path: str, mounts: Mapping[str, str]) -> str:
    """Return what a path within a container is outside: the same folder has the same name."""
    for inner in sorted(mounts, key=len, reverse=True):
        if path == inner or path.startswith(inner.rstrip("/") + "/"):
            rest = path[len(inner) :].lstrip("/")
            return posixpath.join(mounts[inner], rest) if rest else mounts[inner]
    return f"{path} within the container"


def _locked(look: Look, told: list[str]) -> Judgement:
    """Ask who holds the lock as the kernel tells it: the text in its file outlives its holder."""
    if any(c.state == "running" for c in containers(look)):
        return passed("one server writes; its lock is within its container", *told)
    fact, table = look.artifact("lock-file"), look.artifact("locks")
    locks = look.content(table)
    if fact is None or locks is None or fact.state not in (State.PRESENT, State.ABSENT):
        return passed("one server writes; its lock could not be asked", *told, *_why(fact, table))
    holders = [] if fact.inode is None else _holders(locks, fact.inode)
    own = {process.pid for process in processes(look)}
    others = [pid for pid in holders if pid not in own]
    if others:
        named = ", ".join(f"process {pid}" for pid in others)
        return failed(f"the lock is held by {named}, which is no server", fact.path, *told)
    if holders:
        return passed(f"one server writes, and holds the lock (process {holders[0]})", *told)
    if _takes_lock_at_start(look):
        return warned(
            f"one server writes, and does not hold the lock in {posixpath.dirname(fact.path)}",
            *told,
            remedy="declare `serve_home`, the home of the user the server runs as",
        )
    return passed("one server writes; it takes the lock when it first does", *told)


def _why(*facts: PathFact | None) -> list[str]:
    return [f"{f.path}: {f.why or f.state}" for f in facts if f and f.state is not State.PRESENT]


def _holders(locks: bytes, inode: int) -> list[int]:
    return [int(pid) for pid, held in _LOCK.findall(locks) if int(held) == inode]


def _takes_lock_at_start(look: Look) -> bool:
    found = spoken(look)
    version = _version(found) if isinstance(found, Heard) else None
    return version is not None and version >= _TAKES_LOCK


def _version(found: Heard) -> Version | None:
    try:
        return Version(found.fact.version)
    except InvalidVersion:
        return None


def stale(look: Look) -> Judgement:
    """The server runs what is installed: release, libraries, program."""
    found = spoken(look)
    if isinstance(found, Judgement):
        return found
    fact = found.fact
    if fact.stale:
        return failed("runs other libraries than are installed", *fact.stale_packages, found.place)
    older = [*_started_before_program(look)]
    if older:
        return warned("its program changed after it was started", *older)
    if fact.stale is False:
        return passed(f"runs what is installed: {fact.version}", found.place)
    version = _version(found)
    if fact.stale_packages:
        return not_checked("it could not compare all of its libraries", *fact.stale_packages)
    if version is not None and version < _TELLS_STALE:
        return not_applicable(f"{version} does not tell: {_TELLS_STALE} and later do", found.place)
    return not_checked("it does not tell whether its libraries are stale", found.place)


def _started_before_program(look: Look) -> Iterator[str]:
    program = look.artifact("program")
    if program is None or program.mtime is None:
        return
    for process in own_processes(look):
        if process.started is not None and process.started < program.mtime:
            yield f"{program.path} is newer than process {process.pid}"
