"""What is left of the local palace after the flip: a server under a pi, drawers that still grow."""

from datetime import UTC, date, datetime

from fleet.facts.paths import PathFact, State
from fleet.facts.running import ProcessFact
from fleet.verifier.launches import value
from fleet.verifier.look import NOT_ASKED, Look
from fleet.verifier.mcp_owners import URL
from fleet.verifier.model import (
    Judgement,
    failed,
    not_applicable,
    not_checked,
    passed,
    warned,
)
from fleet.verifier.palace import palace_is_local
from fleet.verifier.processes import PIS, is_set, of_this_folder, running_pis

CHILD = "palace-client"
#: The databases of a palace on the machine itself, and what sqlite keeps beside them.
_STORES = ("local-palace", "local-palace-wal", "local-palace-xdg", "local-palace-xdg-wal")


def no_local(look: Look) -> Judgement:
    """No local palace is served to a pi whose environment names a remote one."""
    asked = look.facts.processes
    container = look.facts.container
    if container and container.state != "running":
        return not_applicable(f"nothing runs in it: the container is {container.state}")
    if CHILD not in asked or not any(kind in asked for kind in PIS):
        return not_checked(look.facts.unseen.get("processes", NOT_ASKED))
    told = [(pi, of_this_folder(look, pi)) for pi in running_pis(look.facts)]
    pis = [pi for pi, own in told if own is not False]
    remote = {pi.pid for pi in pis if is_set(pi, URL)}
    local = [line for child in asked[CHILD] if (line := _under(look, child, remote))]
    if local:
        return failed("half flipped: pi has a local palace beside the remote one", *local)
    hidden = [f"pi {pi.pid}: its environment could not be read" for pi, own in told if own is None]
    if hidden:
        return not_checked(hidden[0], *hidden)
    if not pis:
        return not_applicable("no pi of this agent folder is running")
    if not remote:
        return not_applicable("no running pi has a remote palace")
    return passed("no local palace is served to a pi", f"{len(remote)} running with a remote one")


def _under(look: Look, child: ProcessFact, remote: set[int]) -> str:
    """Tell whose child a local server is; empty where it is none of a remote pi's."""
    if child.contained:
        return ""
    if child.parent in remote:
        return f"mempalace-mcp {child.pid} under pi {child.parent}"
    # Between them may stand a launcher; pi marks everything that it starts.
    if is_set(child, "PI_CODING_AGENT") and is_set(child, URL) and of_this_folder(look, child):
        return f"mempalace-mcp {child.pid}, started by a pi with {URL}"
    return ""


def archive(look: Look) -> Judgement:
    """The local palace has not been written to since the palace became a remote one."""
    if not _remote(look):
        return not_applicable("a solitary palace: no remote one is declared")
    if palace_is_local(look.text("palace_path"), look.facts.platform.home):
        return not_applicable("the shared palace itself may lie here")
    facts = [fact for name in _STORES if (fact := look.artifact(name))]
    hidden = [f"{fact.path}: {fact.why or fact.state}" for fact in facts if _hidden(fact)]
    there = [fact for fact in facts if fact.state is State.PRESENT]
    if not there:
        if hidden:
            return not_checked(f"whether there is a local palace: {hidden[0]}", *hidden)
        return passed("there is no local palace")
    since, told = _flipped(look)
    if since is None:
        return not_checked(f"when the palace was flipped is not known: {told}")
    late = [fact for fact in there if (fact.mtime or 0) > since]
    if late:
        lines = (f"{fact.path} was written at {_at(fact.mtime or 0)}" for fact in late)
        return warned("drawers land in the dead archive", *lines, f"flipped: {told}")
    if hidden:
        return not_checked(f"not everything could be seen: {hidden[0]}", *hidden)
    return passed("the local palace has not been written to since", f"flipped: {told}")


def _remote(look: Look) -> bool:
    return bool(look.text("palace_url")) or any(value(one, URL).set for one in look.launches())


def _hidden(fact: PathFact) -> bool:
    return fact.state in (State.UNREADABLE, State.UNSUPPORTED) or (
        fact.state is State.PRESENT and fact.mtime is None
    )


def _flipped(look: Look) -> tuple[int | None, str]:
    """Return the second of the flip and who says so: declared, or when the env file was written."""
    declared = look.text("flipped")
    if declared:
        try:
            day = date.fromisoformat(declared)
        except ValueError:
            return None, f"flipped is {declared!r}, and no date like 2026-09-01"
        start = datetime(day.year, day.month, day.day, tzinfo=UTC)
        # The day itself is not counted: nobody says at which hour of it.
        return int(start.timestamp()) + 86_400, f"on {day}"
    file = look.artifact("env-file")
    if file is None or file.state is not State.PRESENT or file.mtime is None:
        return None, "declare `flipped: DATE` in the inventory"
    return file.mtime, f"not after {_at(file.mtime)}, when {file.path} was written"


def _at(seconds: int) -> str:
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")
    except (OverflowError, OSError, ValueError):
        return f"second {seconds}"
