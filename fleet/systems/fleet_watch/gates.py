"""What YAML cannot say about fleet as a service."""

from collections.abc import Iterator

from fleet.facts.paths import State
from fleet.facts.running import ProcessFact
from fleet.systems.model import Service, Template
from fleet.verifier.look import Look
from fleet.verifier.model import (
    Judgement,
    Verdict,
    failed,
    not_applicable,
    not_checked,
    passed,
)
from fleet.verifier.paths import hidden, missing
from fleet.verifier.rendered import differing, rendering

_OTHERS = 0o077


def units(look: Look) -> Judgement:
    """Each unit that is wanted here is there, and is as it is rendered."""
    wanted = {
        name: artifact
        for name, artifact in look.resolved.artifacts.items()
        if isinstance(artifact, Service | Template)
    }
    if not wanted:
        return not_applicable(f"watch_mode is {look.text('watch_mode') or 'none'}")
    wrong: list[str] = []
    for artifact in wanted.values():
        judged = _unit(look, artifact)
        if isinstance(judged, Judgement):
            return judged
        wrong += judged
    paths = [artifact.path for artifact in wanted.values()]
    return failed("a unit is not as meant", *wrong) if wrong else passed("as rendered", *paths)


def _unit(look: Look, artifact: Service | Template) -> Judgement | list[str]:
    """Return what differs in a unit, or why nothing can be said of it."""
    fact = look.path(artifact.path)
    nowhere = missing(fact)
    if nowhere:
        return nowhere
    content = look.content(fact)
    if content is None:
        return not_checked(fact.why or "its content was not read", fact.path)
    meant = rendering(look, artifact.template, {}, fact.path)
    if isinstance(meant, str):
        return not_checked(meant, fact.path)
    return [*differing(content, meant, fact.path)]


def ground(look: Look) -> Judgement:
    """The program and the inventory are there."""
    told = []
    for name in ("program", "inventory"):
        fact = look.artifact(name)
        if fact is None:
            return not_checked("it was not looked for")
        nowhere = missing(fact)
        if nowhere:
            return nowhere
        told.append(fact.path)
    return passed("program and inventory are there", *told)


def runs(look: Look) -> Judgement:
    """A process of ``fleet watch`` is there; a timer starts an audit and needs none."""
    if look.text("watch_mode") != "service":
        return not_applicable("a timer starts it when it is due")
    found = look.facts.processes.get("watch")
    if found is None:
        return not_checked(look.facts.unseen.get("processes", "processes were not asked for"))
    own = [process for process in found if not process.contained]
    if not own:
        return failed("no watch is running")
    return passed("a watch is running", *_told(own))


def _told(processes: list[ProcessFact]) -> Iterator[str]:
    for process in processes:
        yield f"pid {process.pid}, of {process.user}"


def env(look: Look) -> Judgement:
    """Only its owner may read the file with secrets, where there is one."""
    fact = look.artifact("env")
    if fact is None:
        return not_checked("it was not looked for")
    if fact.state is State.ABSENT:
        return not_applicable("there is no such file, so it holds no secret", fact.path)
    unseen = hidden(fact)
    if unseen:
        return unseen if unseen.verdict is not Verdict.ERROR else not_checked(unseen.message)
    if fact.mode is None:
        return not_checked("its mode was not told", fact.path)
    if fact.mode & _OTHERS:
        return failed(f"mode {fact.mode:04o}: others may read it", fact.path)
    return passed(f"mode {fact.mode:04o}", fact.path)
