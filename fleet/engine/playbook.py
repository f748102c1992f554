"""Carrying a playbook out: batch by batch, and after each the gates decide whether to go on."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from fleet.data import shipped
from fleet.dataclass import dataclass
from fleet.engine.audit import audit
from fleet.engine.context import Context, narrowed
from fleet.engine.deploy import (
    TargetApplied,
    TargetPlan,
    apply,
    brought,
    looks,
    plan,
    plan_uninstall,
)
from fleet.engine.observer import Observer
from fleet.engine.options import AuditOptions, DeployOptions
from fleet.errors import InventoryError, Place
from fleet.inventory.load import load_inventory
from fleet.inventory.model import Target
from fleet.inventory.playbook import Play, read_playbook
from fleet.inventory.problems import did_you_mean
from fleet.inventory.select import select
from fleet.verifier.model import Verdict
from fleet.verifier.run import Run, TargetResult
from fleet.verifier.waivers import excused


@dataclass(frozen=True, slots=True)
class Playbook:
    """A playbook and where it was read from."""

    source: str
    plays: tuple[Play, ...]


@dataclass(frozen=True, slots=True)
class Batch:
    """What one batch of a play came to.

    Attributes:
        failed: names of the targets that count against ``max_failures``.
    """

    play: str
    targets: tuple[str, ...]
    plans: tuple[TargetPlan, ...]
    applied: tuple[TargetApplied, ...]
    run: Run | None
    failed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlaybookResult:
    """What a playbook came to.

    Attributes:
        stopped: why no further batch started; empty when all were carried out.
        left: names of the targets that were not touched because of it.
    """

    playbook: Playbook
    batches: tuple[Batch, ...]
    stopped: str = ""
    left: tuple[str, ...] = ()


def exists(path_or_name: str) -> bool:
    """Tell whether there is such a file, or such a shipped playbook."""
    return Path(path_or_name).is_file() or _built_in(path_or_name).is_file()


def _built_in(name: str) -> Path:
    return shipped("playbooks") / f"{name}.yml"


def load(path_or_name: str) -> Playbook:
    """Load a playbook from a file, or a shipped one by its name.

    Raises:
        InventoryError: there is none, or something is wrong with it.
    """
    path = Path(path_or_name)
    if not path.exists():
        path = _built_in(path_or_name)
    if not path.is_file():
        names = [p.stem for p in shipped("playbooks").glob("*.yml")]
        raise InventoryError(
            f"there is no playbook {path_or_name!r}",
            hint=did_you_mean(path_or_name, names, kind="shipped playbooks"),
        )
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InventoryError(f"cannot be read: {error}", place=Place(str(path))) from error
    return Playbook(str(path), read_playbook(text, str(path)))


def run(
    playbook: Playbook, context: Context, options: DeployOptions, observer: Observer
) -> PlaybookResult:
    """Carry a playbook out; stops before a batch when more than ``max_failures`` have failed."""
    done: list[Batch] = []
    for number, play in enumerate(playbook.plays):
        stage = _staged(play, context, options)
        failed: list[str] = []
        if not stage.targets:
            observer.said(f"{play.name}: {_nobody(play)}, so nothing was done or proved")
        for batch in _batches(play, stage.targets):
            observer.said(f"{play.name}: {', '.join(t.name for t in batch)}")
            done.append(_carried_out(play, batch, stage, observer))
            failed += done[-1].failed
            if len(failed) > play.max_failures:
                touched = {name for b in done for name in b.targets}
                left = _left(stage.targets, playbook.plays[number + 1 :], context, touched)
                limit = f"max_failures is {play.max_failures}"
                why = f"{play.name}: {', '.join(failed)} failed and {limit}"
                return PlaybookResult(playbook, tuple(done), why, left)
    return PlaybookResult(playbook, tuple(done))


@dataclass(frozen=True, slots=True)
class _Stage:
    """A play's targets, in the context of its variables."""

    context: Context
    targets: tuple[Target, ...]
    deploy: DeployOptions
    audit: AuditOptions


def _nobody(play: Play) -> str:
    """Say why a play has no targets."""
    systems = f" has {' or '.join(play.systems)}" if play.systems else " is there"
    return f"no target of this run{systems}"


def _staged(play: Play, context: Context, options: DeployOptions) -> _Stage:
    """Load the inventory again with the play's variables between it and the command line."""
    inventory = context.inventory
    if inventory is None:
        raise InventoryError("a playbook needs an inventory", hint="name one with -i")
    if play.variables:
        overrides = {**play.variables, **context.overrides}
        inventory = load_inventory(context.path, overrides=overrides, known=context.known)
        context = replace(context, inventory=inventory)
    chosen = select(inventory, play.targets)
    if options.limit:
        limited = {t.name for t in select(inventory, options.limit)}
        chosen = tuple(t for t in chosen if t.name in limited)
    systems = tuple(s for s in play.systems if not options.systems or s in options.systems)
    verify = play.verify and play.state == "present"
    deploy = replace(options, systems=systems or options.systems, probe=verify)
    with_systems = tuple(
        t for t in chosen if not deploy.systems or set(deploy.systems) & set(t.systems)
    )
    narrowed_targets = narrowed(
        with_systems, context, systems=deploy.systems, require=(*play.require, *options.require)
    )
    looking = AuditOptions(
        jobs=options.jobs, timeout=options.timeout, systems=deploy.systems, strict=options.strict
    )
    return _Stage(context, narrowed_targets, deploy, looking)


def _batches(play: Play, targets: Sequence[Target]) -> Iterator[tuple[Target, ...]]:
    start = 0
    for size in play.batches(len(targets)):
        yield tuple(targets[start : start + size])
        start += size


def _carried_out(play: Play, batch: tuple[Target, ...], stage: _Stage, observer: Observer) -> Batch:
    plans: tuple[TargetPlan, ...] = ()
    applied: tuple[TargetApplied, ...] = ()
    if play.state != "observed":
        plans, applied = _deployed(play, batch, stage, observer)
    seen: Run | None = None
    if play.verify and play.state != "absent":
        seen = audit(
            batch, stage.context, stage.audit, observer, command="provision", seen=looks(plans)
        )
    failed = _failed(plans, applied, seen)
    names = tuple(t.name for t in batch)
    return Batch(play.name, names, plans, applied, seen, tuple(n for n in names if n in failed))


def _deployed(
    play: Play, batch: tuple[Target, ...], stage: _Stage, observer: Observer
) -> tuple[tuple[TargetPlan, ...], tuple[TargetApplied, ...]]:
    planner = plan if play.state == "present" else plan_uninstall

    def make(targets: Sequence[Target]) -> tuple[TargetPlan, ...]:
        return planner(targets, stage.context, stage.deploy, observer)

    def carry_out(plans: Sequence[TargetPlan]) -> tuple[TargetApplied, ...]:
        work = [p for p in plans if p.plan is not None and p.plan.changes]
        return apply(work, stage.context, stage.deploy, observer)

    plans, applied = brought(batch, make, carry_out)
    return plans, applied or ()


def _failed(
    plans: Sequence[TargetPlan], applied: Sequence[TargetApplied], seen: Run | None
) -> set[str]:
    failed = {p.target.name for p in plans if p.plan is None or p.plan.conflicts}
    failed |= {a.target.name for a in applied if not a.ok}
    if seen:
        failed |= {r.target.name for r in seen.results if not _holds(r)}
    return failed


def _holds(result: TargetResult) -> bool:
    """Whether all required gates of a target hold; one that could not be seen does not."""
    good = {Verdict.PASS, Verdict.WARN, Verdict.NOT_APPLICABLE, Verdict.WAIVED}
    beside = excused(result.findings)
    return all(
        f.verdict in good
        for f in result.findings
        if f.required and (f.target, f.gate) not in beside
    )


def _left(
    targets: Sequence[Target], later: Sequence[Play], context: Context, touched: set[str]
) -> tuple[str, ...]:
    names = [t.name for t in targets]
    if context.inventory:
        names += [t.name for play in later for t in select(context.inventory, play.targets)]
    return tuple(dict.fromkeys(name for name in names if name not in touched))
