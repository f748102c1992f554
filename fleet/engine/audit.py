"""Auditing: look at every target, judge what was seen, and say what it comes down to."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from fleet.engine.context import Context, narrowed
from fleet.engine.facts import Looked, gather
from fleet.engine.judging import Judged, Standards, judged_of
from fleet.engine.observer import NullObserver, Observer
from fleet.engine.options import AuditOptions
from fleet.engine.recorded import recorded, shared_of
from fleet.inventory.model import Target
from fleet.systems.model import Gate
from fleet.systems.resolve import Resolved
from fleet.verifier.fleetwide.member import Member
from fleet.verifier.fleetwide.rules import SYSTEM, judge_fleet
from fleet.verifier.fleetwide.table import tables
from fleet.verifier.run import Run, TargetResult, in_short
from fleet.verifier.waivers import waived

if TYPE_CHECKING:
    from fleet.engine.kept import Keeper

#: Fewer saved targets than this are judged before other processes have begun.
MANY = 1000


def audit(
    targets: Sequence[Target],
    context: Context,
    options: AuditOptions,
    observer: Observer | None = None,
    *,
    command: str = "audit",
    seen: Mapping[str, Looked] | None = None,
    keeper: "Keeper | None" = None,
) -> Run:
    """Look at targets and judge them; with ``options.offline`` judge saved facts instead.

    Args:
        targets: whom to look at.
        context: what the run shares.
        options: how it is carried out.
        observer: told as it goes on.
        command: the command's name, for the report.
        seen: looks that still hold, by target; those targets are not asked again.
        keeper: lays out for the history what was seen of each target, before ``options.lean``
            lessens it.

    Raises:
        CatalogueError: a system is not known.
        UsageError: a required capability is one that nothing gives.
        PlanError: a system's text cannot be rendered for a target.
    """
    started = datetime.now(UTC)
    chosen = narrowed(targets, context, systems=options.systems, require=options.require)
    standards, shared = Standards(context, started.date()), shared_of(options)

    def judge(some: Sequence[Target]) -> Iterator[Judged]:
        if options.offline:
            looked = recorded(some, context, options, shared)
        else:
            looked = _looked(some, context, options, observer, seen or {})
        for one in looked:
            yield judged_of(one, standards, lean=options.lean, keeper=keeper)

    every = judge(chosen)
    if options.offline and len(chosen) >= MANY:
        from fleet.engine.sharing import shared_out  # noqa: PLC0415 - few have so many

        every = shared_out(chosen, context, judge)
    kept = every if keeper is None else _kept(every, keeper)
    members, results = _as_they_come(kept, chosen, options, observer or NullObserver())
    fleet = context.inventory.targets if context.inventory else chosen
    return Run(
        id=started.strftime("%Y%m%dT%H%M%S.%fZ"),
        command=command,
        started=started,
        finished=datetime.now(UTC),
        results=tuple(results),
        strict=options.strict,
        fleetwide=waived(judge_fleet(members, fleet), context.waivers, standards.today),
        gates=gates_of(m.resolved for m in members),
        drift=tuple(t for t in tables(members, fleet) if len(t.sides) > 1),
    )


def _as_they_come(
    every: Iterable[Judged], targets: Sequence[Target], options: AuditOptions, told: Observer
) -> tuple[tuple[Member, ...], tuple[TargetResult, ...]]:
    """Tell of each target as soon as it was judged; both are in the order of targets."""
    came: dict[str, tuple[Member, TargetResult]] = {}
    for member, result, _ in every:
        came[member.name] = member, result
        told.target_judged(member.name, *in_short(result, strict=options.strict))
    ordered = [came[target.name] for target in targets]
    return tuple(one for one, _ in ordered), tuple(result for _, result in ordered)


def _kept(every: Iterable[Judged], keeper: "Keeper") -> Iterator[Judged]:
    for one in every:
        keeper.put(one.member.name, one.seen)
        yield one


def gates_of(every: Iterable[Sequence[Resolved]]) -> tuple[Gate, ...]:
    """Return every gate that the targets of a run, and the fleet as a whole, may be asked."""
    systems = {id(r.system): r.system for resolved in every for r in resolved}
    gates = {g.id: g for system in systems.values() for g in system.gates}
    return (*gates.values(), *(g for g in SYSTEM.gates if g.id not in gates))


def _looked(
    targets: Sequence[Target],
    context: Context,
    options: AuditOptions,
    observer: Observer | None,
    seen: Mapping[str, Looked],
) -> Iterator[Looked]:
    unseen = [target for target in targets if target.name not in seen]
    for target in targets:
        if target.name in seen:
            yield replace(seen[target.name], target=target)
    yield from gather(unseen, context, options, observer)
