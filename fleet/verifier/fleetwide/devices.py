"""Every device's name is its own: two machines with one name share a mailbox."""

from collections import defaultdict
from collections.abc import Sequence

from fleet.inventory.model import Kind, Target
from fleet.verifier.fleetwide.member import (
    DEVICE,
    FLEET,
    Member,
    Told,
    Unseen,
    carriers,
    whole,
)
from fleet.verifier.model import failed, not_applicable, passed


def devices(members: Sequence[Member], fleet: Sequence[Target]) -> tuple[Told, ...]:
    """The names that pi really gets on machines and in containers are compared.

    An image is left out: every container of it has the image's environment until it gets its own.
    """
    asked = carriers(members, Kind.HOST, Kind.CONTAINER)
    if len(asked) < 2:  # noqa: PLR2004 - it takes two to share a name
        return ()
    of: dict[str, list[str]] = defaultdict(list)
    unseen = []
    for member in asked:
        names = _names(member)
        if isinstance(names, Unseen):
            unseen.append(names)
            continue
        for name in names:
            of[name].append(member.name)
    shared = {name: targets for name, targets in of.items() if len(targets) > 1}
    if shared:
        lines = (f"{name}: {', '.join(targets)}" for name, targets in shared.items())
        found = failed("machines share a device's name, and so a mailbox", *lines)
    elif of:
        found = passed(f"{len(of)} device names, none of them twice")
    else:
        found = not_applicable("no target has a device's name")
    kinds = (Kind.HOST, Kind.CONTAINER)
    every = sum(t.kind in kinds and "mempalace-bridge" in t.systems for t in fleet)
    judged = whole(found, len(asked) - len(unseen), unseen, every - len(asked))
    return (Told(FLEET, judged),)


def _names(member: Member) -> list[str] | Unseen:
    if member.facts is None:
        return Unseen(member.name, member.trouble or "it was not asked")
    launches = member.facts.launches
    answered = [launch for launch in launches.values() if launch.state == "ok"]
    if not answered or any(DEVICE not in launch.variables for launch in answered):
        why = next((launch.why for launch in launches.values() if launch.why), None)
        return Unseen(member.name, why or "nothing told what pi gets there")
    values = [launch.variables[DEVICE] for launch in answered]
    return list(dict.fromkeys(v.value for v in values if v.value))
