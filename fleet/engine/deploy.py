"""Deploying: look, plan purely, act once. Looking again is the audit's.

A plan that changes nothing costs one round trip a target; applying one adds a second. Before an
uninstall or a prune, what the ledger names and the first look did not answer is asked for too.
"""

import getpass
import platform
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TypeAlias

from fleet.dataclass import dataclass
from fleet.engine.await_palace import await_palace
from fleet.engine.context import Context, narrowed
from fleet.engine.controller_files import LocalFiles
from fleet.engine.facts import Looked, gather
from fleet.engine.observer import Observer
from fleet.engine.options import AuditOptions, DeployOptions
from fleet.engine.pool import in_parallel
from fleet.errors import ApplyError, FleetError, PlanError
from fleet.facts.model import Facts
from fleet.facts.request import PathQuestion
from fleet.installers.desired import desired
from fleet.installers.items import Item, rewritten
from fleet.installers.model import Plan
from fleet.installers.outcome import read_outcome
from fleet.installers.planning import further_questions, questions, removal
from fleet.installers.planning import plan as plan_target
from fleet.installers.program import program
from fleet.inventory.model import Kind, Target, Value
from fleet.systems.resolve import Resolved, in_order, resolve
from fleet.verifier.look import Look


@dataclass(frozen=True, slots=True)
class TargetPlan:
    """What planning for one target brought: a plan, or why there is none.

    Attributes:
        looked: what the plan was made from. Where it changes nothing, an audit judges this look
            and asks no second time.
    """

    target: Target
    plan: Plan | None
    trouble: FleetError | None = None
    looked: Looked | None = None


@dataclass(frozen=True, slots=True)
class TargetApplied:
    """What applying one target's plan brought.

    Attributes:
        changed: how many changes were made and stayed.
        trouble: why it was refused, or failed and was undone; None when it went well.
        recovered: whether an earlier run that had been cut off was undone instead; what is
            declared is not there yet, so plan and apply again.
    """

    target: Target
    changed: int = 0
    trouble: FleetError | None = None
    notes: tuple[str, ...] = ()
    recovered: bool = False

    @property
    def ok(self) -> bool:
        """Tell whether all of the plan was carried out."""
        return self.trouble is None


def plan(
    targets: Sequence[Target], context: Context, options: DeployOptions, observer: Observer
) -> tuple[TargetPlan, ...]:
    """Plan what brings targets to what is declared; changes nothing."""
    chosen = _hosts(narrowed(targets, context, systems=options.systems))
    files = LocalFiles(context.folder)
    wishes: dict[str, _Wish] = {}
    refused: dict[str, FleetError] = {}
    for target in chosen:
        try:
            wishes[target.name] = _wish(target, context, files)
        except FleetError as error:
            refused[target.name] = error
    extra = {name: questions(wish.items) for name, wish in wishes.items()}

    def make(facts: Facts, target: Target) -> Plan:
        wish = wishes[target.name]
        if not wish.settled:
            wish = _wish(target, context, files, facts)
        items = _foreseen(wish, context, facts)
        wanted = options.artifacts.get(target.name)
        return plan_target(
            items if wanted is None else [i for i in items if i.key in wanted],
            facts,
            adopt=options.adopt,
            prune=options.prune,
            secrets=context.secrets.values,
            # What is not among the wanted is no less desired for it: nothing may be pruned.
            scope=(options.systems or None) if wanted is None else (),
        )

    asked = [t for t in chosen if t.name in extra]
    made = _planned(asked, context, options, observer, extra, make, deep=options.prune)
    return tuple(
        TargetPlan(t, None, refused[t.name]) if t.name in refused else made[t.name] for t in chosen
    )


@dataclass(frozen=True, slots=True)
class _Wish:
    """What is desired on a target.

    Attributes:
        target: with what its systems derive among its variables.
        settled: whether facts cannot change it; else, without them, it is only good for
            collecting questions.
    """

    target: Target
    resolved: tuple[Resolved, ...]
    items: tuple[Item, ...]
    settled: bool


def _wish(target: Target, context: Context, files: LocalFiles, facts: Facts | None = None) -> _Wish:
    systems = in_order(context.systems(target))
    further: dict[str, Value] = {}
    settled = True
    resolved = resolve(systems, target)
    for r in resolved:
        derivation = context.catalogue.derivation(r.system.system)
        if derivation:
            settled = facts is not None
            found = derivation.derive(r.variables, facts) if facts else derivation.provisional
            further.update(found)
    if further:
        target = replace(target, variables={**target.variables, **further})
        resolved = resolve(systems, target)
    items = tuple(_rewritten(item, context) for item in desired(resolved, target, files))
    return _Wish(target, resolved, items, settled)


def _rewritten(item: Item, context: Context) -> Item:
    rewrite = context.catalogue.rewriting(item.system)
    return rewritten(item, rewrite) if rewrite else item


def _foreseen(wish: _Wish, context: Context, facts: Facts) -> tuple[Item, ...]:
    """Mark the items that would do harm beside what is there or comes with them."""
    problems: dict[str, tuple[str, str]] = {}
    for r in wish.resolved:
        foresee = context.catalogue.foresight(r.system.system)
        if foresee:
            look = Look(wish.target, r, facts, facts.taken_at.date())
            found = foresee(look, wish.items)
            problems |= {f"{r.system.system}.{name}": why for name, why in found.items()}
    return tuple(replace(item, problem=problems.get(item.key, item.problem)) for item in wish.items)


def plan_uninstall(
    targets: Sequence[Target], context: Context, options: DeployOptions, observer: Observer
) -> tuple[TargetPlan, ...]:
    """Plan the removal of all that the ledgers own, or what they own of some systems."""
    chosen = _hosts(targets)
    extra = {target.name: questions() for target in chosen}

    def make(facts: Facts, _target: Target) -> Plan:
        return removal(facts, options.systems or None)

    made = _planned(chosen, context, options, observer, extra, make, deep=True)
    return tuple(made[target.name] for target in chosen)


def apply(
    plans: Sequence[TargetPlan], context: Context, options: DeployOptions, observer: Observer
) -> tuple[TargetApplied, ...]:
    """Carry plans out, each in one program on its target; a failed one is undone there."""

    def carry_out(planned: TargetPlan) -> TargetApplied:
        observer.target_started(planned.target.name, "applying")
        applied = _apply(planned, context, options)
        note = applied.trouble.what if applied.trouble else ""
        observer.target_finished(planned.target.name, applied.ok, note)
        return applied

    context.secrets.prepare([p.target for p in plans])
    return tuple(in_parallel(carry_out, plans, options.jobs))


Make: TypeAlias = Callable[[Sequence[Target]], Sequence[TargetPlan]]
CarryOut: TypeAlias = Callable[[Sequence[TargetPlan]], Sequence[TargetApplied] | None]


def brought(
    targets: Sequence[Target], make: Make, carry_out: CarryOut
) -> tuple[tuple[TargetPlan, ...], tuple[TargetApplied, ...] | None]:
    """Plan and apply; where that only undid an earlier run, plan and apply once more.

    Args:
        targets: whom to deploy to.
        make: plans for targets.
        carry_out: applies plans that change something; None when somebody said no.
    """
    plans = tuple(make(targets))
    applied = carry_out(plans)
    cut = {a.target.name for a in applied or () if a.recovered}
    if applied is None or not cut:
        return plans, None if applied is None else tuple(applied)
    again = {p.target.name: p for p in make([t for t in targets if t.name in cut])}
    plans = tuple(again.get(p.target.name, p) for p in plans)
    then = carry_out(tuple(again.values()))
    if then is None:
        return plans, None
    came = {a.target.name: _twice(a) if a.recovered else a for a in then}
    return plans, tuple(came.get(a.target.name, replace(a, recovered=False)) for a in applied)


def _twice(applied: TargetApplied) -> TargetApplied:
    trouble = ApplyError(
        "another run was cut off there meanwhile, and was undone",
        where=applied.target.name,
        hint="find out who else deploys to it, then run it again",
    )
    return replace(applied, trouble=trouble, recovered=False)


def _hosts(targets: Sequence[Target]) -> tuple[Target, ...]:
    """Return the targets that can be deployed to: an image is rebuilt, not changed."""
    return tuple(t for t in targets if t.kind is not Kind.IMAGE)


def _planned(
    targets: Sequence[Target],
    context: Context,
    options: DeployOptions,
    observer: Observer,
    extra: dict[str, tuple[PathQuestion, ...]],
    make: Callable[[Facts, Target], Plan],
    *,
    deep: bool,
) -> dict[str, TargetPlan]:
    looking = AuditOptions(jobs=options.jobs, timeout=options.timeout)
    seen = {
        looked.target.name: looked
        for looked in gather(targets, context, looking, observer, extra=extra, probe=options.probe)
    }
    if deep:
        _look_further(seen, context, looking, observer, extra)
    return {name: _made(looked, make) for name, looked in seen.items()}


def _look_further(
    seen: dict[str, Looked],
    context: Context,
    looking: AuditOptions,
    observer: Observer,
    extra: dict[str, tuple[PathQuestion, ...]],
) -> None:
    """Ask again where a ledger names paths that the first look did not answer."""
    again: dict[str, tuple[PathQuestion, ...]] = {}
    for name, looked in seen.items():
        if looked.facts is None:
            continue
        try:
            further = further_questions(looked.facts)
        except FleetError:
            continue  # the plan tells it, with the target's name
        if any(question.path not in looked.facts.paths for question in further):
            again[name] = (*extra[name], *further)
    targets = [seen[name].target for name in again]
    for looked in gather(targets, context, looking, observer, extra=again, probe=False):
        seen[looked.target.name] = looked


def _made(looked: Looked, make: Callable[[Facts, Target], Plan]) -> TargetPlan:
    if looked.facts is None:
        return TargetPlan(looked.target, None, looked.trouble, looked)
    try:
        return TargetPlan(looked.target, make(looked.facts, looked.target), None, looked)
    except FleetError as error:
        return TargetPlan(looked.target, None, error, looked)
    except RecursionError:
        trouble = PlanError(
            "a file there is nested beyond reason, so nothing is planned",
            where=looked.target.name,
            hint="look at the settings and manifests of what is to be deployed there",
        )
        return TargetPlan(looked.target, None, trouble, looked)


def looks(plans: Sequence[TargetPlan]) -> dict[str, Looked]:
    """Return the looks that still hold after applying: those of plans that change nothing."""
    return {
        p.target.name: p.looked
        for p in plans
        if p.looked and (p.looked.facts is None or (p.plan is not None and not p.plan.changes))
    }


def _apply(planned: TargetPlan, context: Context, options: DeployOptions) -> TargetApplied:
    target, made = planned.target, planned.plan
    if made is None:
        return TargetApplied(target, trouble=planned.trouble)
    try:
        script, payload = program(
            made, holder=holder(), since=datetime.now(UTC), reveal=context.secrets.reveal
        )
        seconds = max(options.timeout, made.seconds)
        with context.connections.to(target, timeout=seconds) as connector:
            applied = read_outcome(
                connector.apply(script, payload), made, hide=context.secrets.values.values()
            )
            trouble: FleetError | None = applied.error(target.name)
            if trouble is None and made.changes:
                resolved: tuple[Resolved, ...] = resolve(context.systems(target), target)
                trouble = await_palace(target, resolved, made, connector, context)
    except FleetError as error:
        return TargetApplied(target, trouble=error)
    changed = len(made.steps) if applied.committed else 0
    recovered = trouble is None and not applied.committed
    return TargetApplied(target, changed, trouble, applied.notes, recovered)


def holder() -> str:
    """Say who is acting, for a second operator and for the ledger: ``user@controller``."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = "unknown"
    return f"{user}@{platform.node() or 'unknown'}"
