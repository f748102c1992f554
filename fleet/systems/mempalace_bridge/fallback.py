"""Where the bridge cannot feed, a scheduler must; where it can, a scheduler does the work twice."""

from fleet.facts.paths import PathFact, State
from fleet.verifier.code import read_code
from fleet.verifier.launches import text
from fleet.verifier.look import NOT_ASKED, Look
from fleet.verifier.markers import sight
from fleet.verifier.model import (
    Judgement,
    failed,
    not_applicable,
    not_checked,
    passed,
    warned,
)

FEED = "MEMPALACE_FEED"
HELPER = "mempalace-pi-session"
_FOLDERS = ("systemd-timers", "launch-agents")


def fallback(look: Look) -> Judgement:
    """A contrib recipe runs exactly where the bridge itself cannot feed."""
    feeds = _feeds(look)
    if feeds is None:
        return not_checked("whether the bridge can feed could not be seen")
    found, unseen = _schedulers(look)
    if found and feeds:
        return warned("the bridge feeds, and a scheduler does it again", *found)
    if found:
        return passed("a scheduler feeds in place of the bridge", *found)
    if unseen:
        return not_checked(f"whether a scheduler feeds could not be seen: {unseen[0]}", *unseen)
    if feeds:
        return passed("the bridge feeds, and no scheduler")
    if "feed" not in look.target.require:
        return not_applicable("feeding is not required here")
    return failed("neither the bridge feeds nor a scheduler")


def _feeds(look: Look) -> bool | None:
    """Tell whether the deployed copy can feed and is not told not to; None when unseen."""
    fact = look.artifact("bridge")
    if fact is None or fact.state in (State.ABSENT, State.DANGLING, State.LOOP):
        return False
    content = look.content(fact)
    if content is None:
        return None
    if not sight(read_code(content, script=True), FEED).found:
        return False
    launches = [launch for launch in look.launches() if launch.state == "ok"]
    return not launches or any(text(launch, FEED) != "0" for launch in launches)


def _schedulers(look: Look) -> tuple[list[str], list[str]]:
    """Return the schedulers that start the helper, and what could not be seen of others."""
    found: list[str] = []
    unseen: list[str] = []
    for name in _FOLDERS:
        fact = look.artifact(name)
        if fact is None or fact.state in (State.ABSENT, State.DANGLING):
            continue
        if fact.entries is None:
            unseen.append(f"{fact.path}: {fact.why or fact.state.value}")
        found += _starting(fact)
    lines = look.facts.crontab
    if lines:
        found.append(f"the user's crontab: {lines} {'line' if lines == 1 else 'lines'}")
    elif lines is None:
        unseen.append(look.facts.unseen.get("crontab", NOT_ASKED))
    return found, unseen


def _starting(folder: PathFact) -> list[str]:
    return [
        f"{folder.path}/{entry.name}"
        for entry in folder.entries or ()
        if HELPER in entry.name and not entry.dangling
    ]
