"""What belongs together carries the same bytes: an image, its containers, a clone, the host."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from fleet.inventory.model import Kind, Scheme, Target
from fleet.verifier.fleetwide.declared import declared_commits
from fleet.verifier.fleetwide.member import (
    BRIDGE,
    FLEET,
    Copy,
    Member,
    Told,
    Unseen,
    bridge_copy,
    carriers,
    clone_copy,
    whole,
)
from fleet.verifier.model import Judgement, Verdict, failed, passed, warned


@dataclass(frozen=True, slots=True)
class _Family:
    """Members of one name; ``names`` are those that they share or go by."""

    names: frozenset[str]
    members: tuple[Member, ...]


def fresh(members: Sequence[Member], fleet: Sequence[Target]) -> tuple[Told, ...]:
    """All sides of one name are compared: what pi loads there, and the clone beside it."""
    families = _families(members)
    sides = [[s for m in family.members for s in _sides(m)] for family in families]
    elsewhere = _elsewhere(families, members, fleet)
    return _drift(sides, elsewhere, "carries the same bytes on every side", "has drifted apart")


def baked(members: Sequence[Member], fleet: Sequence[Target]) -> tuple[Told, ...]:
    """An image is compared with its containers, and with the commit declared for it.

    That is ``toolkit_ref`` of the image, and the commit in its label
    ``org.opencontainers.image.revision`` where that is one of the toolkit's. A container that loads
    a mounted copy is left out: what was baked into it is hidden.
    """
    sides: list[list[Copy | Unseen]] = []
    notes: list[str] = []
    contradicted: list[str] = []
    families = _families(members, least=1)
    for family in families:
        images = [m for m in family.members if m.target.kind is Kind.IMAGE]
        others = [m for m in family.members if m.target.kind is Kind.CONTAINER]
        baked_in = [bridge_copy(m) for m in others if not _mounted(m)]
        commits = [declared_commits(m) for m in images]
        declared = [side for found in commits for side in found.sides]
        if images and (baked_in or declared):
            sides.append([*(bridge_copy(m) for m in images), *baked_in, *declared])
            notes += [note for found in commits for note in found.notes]
            contradicted += [told for found in commits for told in found.contradictions]
    elsewhere = _elsewhere(families, members, fleet)
    told = _drift(sides, elsewhere, "is what its image and its commit are", "is not what was baked")
    return tuple(Told(t.subject, _noted(t.judgement, notes, contradicted)) for t in told)


def _noted(found: Judgement, notes: Sequence[str], contradicted: Sequence[str]) -> Judgement:
    """Add what the declared commits say of one another; two of them are no pass."""
    evidence = (*found.evidence, *contradicted, *notes)
    if contradicted and found.verdict is Verdict.PASS:
        remedy = "correct `toolkit_ref`, or build the image anew with its label"
        return warned("an image's label and its toolkit_ref differ", *evidence, remedy=remedy)
    return replace(found, evidence=evidence)


def _elsewhere(
    families: Sequence[_Family], members: Sequence[Member], fleet: Sequence[Target]
) -> int:
    """Count the targets of these families that are not in this run."""
    here = {m.name for m in members}
    names = frozenset().union(*(f.names for f in families)) if families else frozenset()
    return sum(
        t.name not in here
        and BRIDGE in t.systems
        and not names.isdisjoint({*_own_names(t), *t.groups})
        for t in fleet
    )


def _drift(
    sides: Sequence[Sequence[Copy | Unseen]], elsewhere: int, good: str, bad: str
) -> tuple[Told, ...]:
    compared = [family for family in sides if len(family) > 1]
    if not compared:
        return ()
    unseen = [s for family in compared for s in family if isinstance(s, Unseen)]
    seen = [[s for s in family if isinstance(s, Copy)] for family in compared]
    apart = [copies for copies in seen if len({c.sha256 or c.blob for c in copies}) > 1]
    lines = [f"{c.side}: {_at(c)}" for copies in apart or seen for c in copies]
    found = failed(f"the bridge {bad}", *lines) if apart else passed(f"the bridge {good}", *lines)
    judged = whole(found, sum(map(len, seen)), unseen, elsewhere)
    return (Told(FLEET, judged),)


def _at(copy: Copy) -> str:
    return f"{copy.told} ({copy.path})" if copy.path else copy.told


def _sides(member: Member) -> Iterator[Copy | Unseen]:
    loaded = bridge_copy(member)
    source = _mounted(member)
    if source and isinstance(loaded, Copy):
        side = f"{loaded.side}, mounted from {source}"
        loaded = Copy(side, loaded.sha256, loaded.told, loaded.path, loaded.blob)
    yield loaded
    clone = clone_copy(member)
    if clone is not None:
        yield clone


def _mounted(member: Member) -> str:
    """Return what the loaded copy is mounted from, empty where it is the container's own."""
    copy = bridge_copy(member)
    container = member.facts.container if member.facts else None
    if container is None or isinstance(copy, Unseen):
        return ""
    for destination, source in container.mounts.items():
        if copy.path == destination or copy.path.startswith(destination.rstrip("/") + "/"):
            return source
    return ""


def _families(members: Sequence[Member], least: int = 2) -> list[_Family]:
    """Join members of one name: by target, container, image repository, image id, and group.

    A group joins only where it is itself called like a target, a container or a repository.
    """
    asked = carriers(members)
    own = {m.name: _names(m) for m in asked}
    known = frozenset().union(*own.values()) if own else frozenset()
    by_name: dict[str, _Family] = {}
    for member in asked:
        names = own[member.name] | (known & frozenset(member.target.groups))
        met = {id(f): f for name in names if (f := by_name.get(name))}.values()
        joined = tuple(m for f in met for m in f.members)
        family = _Family(names.union(*(f.names for f in met)), (*joined, member))
        by_name.update(dict.fromkeys(family.names, family))
    families = {id(family): family for family in by_name.values()}.values()
    baked_kinds = (Kind.IMAGE, Kind.CONTAINER)
    return [
        f
        for f in families
        if len(f.members) >= least and any(m.target.kind in baked_kinds for m in f.members)
    ]


def _own_names(target: Target) -> set[str]:
    address = target.address
    names = {target.name}
    if address.scheme is Scheme.CONTAINER:
        names.add(address.name)
    if address.scheme is Scheme.DOCKER_DAEMON:
        names.add(address.name.partition("@")[0].rpartition("/")[2].partition(":")[0])
    return names


def _names(member: Member) -> frozenset[str]:
    names = _own_names(member.target)
    image = member.facts.image if member.facts else None
    if image is not None and image.id:
        names.add(image.id)
    return frozenset(names)
