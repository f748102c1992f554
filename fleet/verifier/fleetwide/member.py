"""The members of a fleet as its rules see them, and the copy of the bridge that each carries."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from fleet.dataclass import dataclass
from fleet.facts.model import Facts, git_blob
from fleet.facts.paths import PathFact, State
from fleet.facts.running import LaunchFact
from fleet.inventory.model import Kind, Target
from fleet.systems.model import Link
from fleet.systems.resolve import Resolved
from fleet.verifier.model import Judgement, Verdict, not_applicable, not_checked
from fleet.verifier.toolkit import Commit, Toolkit

BRIDGE = "mempalace-bridge"
DEVICE = "MEMPALACE_PI_DEVICE"
FLEET = "fleet"


@dataclass(frozen=True, slots=True)
class Beside:
    """What was read for a container on the machine that its engine runs on.

    Attributes:
        facts: of that machine, taken with the nonce of the container's; paths are absolute. None
            where it could not be asked; ``why`` then says so.
    """

    facts: Facts | None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Member:
    """One target of a run.

    Attributes:
        facts: None where it could not be asked; ``trouble`` then says why.
        toolkit: the history that names its bytes, None where no clone is declared.
        beside: of a container, what its compose file and its mounts were found to be; None where
            that was not asked.
        called: names that something else tells it goes by, as an engine of a container that
            could not be asked itself.
    """

    target: Target
    resolved: tuple[Resolved, ...]
    facts: Facts | None
    toolkit: Toolkit | None = None
    trouble: str = ""
    beside: Beside | None = None
    called: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """Return the target's name."""
        return self.target.name

    def system(self, name: str) -> Resolved | None:
        """Return one of its systems, None where it has not got it."""
        return next((r for r in self.resolved if r.system.system == name), None)


@dataclass(frozen=True, slots=True)
class Copy:
    """The bytes of the bridge at one place.

    Attributes:
        side: who carries them, for a table.
        sha256: of the bytes; empty where there are none.
        told: the commit they are, or how the bytes begin, with a date where one is known.
        path: where they finally lie.
        commit: the newest that carries them, None where no history knows them.
        written: when they were last written there, seconds since 1970.
    """

    side: str
    sha256: str
    told: str
    path: str = ""
    blob: str = ""
    commit: Commit | None = None
    written: int | None = None

    @property
    def bytes(self) -> str:
        """Return what is equal where the bytes are."""
        return self.sha256 or self.blob


@dataclass(frozen=True, slots=True)
class Unseen:
    """A side that could not be looked at, and why."""

    side: str
    why: str


@dataclass(frozen=True, slots=True)
class Told:
    """What a rule says, and of whom: ``fleet``, or a group."""

    subject: str
    judgement: Judgement


def lessened(member: Member) -> Member:
    """Return a member with what the rules of the fleet ask of it, and reports of its facts.

    Whatever tells of containers stays whole: compose files are read from its paths and contents.
    """
    facts = member.facts
    resolved = tuple(replace(r, variables={}, exports={}) for r in member.resolved)
    if facts is None or facts.container or facts.containers or facts.image or member.beside:
        return replace(member, resolved=resolved)
    paths = {p: fact for p in _bridges(member) if (fact := facts.paths.get(p)) is not None}
    kept = {fact.sha256 for fact in paths.values()}
    less = {
        "paths": paths,
        "contents": {name: held for name, held in facts.contents.items() if name in kept},
        "launches": {name: _less_of(launch) for name, launch in facts.launches.items()},
        "processes": {},
        "listeners": None,
        "interfaces": None,
        "checks": {},
        "deep": None,
    }
    return replace(member, resolved=resolved, facts=facts.model_copy(update=less))


def _bridges(member: Member) -> tuple[str, ...]:
    resolved = member.system(BRIDGE)
    bridge = resolved.artifacts.get("bridge") if resolved else None
    if bridge is None:
        return ()
    return (bridge.path, bridge.source) if isinstance(bridge, Link) else (bridge.path,)


def _less_of(launch: LaunchFact) -> LaunchFact:
    variables = {n: v for n, v in launch.variables.items() if n == DEVICE}
    return launch.model_copy(update={"variables": variables, "commands": {}})


def carriers(members: Iterable[Member], *kinds: Kind) -> list[Member]:
    """Return the members that carry the bridge, of some kinds or of all."""
    wanted = kinds or tuple(Kind)
    return [m for m in members if BRIDGE in m.target.systems and m.target.kind in wanted]


def whole(found: Judgement, seen: int, unseen: Sequence[Unseen], elsewhere: int) -> Judgement:
    """Keep a rule from holding on a part of the fleet.

    Args:
        found: what the rule says of those that were seen; anything but a pass stands.
        seen: how many were seen.
        unseen: those of the run that were not.
        elsewhere: how many belong to it and are not in this run.
    """
    total = seen + len(unseen)
    count = f"{seen} of {total} targets seen"
    lines = tuple(f"{u.side}: {u.why}" for u in unseen)
    if found.verdict in (Verdict.FAIL, Verdict.WARN):
        evidence = (*found.evidence, *((count, *lines) if unseen else ()))
        return Judgement(found.verdict, found.message, evidence, found.remedy)
    if unseen:
        return not_checked(count, *lines, *found.evidence)
    if elsewhere:
        of = f"{total} of its {total + elsewhere} targets are in this run"
        return not_applicable(f"is asked of the whole fleet; {of}")
    return found


def bridge_copy(member: Member) -> Copy | Unseen:
    """Return the copy of the bridge that a member's pi loads."""
    resolved = member.system(BRIDGE)
    if member.facts is None or resolved is None:
        return Unseen(member.name, member.trouble or "it was not asked")
    artifact = resolved.artifacts.get("bridge")
    fact = member.facts.paths.get(artifact.path) if artifact else None
    return _copy(member, member.name, fact)


def clone_copy(member: Member) -> Copy | Unseen | None:
    """Return the copy in the declared toolkit, where that is not the one that pi loads."""
    resolved = member.system(BRIDGE)
    link = resolved.artifacts.get("bridge") if resolved else None
    if member.facts is None or not isinstance(link, Link) or not link.source:
        return None
    source = member.facts.paths.get(link.source)
    loaded = member.facts.paths.get(link.path)
    same = source and loaded and source.final == loaded.final
    if source is None or same or source.state is State.ABSENT:
        return None
    return _copy(member, f"{member.name}, its toolkit", source)


def mount_of(member: Member) -> tuple[str, str] | None:
    """Return where the loaded copy is mounted in a container, and what from; None: it is its own.

    The second is a folder or file of the host, or the name of a volume.
    """
    copy = bridge_copy(member)
    container = member.facts.container if member.facts else None
    if container is None or isinstance(copy, Unseen):
        return None
    found = [
        (destination, source)
        for destination, source in container.mounts.items()
        if copy.path == destination or copy.path.startswith(destination.rstrip("/") + "/")
    ]
    return max(found, key=lambda mount: len(mount[0]), default=None)


def mounted_path(member: Member) -> str:
    """Return where on the host the copy lies that a container loads; empty for none."""
    mount, copy = mount_of(member), bridge_copy(member)
    if mount is None or isinstance(copy, Unseen) or not mount[1].startswith("/"):
        return ""
    return mount[1].rstrip("/") + copy.path[len(mount[0].rstrip("/")) :]


def mounted_copy(member: Member) -> Copy | Unseen | None:
    """Return the copy that lies on the host where a container's is mounted from."""
    path = mounted_path(member)
    if not path or member.beside is None:
        return None
    side = f"{path}, mounted in {member.name}"
    if member.beside.facts is None:
        return Unseen(side, member.beside.why)
    return _copy(member, side, member.beside.facts.paths.get(path), member.beside.facts)


def _copy(
    member: Member, side: str, fact: PathFact | None, where: Facts | None = None
) -> Copy | Unseen:
    if fact is None:
        return Unseen(side, "the bridge was not looked for")
    if fact.state in (State.ABSENT, State.DANGLING):
        return Copy(side, "", "no bridge", fact.absolute)
    if fact.sha256 is None:
        return Unseen(side, fact.why or f"the bridge is {fact.state.value}")
    held = where or member.facts
    content = held.content(fact) if held else None
    blob = git_blob(content) if content is not None else ""
    found = member.toolkit.name(blob) if member.toolkit and blob else None
    commit = found[1] if found else None
    told = _told(fact, commit)
    return Copy(side, fact.sha256, told, fact.final or "", blob, commit, fact.mtime)


def _told(fact: PathFact, commit: Commit | None) -> str:
    if commit is None:
        return f"bytes {(fact.sha256 or '')[:12]}"
    return f"{commit}, {commit.behind} behind" if commit.behind else str(commit)
