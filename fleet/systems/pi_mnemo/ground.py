"""What pi-mnemo needs around it: its prompts, the pi of its workers, and leave to work."""

import posixpath

from fleet.facts.paths import PathFact, State
from fleet.facts.running import LaunchFact
from fleet.systems.pi_mnemo.values import is_off
from fleet.verifier.launches import Unseen, over_launches, text
from fleet.verifier.look import Look
from fleet.verifier.model import (
    Judgement,
    Verdict,
    failed,
    follows_from,
    not_checked,
    passed,
    warned,
)
from fleet.verifier.paths import hidden, missing, way

PROMPTS = ("inject.md", "extract.md", "dream.md")
_DISABLED = "PI_MNEMO_DISABLED"
_BIN = "PI_MNEMO_PI_BIN"
_PROMPTS = "PI_MNEMO_PROMPTS_DIR"
_RUN = 0o111


def background(look: Look) -> Judgement:
    """No launch turns extract and dream off."""
    judgement = over_launches(look, _off, good="extract and dream are on", bad="")
    if judgement.verdict is not Verdict.FAIL:
        return judgement
    return warned("turned off: only recall and `/mnemo` are left", *judgement.evidence)


def is_disabled(look: Look) -> bool:
    """Tell whether every launch that was seen turns background work off."""
    seen = [launch for launch in look.launches() if launch.state == "ok"]
    return bool(seen) and all(_off(launch) for launch in seen)


def _off(launch: LaunchFact) -> list[str]:
    told = text(launch, _DISABLED)
    return [f"{_DISABLED} is {told}"] if is_off(told) else []


def worker(look: Look) -> Judgement:
    """What ``PI_MNEMO_PI_BIN`` names can be run from each launch."""
    return over_launches(
        look,
        lambda launch: _no_worker(look, launch),
        good=_worker_told(look),
        bad="workers cannot be started",
    )


def _worker_told(look: Look) -> str:
    names = {text(launch, _BIN) or "pi" for launch in look.launches() if launch.state == "ok"}
    return f"workers run {', '.join(sorted(names)) or 'pi'}"


def _no_worker(look: Look, launch: LaunchFact) -> list[str]:
    name = text(launch, _BIN) or "pi"
    if "/" not in name:
        return _not_on_path(launch, name)
    if not name.startswith("/"):
        return [f"{_BIN} is {name}: no absolute path"]
    fact = look.artifact("worker")
    if fact is None or fact.path != name:
        return [Unseen(f"{name} was not looked at; declare it as mnemo_pi_bin")]
    return _not_run(fact)


def _not_on_path(launch: LaunchFact, name: str) -> list[str]:
    command = launch.commands.get(name)
    if command is None:
        return [Unseen(f"{name} was not looked for on the PATH; give its absolute path")]
    if command.file is None:
        return [f"{name} is not on the PATH"]
    return _not_run(command.file)


def _not_run(fact: PathFact) -> list[str]:
    if hidden(fact):
        return [Unseen(f"{fact.path}: {fact.why or fact.state}")]
    if fact.state is not State.PRESENT:
        return [f"{fact.path} is {fact.state}"]
    if fact.kind != "file":
        return [f"{fact.path} is a {fact.kind}, not a program"]
    if fact.mode is not None and not fact.mode & _RUN:
        return [f"{fact.path} is no program: nobody may run it (mode {fact.mode:04o})"]
    return []


def prompts(look: Look) -> Judgement:
    """The folder of the prompts holds all three, each a file."""
    declared = look.resolved.exports.get(_PROMPTS)
    fact = look.artifact("prompts" if declared else "package-prompts")
    if fact is None:
        return follows_from("mnemo.settings")
    package = look.artifact("package")
    if not declared and package is not None and package.state is State.ABSENT:
        return follows_from("mnemo.placed")
    nowhere = missing(fact)
    if nowhere:
        return nowhere
    if fact.entries is None:
        return not_checked(fact.why or "its names were not read", way(fact))
    there = {e.name for e in fact.entries if e.kind in ("file", "link") and not e.dangling}
    lacking = [name for name in PROMPTS if name not in there]
    if lacking and fact.why:
        return not_checked(fact.why, way(fact))
    if lacking:
        return failed(f"{', '.join(lacking)} is not there", way(fact))
    other = elsewhere(look, fact, _PROMPTS, "mnemo_prompts_dir")
    if other:
        return not_checked(other[0], *other)
    return passed("all three are there", way(fact))


def elsewhere(
    look: Look, fact: PathFact, name: str, variable: str, *, inside: bool = False
) -> list[str]:
    """Name launches that lead pi-mnemo to another place than the one that was looked at.

    Args:
        look: the system on its target.
        fact: what was looked at.
        name: of the environment variable that says where pi-mnemo looks.
        variable: under which the inventory declares it.
        inside: whether the fact is of a file in that folder.
    """
    place = posixpath.dirname(fact.absolute) if inside else fact.absolute
    told = [(one.launch, text(one, name)) for one in look.launches()]
    return [
        f"{launch}: {folder} was not looked at; declare it as {variable}"
        for launch, folder in told
        if folder and posixpath.normpath(folder) != posixpath.normpath(place)
    ]
