"""What lies there: the configuration, whether its program accepts it, and whether it runs by it."""

from fleet.errors import PlanError
from fleet.facts.paths import PathFact
from fleet.facts.running import ProcessFact
from fleet.systems.model import Config
from fleet.systems.palace_proxy.laid import derived
from fleet.verifier.look import NOT_ASKED, Look
from fleet.verifier.model import (
    Judgement,
    failed,
    follows_from,
    not_applicable,
    not_checked,
    passed,
)
from fleet.verifier.paths import missing
from fleet.verifier.rendered import differing, rendering

#: Seconds by which a process's start may be told too early: both are cut to whole ones.
SLACK = 1
_FILE = "the configuration"
_FOR_GROUP_AND_OTHERS = 0o027


def _artifact(look: Look) -> tuple[Config, PathFact] | Judgement:
    """Return the configuration of the proxy that is declared, and what was read of it."""
    artifact, fact = (
        look.resolved.artifacts.get(look.text("proxy")),
        look.artifact(look.text("proxy")),
    )
    if not isinstance(artifact, Config) or fact is None:
        return not_checked(f"no configuration is known for the proxy {look.text('proxy')!r}")
    return artifact, fact


def config(look: Look) -> Judgement:
    """The deployed configuration equals its rendering."""
    found = _artifact(look)
    if isinstance(found, Judgement):
        return found
    artifact, fact = found
    nowhere = missing(fact)
    if nowhere:
        return nowhere
    content = look.content(fact)
    if content is None:
        return not_checked(fact.why or "its content was not read", fact.path)
    try:
        meant = rendering(
            look, artifact.template, derived(look.resolved.variables, look.facts), _FILE
        )
    except PlanError as error:
        return not_checked(f"{_FILE} cannot be rendered: {error.what}", error.hint or fact.path)
    if isinstance(meant, str):
        return not_checked(meant, fact.path)
    drift = [*differing(content, meant, _FILE)]
    return (
        failed("is not what is meant", fact.path, *drift)
        if drift
        else passed("as rendered", fact.path)
    )


def valid(look: Look) -> Judgement:
    """The proxy's own check of all it starts from finds nothing wrong."""
    found = _artifact(look)
    if isinstance(found, Judgement):
        return found
    program, main = found[0].program, found[0].main
    told = look.facts.checks.get(program)
    if told is None:
        return not_checked(look.facts.unseen.get("checks", NOT_ASKED), main)
    if told.state == "ok":
        return passed(f"{program} accepts it", main)
    if told.state == "missing":
        return failed(f"{program} is not installed", remedy=f"install {program}")
    if told.state == "denied":
        return not_checked(f"this user may not read all that {program} checks", main)
    if told.state == "timeout":
        return not_checked(f"{program} did not end its check in time", main)
    ended = f"its check ended with status {told.status}"
    return failed(f"{program} refuses its configuration", told.place or main, ended)


def loaded(look: Look) -> Judgement:
    """What runs began to run after the configuration was written."""
    found = _artifact(look)
    if isinstance(found, Judgement):
        return found
    artifact, fact = found
    if missing(fact):
        return follows_from("proxy.config")
    running = look.facts.processes.get(artifact.program)
    if running is None:
        return not_checked(look.facts.unseen.get("processes", NOT_ASKED))
    here = [process for process in running if process.contained is not True]
    if not here:
        return failed(f"no {artifact.program} runs", remedy=f"start {artifact.program}")
    if fact.mtime is None or any(process.started is None for process in here):
        return not_checked("when it was written, or started, was not told", fact.path)
    if len({process.parent for process in here}) > 1:
        return not_checked(f"several {artifact.program} run: which of them this is was not told")
    return _since(artifact.program, here, fact.mtime)


def _since(program: str, running: list[ProcessFact], written: int) -> Judgement:
    older = [p for p in running if (p.started or 0) + SLACK < written]
    lines = [
        f"pid {p.pid} started {written - (p.started or 0)} s before it was written" for p in older
    ]
    if not older:
        return passed(f"{program} started, or took it, after it was written")
    if program == "caddy":
        return not_checked("caddy does not tell whether it was reloaded since it started", *lines)
    return failed("it was written after the proxy loaded its configuration", *lines)


def key(look: Look) -> Judgement:
    """The certificate's key is for its owner, and at most read by a group."""
    fact = look.artifact("key")
    if fact is None:
        return not_applicable("no key is declared")
    nowhere = missing(fact)
    if nowhere:
        return nowhere._replace(remedy="put the key there, or let `proxy_key` name it")
    if fact.mode is None:
        return not_checked("its mode was not told", fact.path)
    told = f"{fact.path}: mode {fact.mode:04o}, of {fact.owner or fact.uid}"
    if fact.mode & _FOR_GROUP_AND_OTHERS:
        return failed("others may read the key, or a group write it", told)
    return passed("is its owner's", told)
