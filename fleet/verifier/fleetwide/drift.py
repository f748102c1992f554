"""What belongs together carries the same bytes: an image, its containers, a clone, the host."""

from collections.abc import Iterator, Sequence

from fleet.inventory.model import Kind, Target
from fleet.verifier.fleetwide.declared import declared_commits
from fleet.verifier.fleetwide.families import Family, elsewhere, families
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
    mount_of,
    mounted_copy,
    whole,
)
from fleet.verifier.images import older_image
from fleet.verifier.model import (
    Judgement,
    Verdict,
    failed,
    not_applicable,
    passed,
    warned,
)


def fresh(members: Sequence[Member], fleet: Sequence[Target]) -> tuple[Told, ...]:
    """All sides of one name are compared: what pi loads there, and the clone beside it."""
    found = families(carriers(members))
    sides = [[s for m in family.members for s in _sides(m)] for family in found]
    away = _away(found, members, fleet)
    return _drift(sides, away, "carries the same bytes on every side", "has drifted apart")


def baked(members: Sequence[Member], fleet: Sequence[Target]) -> tuple[Told, ...]:
    """An image is compared with its containers, and with the commit declared for it.

    That is ``toolkit_ref`` of the image, and the commit in its label
    ``org.opencontainers.image.revision`` where that is one of the toolkit's. A container that loads
    a mounted copy is left out: what was baked into it is hidden. One whose image's name means
    another image today is told in any case.
    """
    sides: list[list[Copy | Unseen]] = []
    notes: list[str] = []
    contradicted: list[str] = []
    found = families(carriers(members), least=1)
    older = [f"{m.name}: {told}" for f in found for m in f.members if (told := _older(m))]
    for family in found:
        images = [m for m in family.members if m.target.kind is Kind.IMAGE]
        others = [m for m in family.members if m.target.kind is Kind.CONTAINER]
        baked_in = [bridge_copy(m) for m in others if mount_of(m) is None]
        commits = [declared_commits(m) for m in images]
        declared = [side for each in commits for side in each.sides]
        if images and (baked_in or declared):
            sides.append([*(bridge_copy(m) for m in images), *baked_in, *declared])
            notes += [note for each in commits for note in each.notes]
            contradicted += [told for each in commits for told in each.contradictions]
    away = _away(found, members, fleet)
    good, bad = "is what its image and its commit are", "is not what was baked"
    judged = _drift(sides, away, good, bad, older)
    return tuple(Told(t.subject, _noted(t.judgement, notes, contradicted)) for t in judged)


def _noted(found: Judgement, notes: Sequence[str], contradicted: Sequence[str]) -> Judgement:
    """Add what the declared commits say of one another; two of them are no pass."""
    evidence = (*found.evidence, *contradicted, *notes)
    if contradicted and found.verdict is Verdict.PASS:
        remedy = "correct `toolkit_ref`, or build the image anew with its label"
        return warned("an image's label and its toolkit_ref differ", *evidence, remedy=remedy)
    return found._replace(evidence=evidence)


def _older(member: Member) -> str:
    container = member.facts.container if member.facts else None
    return older_image(container) if container else ""


def _away(found: Sequence[Family], members: Sequence[Member], fleet: Sequence[Target]) -> int:
    return len(elsewhere(found, members, [t for t in fleet if BRIDGE in t.systems]))


def _drift(
    sides: Sequence[Sequence[Copy | Unseen]],
    away: int,
    good: str,
    bad: str,
    older: Sequence[str] = (),
) -> tuple[Told, ...]:
    compared = [family for family in sides if len(family) > 1]
    if not compared and not older:
        return ()
    unseen = [s for family in compared for s in family if isinstance(s, Unseen)]
    seen = [[s for s in family if isinstance(s, Copy)] for family in compared]
    apart = [copies for copies in seen if len({c.bytes for c in copies}) > 1]
    lines = [f"{c.side}: {_at(c)}" for copies in apart or seen for c in copies]
    if apart or older:
        found = failed(f"the bridge {bad}" if apart else "made of an older image", *lines, *older)
    elif seen and not any(copy.bytes for copies in seen for copy in copies):
        found = not_applicable("no side carries a bridge", *lines)
    else:
        found = passed(f"the bridge {good}", *lines)
    judged = whole(found, sum(map(len, seen)), unseen, away)
    return (Told(FLEET, judged),)


def _at(copy: Copy) -> str:
    return f"{copy.told} ({copy.path})" if copy.path else copy.told


def _sides(member: Member) -> Iterator[Copy | Unseen]:
    loaded, mount = bridge_copy(member), mount_of(member)
    if mount and isinstance(loaded, Copy):
        side = f"{loaded.side}, mounted from {mount[1]}"
        loaded = Copy(side, loaded.sha256, loaded.told, loaded.path, loaded.blob)
    yield loaded
    for further in (clone_copy(member), mounted_copy(member)):
        if further is not None:
            yield further
