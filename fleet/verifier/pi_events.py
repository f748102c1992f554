"""Whether the pi that each launch starts fires the events that extensions wait for."""

from packaging.version import Version

from fleet.facts.running import CommandFact, LaunchFact
from fleet.verifier.launches import unseen_launch
from fleet.verifier.look import Look
from fleet.verifier.manifests import version_told
from fleet.verifier.model import Judgement, failed, not_checked, passed

#: The release that brought ``agent_settled``; an older one takes the subscription all the same.
SETTLED = Version("0.80.4")


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
    version = version_told(look.content(command.manifest)) if command else ""
    where = command.file.final if command and command.file else ""
    return {where or "pi": version} if version else {}


def _parsed(version: str) -> Version:
    return Version(version)
