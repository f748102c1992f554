"""One toolkit commit across a group, or the spread."""

from collections import defaultdict
from collections.abc import Sequence

from fleet.inventory.model import Target
from fleet.verifier.fleetwide.member import (
    BRIDGE,
    FLEET,
    Copy,
    Member,
    Told,
    Unseen,
    bridge_copy,
    carriers,
    whole,
)
from fleet.verifier.model import Judgement, not_applicable, passed, warned


def skew(members: Sequence[Member], fleet: Sequence[Target]) -> tuple[Told, ...]:
    """The copies within each innermost group are compared, and those of targets in none."""
    of: dict[str, list[Member]] = defaultdict(list)
    for member in carriers(members):
        of[_group(member.target)].append(member)
    every: dict[str, int] = defaultdict(int)
    for target in fleet:
        every[_group(target)] += BRIDGE in target.systems
    return tuple(
        Told(name, _compared(group, every[name] - len(group)))
        for name, group in of.items()
        if len(group) > 1
    )


def _group(target: Target) -> str:
    return target.groups[-1] if target.groups else FLEET


def _compared(group: Sequence[Member], elsewhere: int) -> Judgement:
    copies = [bridge_copy(member) for member in group]
    seen = [c for c in copies if isinstance(c, Copy)]
    unseen = [c for c in copies if isinstance(c, Unseen)]
    of: dict[tuple[str, str], list[str]] = defaultdict(list)
    for copy in seen:
        of[copy.sha256, copy.told].append(copy.side)
    different = len({digest for digest, _ in of})
    lines = [f"{told}: {', '.join(sides)}" for (_, told), sides in of.items()]
    if different > 1:
        found = warned(f"{different} different bridges on {len(seen)} targets", *lines)
    elif seen and not any(copy.sha256 for copy in seen):
        found = not_applicable("no target of the group carries a bridge")
    else:
        found = passed(f"one bridge on {len(seen)} targets", *lines)
    return whole(found, len(seen), unseen, elsewhere)
