"""Planning, asking, changing: shared by ``plan``, ``apply``, ``uninstall`` and ``provision``."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from fleet.cli.chosen import chosen
from fleet.cli.engine import Engine
from fleet.cli.keeping import changed_only, keep
from fleet.cli.options import Options
from fleet.cli.output import deliver, view
from fleet.cli.progress import watching
from fleet.dataclass import dataclass
from fleet.errors import UsageError
from fleet.reports.plan import (
    PENDING,
    applied_text,
    conclude_applied,
    conclude_plans,
    plans_json,
    plans_text,
)
from fleet.reports.text import printable

if TYPE_CHECKING:
    from fleet.engine.context import Context
    from fleet.engine.deploy import TargetApplied, TargetPlan
    from fleet.inventory.model import Target

INTERRUPTED = (
    "a target is either as planned or as it was: one that was in the middle of it undoes it\n"
    "  `fleet plan` shows what is left to do"
)


def planned(
    engine: Engine, options: Options, *, removal: bool = False, probe: bool = False
) -> "tuple[Context, tuple[Target, ...], tuple[TargetPlan, ...]]":
    """Plan what the command line means, for deploying or for removing.

    Args:
        engine: the door to it.
        options: the command line.
        removal: whether to plan an uninstall.
        probe: whether palaces are asked too, because an audit follows.

    Raises:
        UsageError: none of the targets can be deployed to.
    """
    context, targets = chosen(engine, options)
    plans = _plans(engine, context, targets, options, removal=removal, probe=probe)
    return context, targets, plans


def _plans(
    engine: Engine,
    context: "Context",
    targets: "Sequence[Target]",
    options: Options,
    *,
    removal: bool,
    probe: bool,
) -> "tuple[TargetPlan, ...]":
    make = engine.uninstall if removal else engine.plan
    with watching(len(targets), options) as observer:
        plans = make(targets, context, replace(options.deploy(), probe=probe), observer)
    if not plans:
        raise UsageError(
            "none of these targets can be deployed to",
            hint="an image is rebuilt, not changed; `fleet audit` looks into it",
        )
    return plans


@dataclass(frozen=True, slots=True)
class Deployed:
    """What deploying came to; ``applied`` is None where somebody was asked and said no."""

    started: datetime
    context: "Context"
    targets: "tuple[Target, ...]"
    plans: "tuple[TargetPlan, ...]"
    applied: "tuple[TargetApplied, ...] | None"


def deployed(
    engine: Engine, options: Options, *, removal: bool = False, probe: bool = False
) -> Deployed:
    """Plan, show, ask and apply, for deploying or for removing.

    Where that only undid an earlier run that had been cut off, all of it is done once more.

    Raises:
        UsageError: none of the targets can be deployed to, or nobody is there to answer.
    """
    from fleet.engine.deploy import brought  # noqa: PLC0415 - lazy

    started = datetime.now(UTC)
    context, targets = chosen(engine, options)

    def make(some: "Sequence[Target]") -> "Sequence[TargetPlan]":
        return _plans(engine, context, some, options, removal=removal, probe=probe)

    def carry(plans: "Sequence[TargetPlan]") -> "Sequence[TargetApplied] | None":
        return carry_out(engine, context, plans, options)

    plans, applied = brought(targets, make, carry)
    return Deployed(started, context, targets, plans, applied)


def show(plans: "Sequence[TargetPlan]", options: Options) -> int:
    """Show plans as the result of the command, and return its exit code."""
    if options.format == "json":
        deliver(plans_json(plans), options)
    else:
        deliver(plans_text(plans, view(options), diff=options.diff), options)
    return conclude_plans(plans).code


def carry_out(
    engine: Engine,
    context: "Context",
    plans: "Sequence[TargetPlan]",
    options: Options,
) -> "tuple[TargetApplied, ...] | None":
    """Show plans, ask, and carry them out; None where the answer was no.

    Raises:
        UsageError: there is something to ask and nobody to answer.
    """
    show_plans(plans, options)
    work = [p for p in plans if p.plan is not None and p.plan.changes]
    if not work:
        return ()
    if not agreed(len(work), options):
        click.echo("nothing was changed", err=True)
        return None
    try:
        with watching(len(work), options) as observer:
            applied = engine.apply(work, context, options.deploy(), observer)
    except KeyboardInterrupt:
        click.echo(INTERRUPTED, err=True)
        raise
    for one in applied:
        if one.recovered:
            told = f"{printable(one.target.name)}: the earlier run was undone; planning again"
            click.echo(told, err=options.aside)
    return applied


def show_plans(plans: "Sequence[TargetPlan]", options: Options) -> None:
    """Show plans on the way to something else; beside a JSON document they go to stderr."""
    aside = options.aside
    seen = replace(view(options), colour=False) if aside else view(options)
    text = plans_text(plans, seen, diff=options.diff, closing=False)
    click.echo(text, err=aside, color=True)


def finish(done: Deployed, options: Options, command: str) -> int:
    """Tell what applying came to, keep it, and return the exit code."""
    plans, applied = done.plans, done.applied
    if applied is None:
        return PENDING
    conclusion = conclude_applied(plans, applied)
    if applied:
        run = changed_only(command, done.started)
        keep(run, done.context, options, plans, applied, conclusion)
    if options.format == "json":
        deliver(plans_json(plans, applied), options)
    else:
        deliver(applied_text(applied, view(options), conclusion), options)
    return conclusion.code


def agreed(number: int, options: Options) -> bool:
    """Ask whether to change a number of targets, unless the options say yes.

    Raises:
        UsageError: there is nobody to answer.
    """
    if options.yes:
        return True
    if not _attended():
        raise UsageError(
            "nobody is here to agree to the changes",
            hint="--yes goes ahead without asking; `fleet plan` only shows them",
        )
    return click.confirm(f"Change {number} target{'s' if number > 1 else ''}?", err=True)


def _attended() -> bool:
    return sys.stdin.isatty()
