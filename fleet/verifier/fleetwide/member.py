"""The members of a fleet as its rules see them, and the copy of the bridge that each carries."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fleet.facts.model import Facts, PathFact, State, git_blob
from fleet.inventory.model import Kind, Target
from fleet.systems.model import Link
from fleet.systems.resolve import Resolved
from fleet.verifier.model import Judgement, Verdict, not_applicable, not_checked
from fleet.verifier.toolkit import Toolkit

BRIDGE = "mempalace-bridge"
FLEET = "fleet"


@dataclass(frozen=True, slots=True)
class Member:
    """One target of a run.

    Attributes:
        facts: None where it could not be asked; ``trouble`` then says why.
        toolkit: the history that names its bytes, None where no clone is declared.
    """

    target: Target
    resolved: tuple[Resolved, ...]
    facts: Facts | None
    toolkit: Toolkit | None = None
    trouble: str = ""

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
    """

    side: str
    sha256: str
    told: str
    path: str = ""
    blob: str = ""


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


def _copy(member: Member, side: str, fact: PathFact | None) -> Copy | Unseen:
    if fact is None:
        return Unseen(side, "the bridge was not looked for")
    if fact.state in (State.ABSENT, State.DANGLING):
        return Copy(side, "", "no bridge")
    if fact.sha256 is None:
        return Unseen(side, fact.why or f"the bridge is {fact.state.value}")
    content = member.facts.content(fact) if member.facts else None
    blob = git_blob(content) if content is not None else ""
    return Copy(side, fact.sha256, _told(member, fact, blob), fact.final or "", blob)


def _told(member: Member, fact: PathFact, blob: str) -> str:
    found = member.toolkit.name(blob) if member.toolkit and blob else None
    if found is None:
        return f"bytes {(fact.sha256 or '')[:12]}"
    behind = found[1].behind
    return f"{found[1]}, {behind} behind" if behind else str(found[1])
