"""Plan, ask, apply, verify: the whole of ``fleet provision``."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from fleet.cli.chosen import known_names
from fleet.cli.deploying import agreed, deployed, show_plans
from fleet.cli.engine import Engine
from fleet.cli.keeping import changed_only, keep
from fleet.cli.options import Options
from fleet.cli.output import report, view
from fleet.cli.progress import watching
from fleet.errors import InventoryError, UsageError
from fleet.reports.plan import applied_text, conclude_applied
from fleet.reports.text import printable

if TYPE_CHECKING:
    from fleet.engine.context import Context
    from fleet.engine.playbook import Playbook, PlaybookResult
    from fleet.inventory.model import Variables
    from fleet.verifier.run import Run

FAILED = 2


def directly(engine: Engine, options: Options) -> int:
    """Provision the targets that the command line means.

    What the audit finds decides the exit code; changes that were not made do too.
    """
    done = deployed(engine, options, probe=True)
    if done.applied is None:
        return FAILED
    changed = conclude_applied(done.plans, done.applied)
    if done.applied:
        text = applied_text(done.applied, view(options))
        click.echo(text, err=options.aside)
    with watching(len(done.targets), options) as observer:
        run = engine.audit(
            done.targets, done.context, options.audit(), observer, "provision", done.plans
        )
    keep(run, done.context, options, done.plans, done.applied)
    judged = report(run, options)
    if _worst(changed.code, judged) == judged:
        return judged
    click.echo(f"exit {changed.code}: {changed.reason}; the gates alone: {judged}", err=True)
    return changed.code


def by_name(engine: Engine, name: str, options: Options) -> int:
    """Carry out the playbook of a name, or provision the target or group of that name.

    Raises:
        UsageError: nothing has that name, or targets are named twice.
        InventoryError: the inventory or the playbook is wrong.
    """
    if engine.is_playbook(name) or name.endswith((".yml", ".yaml")) or "/" in name:
        return by_playbook(engine, name, options)
    if options.limit:
        raise UsageError(
            f"{name!r} is no playbook, and which targets are meant is said by --limit already",
            hint="name targets in one of the two ways",
        )
    context = engine.context(options.source(), engine.variables(options.variables))
    try:
        engine.targets(context, (name,))
    except InventoryError as error:
        raise UsageError(
            f"there is neither a target nor a playbook {name!r}",
            hint=f"{error.hint or error.what}; shipped playbooks are in `fleet provision --help`",
        ) from error
    return directly(engine, replace(options, limit=(name,)))


def by_playbook(engine: Engine, name: str, options: Options) -> int:
    """Carry a playbook out, after its changes were shown and agreed to.

    The gates decide after each batch whether the next one starts.
    """
    playbook = engine.playbook(name)
    overrides = engine.variables(options.variables)
    context = engine.context(options.source(), overrides)
    known_names(context, options)
    if not options.yes and not _previewed(engine, playbook, overrides, options):
        click.echo("nothing was changed", err=True)
        return FAILED
    started = datetime.now(UTC)
    with watching(None, options) as observer:
        result = engine.run(playbook, context, options.deploy(), observer)
    return _told(result, context, started, options)


def _previewed(
    engine: Engine, playbook: "Playbook", overrides: "Variables", options: Options
) -> bool:
    """Show what each play would change, and ask; a play that changes nothing is not asked about."""
    pending = 0
    for play in playbook.plays:
        if play.state == "observed":
            continue
        context = engine.context(options.source(), {**play.variables, **overrides})
        chosen = engine.targets(context, play.targets)
        if options.limit:
            limited = {t.name for t in engine.targets(context, options.limit)}
            chosen = tuple(t for t in chosen if t.name in limited)
        systems = tuple(s for s in play.systems if not options.systems or s in options.systems)
        knobs = replace(options.deploy(), systems=systems or options.systems)
        make = engine.plan if play.state == "present" else engine.uninstall
        with watching(len(chosen), options) as observer:
            plans = make(chosen, context, knobs, observer)
        click.echo(f"{printable(play.name)}\n", err=options.aside)
        show_plans(plans, options)
        pending += sum(1 for p in plans if p.plan is not None and p.plan.changes)
    return not pending or agreed(pending, options)


def _told(result: "PlaybookResult", context: "Context", started: datetime, options: Options) -> int:
    plans = [p for batch in result.batches for p in batch.plans]
    applied = [a for batch in result.batches for a in batch.applied]
    changed = conclude_applied(plans, applied)
    if applied:
        click.echo(applied_text(applied, view(options)), err=options.aside)
    run = _together([batch.run for batch in result.batches if batch.run is not None])
    seen = run or changed_only("provision", started)
    keep(seen, context, options, plans, applied, None if run else changed)
    judged = report(run, options) if run is not None else 0
    if run is None and not result.stopped:
        click.echo(f"exit {changed.code}: {changed.reason}", err=options.aside)
    if result.stopped:
        click.echo(f"stopped: {printable(result.stopped)}", err=True)
        click.echo(f"  not touched: {printable(', '.join(result.left)) or 'nobody'}", err=True)
    return _worst(changed.code, judged, FAILED if result.stopped and not judged else 0)


def _together(runs: "Sequence[Run]") -> "Run | None":
    """Join the runs of all batches; of a target that was judged twice the last word counts.

    What a batch says of the fleet as a whole is left out: it saw a part.
    """
    if not runs:
        return None
    results = {r.target.name: r for run in runs for r in run.results}
    joined = tuple(results.values())
    gates = {gate.id: gate for run in runs for gate in run.gates}
    return replace(
        runs[0],
        finished=runs[-1].finished,
        results=joined,
        fleetwide=(),
        gates=tuple(gates.values()),
    )


def _worst(*codes: int) -> int:
    return FAILED if FAILED in codes else max(codes)
