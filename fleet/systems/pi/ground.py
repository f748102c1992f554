"""What pi stands on: node, the programs it calls, its credentials, its own folder."""

from packaging.version import Version

from fleet.facts.jsontext import read_json
from fleet.facts.paths import PathFact, State
from fleet.facts.running import CommandFact, LaunchFact
from fleet.inventory.model import Kind
from fleet.systems.pi.aws import BEDROCK, no_credentials
from fleet.systems.pi.package import package_of, packages
from fleet.verifier.launches import Unseen, over_launches
from fleet.verifier.look import Look
from fleet.verifier.model import (
    Judgement,
    failed,
    follows_from,
    not_applicable,
    not_checked,
    passed,
)
from fleet.verifier.paths import missing, way
from fleet.verifier.ranges import satisfies, version_in

OLDEST_TMUX = Version("3.2")
_SCRIPTS = (".js", ".mjs", ".cjs")


def node(look: Look) -> Judgement:
    """The node that each launch finds is in the range that its pi asks for."""
    launches = [launch for launch in look.launches() if launch.state == "ok"]
    if launches and not any(packages(look, launch) for launch in launches):
        return follows_from("pi.one")
    return over_launches(
        look,
        lambda launch: _old_node(look, launch),
        good=_node_told(look),
        bad="pi cannot run on the node that is first on the PATH",
    )


def _old_node(look: Look, launch: LaunchFact) -> list[str]:
    found = packages(look, launch)
    if not found:
        return [Unseen("there is no pi to run")]
    pi = found[0]
    if not pi.file.endswith(_SCRIPTS):
        return [Unseen(f"{pi.file} is no script of node; which node it runs on is not known")]
    if not pi.engine:
        return [Unseen(f"which node pi asks for could not be read above {pi.file}")]
    command = launch.commands.get("node")
    if command is None or _unseen(command.file):
        return [Unseen("which node is on the PATH could not be seen")]
    if command.file is None:
        return ["no node on the PATH"]
    version = _version(look, command)
    if version is None:
        return [Unseen(f"{command.file.path}: {_no_version(command)}")]
    node = f"{command.file.path} is node {version}{_by(command)}"
    return _compared(version, node, pi.engine, str(pi))


def _version(look: Look, command: CommandFact) -> Version | None:
    """Return what a node told, or what files tell of one that was not run."""
    if command.version is not None:
        return version_in(command.version)
    package = package_of(look, command)  # npm brings node as a package of its own
    return version_in(package.version) if package and package.name == "node" else None


def _by(command: CommandFact) -> str:
    """Name the file that told the version, where the program did not."""
    return f" (by {command.told_by})" if command.told_by else ""


def _compared(version: Version, node: str, wanted: str, pi: str) -> list[str]:
    told = satisfies(version, wanted)
    if told is None:
        return [Unseen(f"{pi} asks for node {wanted!r}, a range that is not understood here")]
    return [] if told else [f"{node}, {pi} needs {wanted}"]


def _no_version(command: CommandFact) -> str:
    if command.version is None:
        return "its version cannot be asked here, and no file beside it tells it"
    return f"it tells no version ({command.version[:40]!r})" if command.version else "it tells none"


def _node_told(look: Look) -> str:
    for launch in look.launches():
        command = launch.commands.get("node")
        version = _version(look, command) if command else None
        found = packages(look, launch)
        if version and found:
            by = _by(command) if command else ""
            return f"node {version}{by} suits {found[0]}, which needs {found[0].engine}"
    return "node suits pi"


def _unseen(fact: PathFact | None) -> bool:
    return fact is not None and fact.state is not State.PRESENT


def prereqs(look: Look) -> Judgement:
    """The programs are on every launch's PATH; a Bedrock provider finds its credentials."""
    bedrock = _bedrock(look)
    return over_launches(
        look,
        lambda launch: _lacking(launch) + (_no_credentials(look, launch) if bedrock else []),
        good="git, uv and tmux are there" + (", and AWS credentials" if bedrock else ""),
        bad="something that pi's work needs is not there",
    )


def _lacking(launch: LaunchFact) -> list[str]:
    told: list[str] = []
    for name in ("git", "uv", "tmux"):
        command = launch.commands.get(name)
        if command is None or _unseen(command.file):
            told.append(Unseen(f"whether there is {name} could not be seen"))
        elif command.file is None:
            told.append(f"{name} is not on the PATH")
    return told + _old_tmux(launch.commands.get("tmux"))


def _old_tmux(command: CommandFact | None) -> list[str]:
    if command is None or command.file is None or _unseen(command.file):
        return []
    version = version_in(command.version or "")
    if version is None:
        return [Unseen(f"{command.file.path}: {_no_version(command)}")]
    told = f"{command.file.path} is tmux {version}, {OLDEST_TMUX} is needed"
    return [told] if version < OLDEST_TMUX else []


def _bedrock(look: Look) -> bool:
    """Tell whether the settings name Bedrock as the provider to begin with."""
    try:
        settings = read_json(look.content(look.artifact("settings")) or b"{}")
    except (ValueError, RecursionError):
        return False
    return isinstance(settings, dict) and settings.get("defaultProvider") == BEDROCK


def _no_credentials(look: Look, launch: LaunchFact) -> list[str]:
    """An image has no credentials, and should have none: they come when a container starts."""
    lines = no_credentials(look, launch)
    if look.target.kind is not Kind.IMAGE:
        return lines
    return [Unseen(f"{line}, as the image is before a container starts") for line in lines]


def writable(look: Look) -> Judgement:
    """The user who runs pi may write in the agent folder: tried there, or told by its mode."""
    fact = look.artifact("agent-dir")
    if fact is None:
        return not_applicable("no agent folder is declared here")
    if fact.state is State.ABSENT:
        return not_applicable("there is no agent folder yet; pi makes it when it starts")
    nowhere = missing(fact)
    if nowhere:
        return nowhere
    if fact.kind != "directory":
        return failed(f"is a {fact.kind}, not a folder", way(fact))
    user = look.facts.platform.user or f"uid {look.facts.platform.uid}"
    may = fact.writable if fact.writable is not None else _by_mode(look, fact)
    if may is None:
        return not_checked("whether it can be written in could not be seen", way(fact))
    owner = f"it belongs to {fact.owner or fact.uid}, mode {fact.mode or 0:04o}"
    if may:
        return passed(f"{user} can write in it", way(fact), owner)
    return failed(f"{user} cannot write in it", way(fact), owner)


def _by_mode(look: Look, fact: PathFact) -> bool | None:
    """Reckon from owner and mode; None where only the group could allow it."""
    uid = look.facts.platform.uid
    if fact.mode is None or fact.uid is None or uid is None:
        return None
    if uid == 0 or fact.mode & 0o002:
        return True
    if uid == fact.uid:
        return bool(fact.mode & 0o200)
    return None if fact.mode & 0o020 else False
