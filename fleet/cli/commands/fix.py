"""``fleet fix``."""

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from fleet.cli import completion
from fleet.cli.chosen import chosen, known
from fleet.cli.engine import Engine
from fleet.cli.options import INVENTORY, RUN_REPORT, TARGETS, WORK, Options, takes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fleet.engine.context import Context
    from fleet.engine.deploy import TargetApplied, TargetPlan
    from fleet.engine.fix import Fixes
    from fleet.inventory.model import Target
    from fleet.verifier.model import Finding

FAILED = 2


@click.command(short_help="Put failing gates right: show the plan, ask, apply, verify.")
@click.argument("gate", required=False, shell_complete=completion.gates)
@takes(*INVENTORY, *TARGETS, "adopt", "diff", "yes", *WORK, *RUN_REPORT)
@click.pass_obj
def fix(engine: Engine, gate: str | None, options: Options) -> int:
    """Look, show what would put failing gates right, ask, change it, and look again.

    Only the artifacts that the failing gates are about are deployed. What only a person can put
    right is told with what to do. GATE narrows it to one gate, whose verdict then decides, and
    whose warnings are put right too.
    """
    with engine.lasting():
        return _put_right(engine, gate, options)


def _put_right(engine: Engine, gate: str | None, options: Options) -> int:
    from fleet.cli.keeping import keep  # noqa: PLC0415 - lazy
    from fleet.cli.output import report  # noqa: PLC0415 - lazy
    from fleet.cli.progress import watching  # noqa: PLC0415 - lazy
    from fleet.engine.fix import fixes, judged_by  # noqa: PLC0415 - lazy

    context, targets = chosen(engine, options)
    known([gate] if gate else [], _gates(context), "gate")
    with watching(len(targets), options) as observer:
        run = engine.audit(targets, context, options.audit(), observer, "fix")
    found = fixes(run, gate)
    _tell(found.by_hand, options)
    concerned = tuple(t for t in targets if t.name in found.artifacts)
    if not concerned:
        click.echo(_nothing(found, gate), err=True)
        keep(run, context, options)
        return report(judged_by(run, gate), options)
    plans, applied = _fixed(engine, context, concerned, found, options)
    if applied is None:
        keep(run, context, options)
        return FAILED
    if applied:
        with watching(len(targets), options) as observer:
            run = engine.audit(targets, context, options.audit(), observer, "fix")
    keep(run, context, options, plans, applied)
    return report(judged_by(run, gate), options)


def _gates(context: "Context") -> list[str]:
    from fleet.verifier.fleetwide.rules import RULES  # noqa: PLC0415 - lazy

    return [*(g.id for _, g in context.catalogue.gates()), *RULES]


def _nothing(found: "Fixes", gate: str | None) -> str:
    what = f"{gate} does" if gate else "no gate does"
    if found.by_hand:
        return "nothing to deploy: what fails is for a person to put right"
    return f"nothing to fix: {what} not fail" if gate else "nothing to fix: no gate fails"


def _tell(findings: "Sequence[Finding]", options: Options) -> None:
    from fleet.cli.output import view  # noqa: PLC0415 - lazy
    from fleet.reports.fix import by_hand_text  # noqa: PLC0415 - lazy

    text = by_hand_text(findings, view(options))
    if text:
        click.echo(text, err=options.aside, color=True)


def _fixed(
    engine: Engine,
    context: "Context",
    targets: "tuple[Target, ...]",
    found: "Fixes",
    options: Options,
) -> "tuple[tuple[TargetPlan, ...], tuple[TargetApplied, ...] | None]":
    """Plan, show, ask, apply; applied is None where somebody said no, or a plan cannot be."""
    from fleet.cli.deploying import carry_out  # noqa: PLC0415 - lazy
    from fleet.cli.output import view  # noqa: PLC0415 - lazy
    from fleet.cli.progress import watching  # noqa: PLC0415 - lazy
    from fleet.engine.deploy import brought  # noqa: PLC0415 - lazy
    from fleet.engine.fix import unchanged  # noqa: PLC0415 - lazy
    from fleet.reports.plan import applied_text  # noqa: PLC0415 - lazy

    knobs = replace(options.deploy(), artifacts=found.artifacts)

    def make(some: "Sequence[Target]") -> "Sequence[TargetPlan]":
        with watching(len(some), options) as observer:
            return engine.plan(some, context, knobs, observer)

    def carry(plans: "Sequence[TargetPlan]") -> "Sequence[TargetApplied] | None":
        return carry_out(engine, context, plans, options)

    plans, applied = brought(targets, make, carry)
    _tell(unchanged(found, plans), options)
    if applied:
        click.echo(applied_text(applied, view(options)), err=options.aside)
    return plans, applied
