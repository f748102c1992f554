"""What belongs together: an image, its containers, and the hosts of their name."""

from collections.abc import Iterable, Sequence

from fleet.dataclass import dataclass
from fleet.inventory.model import Kind, Scheme, Target
from fleet.verifier.fleetwide.member import Member

_BAKED = (Kind.IMAGE, Kind.CONTAINER)


@dataclass(frozen=True, slots=True)
class Family:
    """Members of one name; ``names`` are those that they share or go by."""

    names: frozenset[str]
    members: tuple[Member, ...]


def families(members: Iterable[Member], least: int = 2) -> list[Family]:
    """Join members of one name: by target, container, image repository, image id, and group.

    A group joins only where it is itself called like a target, a container or a repository. Only
    families that have an image or a container are told.
    """
    asked = list(members)
    if not any(m.target.kind in _BAKED for m in asked):
        return []
    own = [_names(m) for m in asked]
    known = frozenset().union(*own) if own else frozenset()
    by_name: dict[str, Family] = {}
    for member, names in zip(asked, own, strict=True):
        called = names | (known & frozenset(member.target.groups))
        met = {id(f): f for name in called if (f := by_name.get(name))}.values()
        joined = tuple(m for f in met for m in f.members)
        family = Family(called.union(*(f.names for f in met)), (*joined, member))
        by_name.update(dict.fromkeys(family.names, family))
    found = {id(family): family for family in by_name.values()}.values()
    return [
        f
        for f in found
        if len(f.members) >= least and any(m.target.kind in _BAKED for m in f.members)
    ]


def elsewhere(
    found: Sequence[Family], members: Iterable[Member], fleet: Iterable[Target]
) -> list[str]:
    """Name the targets of these families that are not in this run."""
    here = {m.name for m in members}
    names = frozenset().union(*(f.names for f in found)) if found else frozenset()
    return [
        t.name
        for t in fleet
        if t.name not in here and not names.isdisjoint({*own_names(t), *t.groups})
    ]


def relatives(chosen: Sequence[Target], fleet: Iterable[Target]) -> list[Target]:
    """Return targets with all others of the fleet that go by a name of theirs."""
    names = {t.name for t in chosen}
    unseen = [Member(t, (), None) for t in (*chosen, *(t for t in fleet if t.name not in names))]
    kin = {
        m.name for f in families(unseen) if names & {m.name for m in f.members} for m in f.members
    }
    return [m.target for m in unseen if m.name in names | kin]


def own_names(target: Target) -> set[str]:
    """Return the names that a target goes by, whatever is seen of it."""
    address = target.address
    names = {target.name}
    if address.scheme is Scheme.CONTAINER:
        names.add(address.name)
    if address.scheme in (Scheme.DOCKER_DAEMON, Scheme.DOCKER):
        names.add(repository(address.name))
    return names


def repository(image: str) -> str:
    """Return the last part of an image's name, without its tag and digest."""
    return image.partition("@")[0].rpartition("/")[2].partition(":")[0]


def _names(member: Member) -> frozenset[str]:
    names = own_names(member.target) | member.called
    image = member.facts.image if member.facts else None
    if image is not None and image.id:
        names.add(image.id)
    container = member.facts.container if member.facts else None
    made_of = container.image_name if container else ""
    if made_of and not made_of.startswith("sha256:"):
        names.add(repository(made_of))
    return frozenset(names)
