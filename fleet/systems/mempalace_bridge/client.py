"""What the bridge finds when pi starts it: its environment, its helper, its pi."""

from fleet.facts.paths import PathFact, State
from fleet.facts.running import LaunchFact
from fleet.verifier.code import read_code
from fleet.verifier.launches import Unseen, over_launches, text, value
from fleet.verifier.look import Look
from fleet.verifier.markers import sight
from fleet.verifier.mcp_owners import URL
from fleet.verifier.model import (
    Judgement,
    follows_from,
    not_applicable,
)

DEVICE = "MEMPALACE_PI_DEVICE"


def feed_on(look: Look) -> Judgement:
    """Feeding is on in every launch, and its helper can be found and knows ``--prepare``."""
    if "feed" not in look.target.require:
        return not_applicable("feeding is not required here")
    return over_launches(
        look,
        lambda launch: _no_feed(look, launch),
        good="feeding is on, and its helper is there",
        bad="feeding cannot start",
    )


def _no_feed(look: Look, launch: LaunchFact) -> list[str]:
    if text(launch, "MEMPALACE_FEED") == "0":
        return ["MEMPALACE_FEED is 0: feeding is turned off"]
    name = text(launch, "MEMPALACE_FEED_BIN") or "mempalace-pi-session"
    fact = _helper(look, launch, name)
    if fact is None:
        return [Unseen(f"{name} was not looked at; declare it as feed_bin")]
    if fact.state in (State.UNREADABLE, State.UNSUPPORTED):
        return [Unseen(f"{name}: {fact.why or fact.state}")]
    if fact.state is not State.PRESENT:
        return [f"{name} is {'not on the PATH' if '/' not in name else fact.state.value}"]
    content = look.content(fact)
    if content is None:
        return [Unseen(f"{fact.final} could not be read")]
    if not sight(read_code(content, script=False), "--prepare").found:
        return [f"{fact.final or fact.path} does not know --prepare"]
    return []


def _helper(look: Look, launch: LaunchFact, name: str) -> PathFact | None:
    """Return the helper's file; None when nobody looked for it."""
    if "/" in name:
        declared = look.artifact("feed-bin")
        return declared if declared and name in (declared.path, declared.absolute) else None
    command = launch.commands.get(name)
    if command is None:
        return None
    return command.file or PathFact(path=name, absolute=name, state=State.ABSENT)


def feed_remote(look: Look) -> Judgement:
    """With a remote palace, transcripts can be sent to its host first."""
    if "feed" not in look.target.require:
        return not_applicable("feeding is not required here")
    launches = look.launches()
    if launches and all(one.state == "ok" and not value(one, URL).set for one in launches):
        return not_applicable("the palace is not remote")
    return over_launches(
        look,
        _no_transport,
        good="transcripts can be sent to the palace's host",
        bad="transcripts cannot be sent to the palace's host",
    )


def _no_transport(launch: LaunchFact) -> list[str]:
    if not value(launch, URL).set:
        return []
    wrong = []
    if not text(launch, "MEMPALACE_PI_SSH_TARGET"):
        wrong.append("MEMPALACE_PI_SSH_TARGET is not set: feeding is skipped silently")
    wrong += [f"{n} is not on the PATH" for n in ("rsync", "ssh") if not _there(launch, n)]
    return wrong


def _there(launch: LaunchFact, name: str) -> bool:
    command = launch.commands.get(name)
    return bool(command and command.file and command.file.state is State.PRESENT)


def identity(look: Look) -> Judgement:
    """Stamping and mailbox need device and URL together; a solitary palace needs neither."""
    launches = look.launches()
    if look.text("palace_url") and launches and not any(map(_identifies, launches)):
        # That neither is there tells nothing of a palace that is declared to be remote.
        return follows_from("flip.path")
    return over_launches(
        look,
        _half_an_identity,
        good=_identity_told(look),
        bad="half an identity: nothing is stamped and no mail is delivered",
    )


def _identifies(launch: LaunchFact) -> bool:
    return launch.state != "ok" or value(launch, DEVICE).set or value(launch, URL).set


def _half_an_identity(launch: LaunchFact) -> list[str]:
    device, url = value(launch, DEVICE).set, value(launch, URL).set
    if device == url:
        return []
    there, lacking = (DEVICE, URL) if device else (URL, DEVICE)
    return [f"{there} is set, {lacking} is not"]


def _identity_told(look: Look) -> str:
    for launch in look.launches():
        device = text(launch, DEVICE)
        if device:
            return f"writes as pi@{device}, diary of {text(launch, 'MEMPALACE_AGENT_NAME') or 'pi'}"
    return "a solitary palace, which needs no device"
