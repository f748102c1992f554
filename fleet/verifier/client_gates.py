"""Judging the palace's registration in clients that read a JSON file.

One set of gates for every system that describes such clients: each names those it speaks of.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from fleet.dataclass import dataclass
from fleet.facts.running import LaunchFact
from fleet.verifier.clients import Client, Entry, Registered, clients, faults, registered
from fleet.verifier.launches import Unseen, over_launches
from fleet.verifier.look import Look
from fleet.verifier.model import (
    Judgement,
    failed,
    not_applicable,
    not_checked,
    passed,
    warned,
)
from fleet.verifier.registrations import (
    OTHERS,
    declared_palace,
    exported,
    is_comparable,
    is_palace,
    lacks_program,
    literal_credentials,
)
from fleet.verifier.trials import Declared, Trial, tries
from fleet.verifier.trials import answered as answered_when_tried

Chosen: TypeAlias = Sequence[Client]
_UNSEEN = "not everything could be seen: {}"


@dataclass(frozen=True, slots=True)
class Gates:
    """The gates of one system; ``names`` tells which clients it speaks of on a target."""

    names: Callable[[Look], Sequence[str]]

    def form(self, look: Look) -> Judgement:
        """Their files parse, and the palace's entries are as each wants them."""
        return self._asked(look, form)

    def palace(self, look: Look) -> Judgement:
        """Each is led to the declared palace, once."""
        return self._asked(look, palace)

    def command(self, look: Look) -> Judgement:
        """The program of a solitary palace is there for each."""
        return self._asked(look, command)

    def variables(self, look: Look) -> Judgement:
        """What their entries take from the environment is exported."""
        return self._asked(look, variables)

    def token(self, look: Look) -> Judgement:
        """No credential is written out where others can read it."""
        return self._asked(look, token)

    def initialize(self, look: Look) -> Judgement:
        """The servers that their entries name answer, tried as each of them does it."""
        return self._asked(look, initialize)

    def trials(self, look: Look) -> Sequence[Trial]:
        """Return what a deep check tries for them."""
        known = clients()
        names = [name for name in self.names(look) if name in known]
        return tries(look, _tried(look, [known[name] for name in names]))

    def _asked(self, look: Look, gate: Callable[[Look, Chosen], Judgement]) -> Judgement:
        known = clients()
        names = [name for name in self.names(look) if name]
        for name in names:
            if name not in known:
                told = ", ".join(sorted(known))
                return not_checked(f"there is no client {name!r}; it would be one of {told}")
        if not names:
            return not_applicable("no client is declared here (`mcp_clients`)")
        return gate(look, [known[name] for name in names])


def form(look: Look, asked: Chosen) -> Judgement:
    """Every file parses, and the palace's entries are as their client wants them."""
    wrong, unseen, good = [], [], []
    for found in _all(look, asked):
        wrong += found.broken
        unseen += found.unread
        for entry in _palaces(look, found):
            where = f"{entry.where}: {entry.name}"
            lines = list(faults(found.client, entry))
            wrong += [f"{where}: {line}" for line in lines]
            good += [] if lines else [where]
    if wrong:
        return failed("a client does not take its file as it is meant", *wrong)
    if unseen:
        return not_checked(_UNSEEN.format(unseen[0]), *unseen)
    if not good:
        return not_applicable("the palace is registered nowhere yet")
    return passed("every entry is as its client wants it", *good)


def palace(look: Look, asked: Chosen) -> Judgement:
    """Each client's entry leads to the declared palace, and is the only one."""
    wrong, unseen, odd, good = [], [], [], []
    for found in _all(look, asked):
        told = _registration(look, found)
        blind = [*found.unread, *found.broken, *_not_compared(look, found)]
        unseen += blind
        wrong += [] if blind else told
        odd += _twice(look, found)
        good.append(f"{found.client.label}: {declared_palace(look)}")
    if wrong:
        return failed("a client does not reach the declared palace", *wrong)
    if unseen:
        return not_checked(_UNSEEN.format(unseen[0]), *unseen)
    if odd:
        return warned("the palace is registered more than once", *odd)
    return passed("every client leads to the declared palace", *good)


def command(look: Look, asked: Chosen) -> Judgement:
    """The program that an entry starts is there for every launch, and for the desktop."""
    programs = {entry.text("command"): c for c, entry in _deciding(look, asked)}
    programs.pop("", None)
    if not programs:
        return not_applicable("no program is started for the palace")

    def lacking(launch: LaunchFact) -> list[str]:
        lines: list[str] = []
        for program, client in programs.items():
            if client.desktop and "/" not in program:
                told = f"{client.label} gets the desktop's PATH: whether {program} is on it is"
                lines.append(Unseen(f"{told} not known; declare an absolute path"))
            else:
                lines += lacks_program(look, launch, program)
        return lines

    return over_launches(
        look, lacking, good=f"{', '.join(programs)} is there", bad="the program cannot be started"
    )


def variables(look: Look, asked: Chosen) -> Judgement:
    """Every launch exports what the entries take from the environment."""
    return exported(look, (entry.fields for _, entry in _deciding(look, asked)))


def token(look: Look, asked: Chosen) -> Judgement:
    """No credential is written out where others can read it."""
    open_to: list[str] = []
    closed: list[str] = []
    unseen: list[str] = []
    seen = 0
    for found in _all(look, asked):
        unseen += [*found.unread, *found.broken]
        for entry in _palaces(look, found):
            seen += 1
            lines = [f"{entry.where}: {entry.name}.{w}" for w in literal_credentials(entry.fields)]
            readable = entry.mode is None or entry.mode & OTHERS
            mode = "" if entry.mode is None else f" (mode {entry.mode:04o})"
            (open_to if readable else closed).extend(f"{line}{mode}" for line in lines)
    if open_to:
        return failed("a credential is written out where others can read it", *open_to, *closed)
    if unseen:
        return not_checked(_UNSEEN.format(unseen[0]), *unseen)
    if closed:
        return warned("a credential is written out", *closed)
    if not seen:
        return not_applicable("the palace is registered nowhere yet")
    return passed("no credential is written out")


def initialize(look: Look, asked: Chosen) -> Judgement:
    """Every client's palace answers as a server of MCP."""
    return answered_when_tried(look, _tried(look, asked))


def _tried(look: Look, asked: Chosen) -> list[Declared]:
    return [_trial(client, entry) for client, entry in _deciding(look, asked)]


def _trial(client: Client, entry: Entry) -> Declared:
    where, program = f"{client.label}: {entry.where}", entry.text("command")
    key = f"{client.label}.{entry.name}"
    if _url(client, entry):
        return Declared(where, Trial(key, "http", (entry.place,), client.url))
    if not program:
        return Declared(where, why="it names neither a program nor a URL")
    if client.desktop and "/" not in program:
        told = f"whether {program} is on the desktop's PATH is not known; declare an absolute path"
        return Declared(where, why=told)
    return Declared(where, Trial(key, "stdio", (entry.place,), "words"))


def _all(look: Look, asked: Chosen) -> list[Registered]:
    return [registered(look, client) for client in asked]


def _deciding(look: Look, asked: Chosen) -> list[tuple[Client, Entry]]:
    """Return the entry of the declared name that decides, of each client that has one."""
    name = look.text("mcp_server")
    held = [(found.client, found.deciding().get(name)) for found in _all(look, asked)]
    return [(client, entry) for client, entry in held if entry]


def _palaces(look: Look, found: Registered) -> list[Entry]:
    urls = {look.text("palace_url")} - {""}
    return [
        entry
        for entry in (*found.entries, *found.offered)
        if entry.name == look.text("mcp_server")
        or is_palace(entry.name, _url(found.client, entry), entry.text("command"), urls)
    ]


def _url(client: Client, entry: Entry) -> str:
    return entry.text(client.url) if client.url else ""


def _registration(look: Look, found: Registered) -> list[str]:
    """Compare the entry that decides with what is declared."""
    client, name = found.client, look.text("mcp_server")
    url = look.text("palace_url")
    entry = found.deciding().get(name)
    if entry is None and url and not client.url:
        told = "it only starts programs; register one there that leads to the palace"
        return [f"{client.label}: {told}, or leave it out of mcp_clients"]
    if entry is None:
        return [f"{client.label}: no file names a server {name!r}", *found.elsewhere]
    where = f"{client.label}: {entry.where}"
    if entry.fields.get("disabled") is True or entry.fields.get("enabled") is False:
        return [f"{where} turns it off"]
    if url and not client.url:
        return []  # it starts a program that leads there, which nobody can see from here
    key = client.url if url else "command"
    held = entry.fields.get(key)
    if held == declared_palace(look):
        return []
    told = f"`{key}` is {held!r}" if isinstance(held, str) else f"there is no `{key}`"
    return [f"{where}: {told}, declared is {declared_palace(look)!r}"]


def _not_compared(look: Look, found: Registered) -> list[str]:
    """Tell of what may decide and was not seen: who agreed, a URL that did not travel."""
    name = look.text("mcp_server")
    entry = found.deciding().get(name)
    offered = [] if any(e.name == name for e in found.local) else found.offered
    for other in offered:
        if other.name == name and (entry is None or other.fields != entry.fields):
            told = f"{found.client.label} asks its user first; whether it takes it is not seen"
            return [f"{other.where}: {told}"]
    url = _url(found.client, entry) if entry else ""
    if entry and look.text("palace_url") and not found.client.url:
        return [f"{entry.where}: {found.client.label} starts a program; where it leads is not seen"]
    if entry is None or not url or is_comparable(url):
        return []
    return [f"{entry.where}: its URL takes something from elsewhere, or may hold credentials"]


def _twice(look: Look, found: Registered) -> list[str]:
    name = look.text("mcp_server")
    entries = _palaces(look, found)
    same = [entry.where for entry in entries if entry.name == name]
    told = [
        f"{entry.where}: {entry.name} is a palace too" for entry in entries if entry.name != name
    ]
    if len(same) > 1:
        told.append(f"{found.client.label}: {same[-1]} goes over {', '.join(same[:-1])}")
    return told
