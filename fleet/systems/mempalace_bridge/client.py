"""What the bridge finds when pi starts it: its environment, its helper, its pi, its palace."""

import json
from dataclasses import dataclass, field

from packaging.version import InvalidVersion, Version

from fleet.facts.model import (
    CommandFact,
    EndpointFact,
    LaunchFact,
    PathFact,
    State,
    Trouble,
)
from fleet.verifier.code import read_code
from fleet.verifier.launches import Unseen, over_launches, text, unseen_launch, value
from fleet.verifier.look import Look
from fleet.verifier.markers import sight
from fleet.verifier.model import (
    Judgement,
    failed,
    follows_from,
    not_applicable,
    not_checked,
    passed,
)
from fleet.verifier.palace import palace_is_local, same_path

URL = "MEMPALACE_REMOTE_URL"
TOKEN = "MEMPALACE_REMOTE_TOKEN"  # noqa: S105 - the variable's name
DEVICE = "MEMPALACE_PI_DEVICE"
SETTLED = Version("0.80.4")


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


def events(look: Look) -> Judgement:
    """The installed pi fires ``agent_settled``."""
    versions: dict[str, str] = {}
    for launch in look.launches():
        versions.update(_pi_versions(look, launch.commands.get("pi")))
    old = [f"{where} is pi {v}" for where, v in versions.items() if _parsed(v) < SETTLED]
    unseen = _pi_unseen(look)
    if old:
        return failed(f"this pi never fires agent_settled (it came with {SETTLED})", *old)
    if unseen or not versions:
        told = unseen[0] if unseen else "no way of launching pi is declared"
        return not_checked(f"pi's version could not be read ({told})", *unseen)
    return passed(f"pi {', '.join(dict.fromkeys(versions.values()))} fires agent_settled")


def _pi_unseen(look: Look) -> list[str]:
    return [
        unseen_launch(one) if one.state != "ok" else f"{one.launch}: {_no_pi(one)}"
        for one in look.launches()
        if one.state != "ok" or not _pi_versions(look, one.commands.get("pi"))
    ]


def _no_pi(launch: LaunchFact) -> str:
    command = launch.commands.get("pi")
    if command is None or command.file is None:
        return "no pi on the PATH"
    return f"no readable package.json above {command.file.final or command.file.path}"


def _pi_versions(look: Look, command: CommandFact | None) -> dict[str, str]:
    content = look.content(command.manifest) if command else None
    try:
        manifest = json.loads(content or b"")
        version = manifest["version"]
        Version(version)
    except (ValueError, KeyError, TypeError, InvalidVersion):
        return {}
    where = command.file.final if command and command.file else ""
    return {where or "pi": str(version)}


def _parsed(version: str) -> Version:
    return Version(version)


def flip_path(look: Look) -> Judgement:
    """What answers at the client's own URL is the remote palace, and not a local one."""
    launches = [one for one in look.launches() if one.state == "ok"]
    unseen = [unseen_launch(one) for one in look.launches() if one.state != "ok"]
    remote = [one for one in launches if value(one, URL).set]
    if not look.text("palace_url") and not remote and not unseen:
        return not_applicable("a solitary palace: no remote one is declared")
    if not launches or not (remote or look.text("palace_url")):
        told = unseen[0] if unseen else "no way of launching pi could be asked"
        return not_checked(f"the palace that pi has is not known: {told}", *unseen)
    stay = [one.launch for one in launches if one not in remote]
    if stay:
        return failed(
            "half flipped: pi stays on the local palace",
            *(f"{launch} exports no {URL}" for launch in stay),
        )
    return _answered(look, remote, unseen)


@dataclass(slots=True)
class _Heard:
    """What the clients' URLs brought, sorted by what it means."""

    wrong: list[str] = field(default_factory=list)
    unseen: list[str] = field(default_factory=list)
    good: list[str] = field(default_factory=list)
    remedies: list[str] = field(default_factory=list)


#: What to do about a palace that does not answer a client, by what keeps it from it.
_REMEDIES = {
    Trouble.RESOLVE: "make the palace's host name known on the client",
    Trouble.REFUSED: "start the palace, or open its port to the client",
    Trouble.UNREACHABLE: "find what on the way keeps the client from the palace",
    Trouble.TIMEOUT: "find out why the palace does not answer in time; its log says more",
    Trouble.RESET: "look at the palace's log: it closed the connection",
    Trouble.TLS: "give the client the certificate authority (NODE_EXTRA_CA_CERTS)",
    Trouble.REDIRECT: "use the URL that it redirects to: a redirect drops the token",
    Trouble.NOT_MCP: "point the URL at the palace's MCP endpoint, with /mcp",
    Trouble.SILENT: "let the proxy pass event streams on unbuffered",
}
_STATUSES = {
    401: "give the client and the palace the same token",
    403: "let the palace accept this Host (MEMPALACE_MCP_EXTRA_ALLOWED_HOSTS)",
    404: "point the URL at the palace's MCP endpoint, with /mcp and no slash after it",
    421: "let the palace accept this Host with its port",
}


def _answered(look: Look, launches: list[LaunchFact], unseen: list[str]) -> Judgement:
    heard = _Heard(unseen=unseen)
    for url in dict.fromkeys(text(one, URL) for one in launches):
        endpoints = [e for e in look.endpoints(url) if e.place == "target"]
        if not endpoints:
            heard.unseen.append(f"{url} was not asked from the target")
        for endpoint in endpoints:
            _sorted(look, endpoint, heard)
    if heard.wrong:
        remedy = heard.remedies[0] if heard.remedies else None
        return failed("does not reach the shared palace", *heard.wrong, remedy=remedy)
    if heard.unseen:
        told = f"the palace could not be asked as the client asks: {heard.unseen[0]}"
        return not_checked(told, *heard.unseen)
    return passed("reaches the shared palace", *heard.good)


def _sorted(look: Look, endpoint: EndpointFact, heard: _Heard) -> None:
    answer = endpoint.answers.get("status") or endpoint.answers.get("initialize")
    if answer is None or answer.trouble is Trouble.UNSUPPORTED:
        heard.unseen.append(f"{endpoint.url}: {answer.detail if answer else 'not asked'}")
    elif endpoint.palace is None:
        told = answer.trouble.value if answer.trouble else "no palace path in its answer"
        status = f" {answer.status}" if answer.status else ""
        heard.wrong.append(f"{endpoint.url}: {told}{status} {answer.detail}".rstrip())
        remedy = _STATUSES.get(answer.status or 0)
        if answer.trouble and not remedy:
            remedy = _REMEDIES.get(answer.trouble)
        if remedy:
            heard.remedies.append(remedy)
    else:
        _compare(look, endpoint.url, endpoint.palace, heard)


def _compare(look: Look, url: str, palace: str, heard: _Heard) -> None:
    home = look.facts.platform.home
    declared = look.text("palace_path")
    if declared and not same_path(palace, declared, home=home):
        heard.wrong.append(f"{url} serves {palace}, declared is {declared}")
    elif not declared and palace_is_local(palace, home):
        heard.wrong.append(f"{url} serves {palace}, which is this machine's own default palace")
    else:
        heard.good.append(f"{url} serves {palace}")
