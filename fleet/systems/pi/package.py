"""Which pi a launch starts: told by the package.json above it, never by running it."""

from functools import lru_cache

from fleet.dataclass import dataclass
from fleet.facts.jsontext import read_json
from fleet.facts.paths import State
from fleet.facts.running import CommandFact, LaunchFact
from fleet.verifier.launches import Unseen, over_launches, unseen_launch
from fleet.verifier.look import Look
from fleet.verifier.model import Judgement, Verdict, failed, warned

MAINTAINED = "@earendil-works/pi-coding-agent"
FROZEN = "@mariozechner/pi-coding-agent"  # its last release is 0.73.1


@dataclass(frozen=True, slots=True)
class Package:
    """A pi on a PATH.

    Attributes:
        file: where it finally lies.
        name: of its package; empty where no readable ``package.json`` stands above it.
        engine: the range of node it asks for; empty where it asks for none.
    """

    file: str
    name: str = ""
    version: str = ""
    engine: str = ""

    def __str__(self) -> str:
        return f"pi {self.version}" if self.name == MAINTAINED else f"{self.name} {self.version}"


def package_of(look: Look, command: CommandFact) -> Package | None:
    """Return what a command's manifest says it is; None where there is no such program."""
    if command.file is None or command.file.state is not State.PRESENT:
        return None
    file = command.file.final or command.file.path
    return Package(file, *_told_by(look.content(command.manifest) or b""))


@lru_cache(maxsize=64)
def _told_by(manifest: bytes) -> tuple[str, ...]:
    """Return name, version and range of node that a manifest tells; nothing where it is none."""
    try:
        told = read_json(manifest)
    except (ValueError, RecursionError):
        return ()
    if not isinstance(told, dict):
        return ()
    engines = told.get("engines")
    engine = engines.get("node") if isinstance(engines, dict) else ""
    wanted = [told.get("name"), told.get("version"), engine]
    return tuple(str(text) if isinstance(text, str) else "" for text in wanted)


def packages(look: Look, launch: LaunchFact) -> list[Package]:
    """Return every pi on a launch's PATH, in its order; one that is there twice is told once."""
    command = launch.commands.get("pi")
    found: dict[str, Package] = {}
    for each in (command, *(command.others or ())) if command else ():
        package = package_of(look, each)
        if package:
            found.setdefault(package.file, package)
    return list(found.values())


def one(look: Look) -> Judgement:
    """Exactly one pi is on the PATH of each launch, and it is the maintained one."""
    launches = [launch for launch in look.launches() if launch.state == "ok"]
    if launches and not any(packages(look, launch) or _hidden(launch) for launch in launches):
        unseen = [unseen_launch(each) for each in look.launches() if each.state != "ok"]
        lines = [f"{launch.launch}: there is none" for launch in launches]
        return failed("no pi on the PATH", *lines, *unseen, remedy=_INSTALL)
    judgement = over_launches(
        look,
        lambda launch: _not_one(look, launch),
        good=_told(look),
        bad="not exactly one pi on the PATH",
    )
    if judgement.verdict is not Verdict.PASS:
        return judgement
    started = {packages(look, launch)[0] for launch in launches}
    if any(package.name == FROZEN for package in started):
        return warned(f"{FROZEN} is frozen at 0.73.1", *judgement.evidence, remedy=_INSTALL)
    if len(started) > 1:
        lines = [f"{launch.launch}: {packages(look, launch)[0].file}" for launch in launches]
        return warned("launches start different copies of pi", *lines)
    return judgement


_INSTALL = f"npm install -g {MAINTAINED}"


def _hidden(launch: LaunchFact) -> bool:
    command = launch.commands.get("pi")
    return bool(command is None or (command.file and command.file.state is not State.PRESENT))


def _not_one(look: Look, launch: LaunchFact) -> list[str]:
    found = packages(look, launch)
    if not found and _hidden(launch):
        return [Unseen("whether there is a pi could not be seen")]
    if not found:
        return ["there is none"]
    if len(found) > 1:
        return [f"{package.file} is {_named(package)}" for package in found]
    if not found[0].name:
        return [Unseen(f"{found[0].file}: no readable package.json above it")]
    if found[0].name not in (MAINTAINED, FROZEN):
        return [f"{found[0].file} is {found[0]}, another program"]
    command = launch.commands["pi"]
    if command.others is None:
        return [Unseen("whether there is another pi behind it was not asked")]
    return []


def _named(package: Package) -> str:
    if not package.name:
        return "a program without a readable package.json"
    frozen = ", frozen at its old name" if package.name == FROZEN else ""
    return f"{package.name} {package.version}{frozen}"


def _told(look: Look) -> str:
    for launch in look.launches():
        for package in packages(look, launch):
            return f"{_named(package)}, and no other"
    return "one pi"
