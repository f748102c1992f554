"""Drift in one table: every side of a family, held against the newest that is known of it.

A side is an image, a container, the compose file it comes from, the folder its bridge is mounted
from, a toolkit that lies beside what pi loads, or a host of the same name.
"""

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from enum import StrEnum

from fleet.dataclass import dataclass
from fleet.facts.running import ContainerFact
from fleet.inventory.model import Kind, Target
from fleet.systems.model import Link
from fleet.verifier.fleetwide.composing import Composed, compositions
from fleet.verifier.fleetwide.declared import declared_commits
from fleet.verifier.fleetwide.families import Family, elsewhere, families
from fleet.verifier.fleetwide.member import (
    BRIDGE,
    Copy,
    Member,
    Unseen,
    bridge_copy,
    clone_copy,
    mount_of,
    mounted_copy,
    mounted_path,
)
from fleet.verifier.images import older_image
from fleet.verifier.toolkit import Commit


class What(StrEnum):
    """What a side is."""

    IMAGE = "image"
    CONTAINER = "container"
    COMPOSE = "compose"  # the compose file
    CLONE = "clone"  # a toolkit's folder: mounted, or beside what pi loads
    HOST = "host"
    DECLARED = "declared"  # the commit that the inventory says an image is baked from


class Standing(StrEnum):
    """How a side stands to the reference."""

    SAME = "same"
    BEHIND = "behind"  # as all others, and the history knows a newer commit
    DIFFERS = "differs"
    UNSEEN = "unseen"


@dataclass(frozen=True, slots=True)
class Side:
    """One row.

    Attributes:
        target: the target that told of it.
        name: the image's, the container's or the host's name, or a path.
        image: the id of the image that it is, was made of, or names today; empty for none.
        bridge: the bytes of the bridge, None where it has none to tell.
        origin: where those come from: ``baked``, ``mounted``, ``link`` or ``file``; empty for none.
        source: the path, or what it is mounted from.
        created: as told: of a file when it was written; empty where nobody tells.
        notes: what differs, or why it was not seen.
        remedy: what to do about it; empty for nothing.
        again: the command that creates the container anew, of its compose file.
    """

    what: What
    target: str
    name: str
    image: str = ""
    bridge: Copy | None = None
    origin: str = ""
    source: str = ""
    created: str = ""
    standing: Standing = Standing.SAME
    notes: tuple[str, ...] = ()
    remedy: str = ""
    again: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """The sides of one family.

    Attributes:
        name: what they go by.
        reference: the newest commit that one of them carries, None where none is known by one.
        newest: the newest commit of the toolkit's history, None where there is none.
        elsewhere: targets of the family that are not in this run.
        notes: what was found and not looked at.
    """

    name: str
    sides: tuple[Side, ...]
    reference: Commit | None = None
    newest: Commit | None = None
    elsewhere: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def seen(self) -> int:
        """Return how many sides were seen."""
        return sum(side.standing is not Standing.UNSEEN for side in self.sides)

    @property
    def drifted(self) -> bool:
        """Whether a side differs from the others."""
        return any(side.standing is Standing.DIFFERS for side in self.sides)

    @property
    def worth_telling(self) -> bool:
        """Whether a report that was not asked for it should show it."""
        return len(self.sides) > 1 and self.drifted


def tables(
    members: Sequence[Member],
    fleet: Sequence[Target],
    notes: Mapping[str, Sequence[str]] | None = None,
) -> tuple[Table, ...]:
    """Lay out every family of a run, by name.

    Args:
        members: every target of the run.
        fleet: every target there is.
        notes: what was found and not looked at, by target.
    """
    found = compositions(members)
    declared = [m for m in members if m.target.kind is Kind.HOST and _of(found, m)]
    joined = families(members, least=1)
    taken = {m.name for family in joined for m in family.members}
    # A host whose own description declares a compose project is a family by itself.
    joined += [Family(frozenset({m.name}), (m,)) for m in declared if m.name not in taken]
    made = (_table(family, members, found, fleet, notes or {}) for family in joined)
    return tuple(sorted(made, key=lambda table: table.name))


def _of(found: Iterable[Composed], member: Member) -> list[Composed]:
    return [one for one in found if one.member == member.name]


def _table(
    family: Family,
    members: Sequence[Member],
    found: Sequence[Composed],
    fleet: Sequence[Target],
    notes: Mapping[str, Sequence[str]],
) -> Table:
    order = [Kind.IMAGE, Kind.CONTAINER, Kind.HOST]
    own = sorted(family.members, key=lambda m: (order.index(m.target.kind), m.name))
    sides = [side for member in own for side in _sides(member, _of(found, member))]
    reference = _reference(sides)
    placed = tuple(_placed(side, reference, sides) for side in sides)
    newest = next((m.toolkit.commits[0] for m in own if m.toolkit and m.toolkit.commits), None)
    return Table(
        name=own[0].name if len(own) == 1 else _shared(family, own),
        sides=placed,
        reference=reference.commit if reference else None,
        newest=newest,
        elsewhere=tuple(sorted(elsewhere([family], members, fleet))),
        notes=tuple(note for m in own for note in notes.get(m.name, ())),
    )


def _shared(family: Family, own: Sequence[Member]) -> str:
    """Return the name by which a family goes: one that is no id and no address, if any."""
    plain = [name for name in family.names if ":" not in name]
    called = [name for name in plain if any(name in m.target.address.name for m in own)]
    return min(called or plain or [own[0].name], key=lambda name: (len(name), name))


def _sides(member: Member, found: Sequence[Composed]) -> Iterator[Side]:
    kind = member.target.kind
    if kind is Kind.IMAGE:
        yield _image(member)
        yield from (_declared(member, copy) for copy in declared_commits(member).sides)
    elif kind is Kind.CONTAINER:
        yield _container(member)
    elif BRIDGE in member.target.systems or member.facts is None:
        yield _host(member)
    clone = clone_copy(member)
    if clone is not None:
        yield _clone(member, clone, _toolkit_path(member))
    mounted = mounted_copy(member)
    if mounted is not None:
        yield _clone(member, mounted, mounted_path(member), mounted=True)
    for one in found:
        if member.target.kind is Kind.HOST:
            yield _reported(member, one.container)
        yield _compose(member, one)


def _unseen(member: Member, what: What, name: str) -> Side:
    why = member.trouble or "it was not asked"
    return Side(what, member.name, name, standing=Standing.UNSEEN, notes=(why,))


def _image(member: Member) -> Side:
    name = str(member.target.address).removeprefix("docker-daemon:")
    if member.facts is None:
        return _unseen(member, What.IMAGE, name)
    image = member.facts.image
    side = Side(
        What.IMAGE,
        member.name,
        name,
        image=image.id if image else "",
        created=image.created if image else "",
    )
    return _carrying(side, member, "baked")


def _container(member: Member) -> Side:
    name = member.target.address.name
    if member.facts is None:
        return _unseen(member, What.CONTAINER, name)
    told, mount = member.facts.container, mount_of(member)
    side = Side(
        What.CONTAINER,
        member.name,
        name,
        image=told.image if told else "",
        created=told.created if told else "",
        notes=tuple(filter(None, [older_image(told)])) if told else (),
    )
    side = _carrying(side, member, "mounted" if mount else "baked")
    return replace(side, source=mount[1]) if mount else side


def _host(member: Member) -> Side:
    if member.facts is None:
        return _unseen(member, What.HOST, member.name)
    resolved = member.system(BRIDGE)
    artifact = resolved.artifacts.get("bridge") if resolved else None
    fact = member.facts.paths.get(artifact.path) if artifact else None
    return _carrying(
        Side(What.HOST, member.name, member.name),
        member,
        "link" if fact and fact.hops else "file",
    )


def _carrying(side: Side, member: Member, origin: str) -> Side:
    if BRIDGE not in member.target.systems:
        return side
    copy = bridge_copy(member)
    if isinstance(copy, Unseen):
        return replace(side, standing=Standing.UNSEEN, notes=(*side.notes, copy.why))
    return replace(side, bridge=copy, origin=origin if copy.sha256 else "", source=copy.path)


def _declared(member: Member, copy: Copy | Unseen) -> Side:
    name = copy.side.removeprefix(f"{member.name}, ")
    if isinstance(copy, Unseen):
        unseen = Standing.UNSEEN
        return Side(What.DECLARED, member.name, name, standing=unseen, notes=(copy.why,))
    return Side(What.DECLARED, member.name, name, bridge=copy)


def _toolkit_path(member: Member) -> str:
    resolved = member.system(BRIDGE)
    link = resolved.artifacts.get("bridge") if resolved else None
    return link.source if isinstance(link, Link) else ""


def _clone(member: Member, copy: Copy | Unseen, path: str, *, mounted: bool = False) -> Side:
    if isinstance(copy, Unseen):
        unseen = Standing.UNSEEN
        return Side(What.CLONE, member.name, path, standing=unseen, notes=(copy.why,))
    loaded = bridge_copy(member)
    stale = mounted and isinstance(loaded, Copy) and loaded.bytes != copy.bytes
    told = f"{member.name} still sees the file that was there when it was created"
    return Side(
        What.CLONE,
        member.name,
        path,
        bridge=copy,
        origin="file",
        source=copy.path,
        created=_moment(copy.written),
        notes=(told,) if stale else (),
    )


def _reported(member: Member, container: ContainerFact) -> Side:
    """Return a container as its host tells of it; what lies in it was not looked at."""
    notes = tuple(filter(None, [older_image(container)]))
    state = () if container.state == "running" else (f"it is {container.state}",)
    return Side(
        What.CONTAINER,
        member.name,
        container.name,
        image=container.image,
        created=container.created,
        notes=(*notes, *state),
    )


def _compose(member: Member, one: Composed) -> Side:
    seen = one.written is not None
    side = Side(
        What.COMPOSE,
        member.name,
        one.file,
        image=one.container.image_now if seen else "",
        created=_moment(one.written),
        again=one.again,
    )
    if one.compared.wrong:
        told = tuple(f"{one.container.name}: {what}" for what in one.compared.wrong)
        return replace(
            side, standing=Standing.DIFFERS, notes=told, remedy=f"recreate it: {one.again}"
        )
    if one.compared.unseen:
        return replace(side, standing=Standing.UNSEEN, notes=one.compared.unseen)
    return side


def _moment(seconds: int | None) -> str:
    return "" if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat()


def _reference(sides: Sequence[Side]) -> Copy | None:
    """Return the newest copy: by commit where the history knows one, else the first one seen."""
    copies = [side.bridge for side in sides if side.bridge and side.bridge.sha256]
    known = [(c.commit.behind, n, c) for n, c in enumerate(copies) if c.commit]
    return min(known)[2] if known else next(iter(copies), None)


def _placed(side: Side, reference: Copy | None, sides: Sequence[Side]) -> Side:
    """Say how a side stands, and what to do about it."""
    if side.standing is not Standing.SAME:
        return side
    apart = bool(side.bridge and reference and side.bridge.bytes != reference.bytes)
    if apart or side.notes:
        return replace(side, standing=Standing.DIFFERS, remedy=_remedy(side, apart, sides))
    commit = side.bridge.commit if side.bridge else None
    if commit and commit.behind:
        return replace(side, standing=Standing.BEHIND, remedy=_update(side))
    return side


def _remedy(side: Side, apart: bool, sides: Sequence[Side]) -> str:
    """Say what to do about a side that differs: of a container, up to two things."""
    if side.what is not What.CONTAINER:
        return _update(side) if apart else ""
    own = [s for s in sides if s.target == side.target]
    again = next((s.again for s in own if s.again), "")
    anew = f"recreate it: {again}" if again else "recreate it, with the options that it has"
    stale = any(s.what is What.CLONE and s.notes for s in own)
    if apart and side.origin == "mounted" and not stale:
        return anew if side.notes else _update(side)
    image = next((s for s in sides if s.what is What.IMAGE and s.image == side.image), None)
    if apart and not side.notes and not stale and image is not None:
        return f"rebuild its image, then {anew}"
    return anew


def _update(side: Side) -> str:
    """Say how a side is brought to the newest commit."""
    match side.what:
        case What.IMAGE:
            return "rebuild it from the newest commit, then recreate its containers"
        case What.CLONE:
            folder = side.source.partition("/extensions/")[0]
            return f"update the clone: git -C {shlex.quote(folder)} pull"
        case What.HOST:
            return "update the toolkit there"
        case What.DECLARED:
            return "build the image from it, or correct what declares it"
        case _ if side.origin == "mounted":
            return f"update what is mounted into it: {side.source}"
        case _:
            return "rebuild its image, then recreate it"
