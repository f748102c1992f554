"""Are the copies of pi that run now those of today? Transport and code are fixed at the start."""

import posixpath
from collections.abc import Iterator

from fleet.facts.running import ProcessFact
from fleet.verifier.exports import compare
from fleet.verifier.look import NOT_ASKED, Look
from fleet.verifier.model import Judgement, failed, not_applicable, not_checked, passed
from fleet.verifier.moments import SLACK, moment
from fleet.verifier.processes import PIS, of_this_folder, running_pis


def running(look: Look) -> Judgement:
    """Every running pi has the declared environment, and started after its code was written."""
    container = look.facts.container
    if container and container.state != "running":
        return not_applicable(f"nothing runs in it: the container is {container.state}")
    if not any(kind in look.facts.processes for kind in PIS):
        return not_checked(look.facts.unseen.get("processes", NOT_ASKED))
    mine, unseen = _mine(look)
    stale: list[str] = []
    wrong: set[int] = set()
    for process in mine:
        for line, seen in _stale(look, process):
            told = f"{_named(process)}: {line}"
            (stale if seen else unseen).append(told)
            wrong |= {process.pid} if seen else set()
    if stale:
        count = f"{len(wrong)} of {len(mine)} running pi" if len(mine) > 1 else "the running pi"
        return failed(f"{count} {'are' if len(wrong) > 1 else 'is'} stale", *stale, *unseen)
    if unseen:
        return not_checked(f"not everything could be seen: {unseen[0]}", *unseen)
    if not mine:
        return not_applicable("no pi of this agent folder is running")
    return passed(f"{len(mine)} running, all of today", *map(_named, mine))


def _mine(look: Look) -> tuple[list[ProcessFact], list[str]]:
    """Return the processes that use this agent folder, and lines about those that may."""
    told = [(process, of_this_folder(look, process)) for process in running_pis(look.facts)]
    unseen = [f"{_named(p)}: its environment could not be read" for p, own in told if own is None]
    return [process for process, own in told if own], unseen


def _stale(look: Look, process: ProcessFact) -> Iterator[tuple[str, bool]]:
    """Yield what is not of today, and whether it was seen to be so."""
    for name, declared in look.resolved.exports.items():
        held = process.variables.get(name)
        if held is None:
            yield f"{name} {NOT_ASKED}", False
            continue
        difference = compare(look, name, declared, held)
        if difference:
            yield str(difference), not difference.unseen
    if process.started is None:
        yield "when it started could not be seen", False
        return
    for what, written in _code(look):
        if written > process.started + SLACK:
            yield f"{what} was written at {moment(written)}, after it started", True


def _code(look: Look) -> Iterator[tuple[str, int]]:
    """Yield what a pi loads when it starts, and when that was written."""
    bridge = look.artifact("bridge")
    if bridge and bridge.mtime is not None:
        yield posixpath.basename(bridge.path), bridge.mtime
    manifests = [
        command.manifest
        for launch in look.launches()
        if (command := launch.commands.get("pi")) and command.manifest
    ]
    # Which of several copies a process runs is not told: it is stale when all are newer.
    times = [fact.mtime for fact in manifests if fact.mtime is not None]
    if times and len(times) == len(manifests):
        yield "pi itself", min(times)


def _named(process: ProcessFact) -> str:
    since = f", since {moment(process.started)}" if process.started is not None else ""
    return f"pi {process.pid} of {process.user}{since}"
