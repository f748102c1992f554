"""Auditing: look at every target, judge what was seen, and say what it comes down to."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

from fleet.engine.context import Context, narrowed
from fleet.engine.facts import Looked, gather
from fleet.engine.observer import NullObserver, Observer
from fleet.engine.options import AuditOptions
from fleet.errors import FactsError, PlanError, ProbeError, TargetError, Unreachable
from fleet.facts.model import Facts
from fleet.facts.saved import file_name, loads
from fleet.facts.shared import Shared
from fleet.facts.text import printable
from fleet.inventory.model import Target
from fleet.systems.model import Compose, Config, Gate, Service, Template
from fleet.systems.resolve import Resolved, resolve
from fleet.verifier.fleetwide.member import Member, lessened
from fleet.verifier.fleetwide.rules import SYSTEM, judge_fleet
from fleet.verifier.fleetwide.table import tables
from fleet.verifier.judge import Expectations, judge, judge_unreachable
from fleet.verifier.run import Run, TargetResult, in_short
from fleet.verifier.waivers import waived


def audit(
    targets: Sequence[Target],
    context: Context,
    options: AuditOptions,
    observer: Observer | None = None,
    *,
    command: str = "audit",
    seen: Mapping[str, Looked] | None = None,
    take: Callable[[Looked], None] | None = None,
) -> Run:
    """Look at targets and judge them; with ``options.offline`` judge saved facts instead.

    Args:
        targets: whom to look at.
        context: what the run shares.
        options: how it is carried out.
        observer: told as it goes on.
        command: the command's name, for the report.
        seen: looks that still hold, by target; those targets are not asked again.
        take: is given each look as soon as it was judged, and before ``options.lean`` lessens it.

    Raises:
        CatalogueError: a system is not known.
        UsageError: a required capability is one that nothing gives.
        PlanError: a system's text cannot be rendered for a target.
    """
    started = datetime.now(UTC)
    chosen = narrowed(targets, context, systems=options.systems, require=options.require)
    if options.offline:
        looked = recorded(chosen, context, options)
    else:
        looked = _looked(chosen, context, options, observer, seen or {})
    standards = Standards(context, started.date())
    taken = looked if take is None else _taken(looked, take)
    members, results = _judged_as_they_come(taken, chosen, standards, options, observer)
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


def _judged_as_they_come(
    looked: Iterable[Looked],
    targets: Sequence[Target],
    standards: "Standards",
    options: AuditOptions,
    observer: Observer | None,
) -> tuple[tuple[Member, ...], tuple[TargetResult, ...]]:
    """Judge each target as soon as it was seen, and tell of it; both in the order of targets."""
    told = observer or NullObserver()
    came: dict[str, tuple[Member, TargetResult]] = {}
    for one in looked:
        result, seen = judged(one, standards), member(one, standards.context)
        if options.lean:  # or the facts of all would be held until the last is judged
            seen = lessened(seen)
            result = replace(result, facts=seen.facts)
        came[one.target.name] = seen, result
        told.target_judged(one.target.name, *in_short(result, strict=options.strict))
    ordered = [came[target.name] for target in targets]
    return tuple(one for one, _ in ordered), tuple(result for _, result in ordered)


def _taken(looked: Iterable[Looked], take: Callable[[Looked], None]) -> Iterator[Looked]:
    """Give each look to somebody else too, once it was used here."""
    for one in looked:
        yield one
        take(one)


def gates_of(every: Iterable[Sequence[Resolved]]) -> tuple[Gate, ...]:
    """Return every gate that the targets of a run, and the fleet as a whole, may be asked."""
    systems = {id(r.system): r.system for resolved in every for r in resolved}
    gates = {g.id: g for system in systems.values() for g in system.gates}
    return (*gates.values(), *(g for g in SYSTEM.gates if g.id not in gates))


def member(looked: Looked, context: Context) -> Member:
    """Return a target as the rules of the fleet see it."""
    trouble = looked.trouble.what if looked.trouble else ""
    toolkit = context.toolkit(looked.target)
    return Member(looked.target, looked.resolved, looked.facts, toolkit, trouble)


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


def recorded(
    targets: Sequence[Target], context: Context, options: AuditOptions
) -> Iterator[Looked]:
    """Take saved facts in place of asking; opens no connection."""
    context.secrets.prepare(targets)
    shared = Shared()
    for target in targets:
        resolved = resolve(context.systems(target), target)
        try:
            facts = _recalled(target, options, shared)
        except TargetError as trouble:
            yield Looked(target, resolved, None, trouble, 0)
        else:
            yield Looked(target, resolved, facts, None, 0)


def _recalled(target: Target, options: AuditOptions, shared: Shared) -> Facts:
    """Return the saved facts of a target.

    Raises:
        TargetError: there are none, or they are not its own, or cannot be used.
    """
    if options.facts is not None:
        where = options.facts_of
        held = options.facts.get(target.name)
        if held is None:
            raise Unreachable(f"{where} has no facts of it", stage="missing", where=target.name)
        facts = held
    else:
        folder = options.from_dir or Path()
        where = str(folder / file_name(target.name))
        facts = _read(target, folder, shared)
    if (facts.target, facts.kind) != (target.name, target.kind.value):
        told = f"the saved facts are those of the {facts.kind} {printable(facts.target)}"
        raise ProbeError(told, where=where)
    return facts


def _read(target: Target, folder: Path, shared: Shared) -> Facts:
    path = folder / file_name(target.name)
    try:
        return loads(path.read_bytes(), where=str(path), shared=shared)
    except FileNotFoundError:
        raise Unreachable(
            f"no saved facts in {folder}",
            stage="missing",
            where=target.name,
            hint=f"`fleet facts {target.name} -o {folder}` saves them",
        ) from None
    except OSError as error:
        raise Unreachable(f"cannot read {path}: {error}", stage="missing") from None
    except FactsError as error:
        raise ProbeError(
            f"the saved facts cannot be used: {error.what}", where=error.where
        ) from None


def judged(looked: Looked, standards: "Standards") -> TargetResult:
    """Judge one target by what was seen of it."""
    context = standards.context
    target, resolved = looked.target, looked.resolved
    if looked.facts is None:
        trouble = looked.trouble or Unreachable("nothing was seen", stage="missing")
        findings = judge_unreachable(target, [r.system for r in resolved], trouble)
        return TargetResult(target, None, findings, trouble, looked.milliseconds)
    expectations = standards.of(target, resolved)
    findings = judge(target, resolved, looked.facts, context.catalogue, expectations)
    findings = waived(findings, context.waivers, standards.today)
    return TargetResult(target, looked.facts, findings, None, looked.milliseconds)


class Standards:
    """What the facts of a run's targets are held against: the same day and files for all of them.

    Args:
        context: what the run shares; the secrets of a target must be prepared before it is asked.
        today: the day of the run.
    """

    def __init__(self, context: Context, today: date) -> None:
        self.context = context
        self.today = today
        self._templates: dict[str, str | None] = {}

    def of(self, target: Target, resolved: Sequence[Resolved]) -> Expectations:
        """Return what one target's facts are held against."""
        return Expectations(
            today=self.today,
            secrets=self.context.secrets.values,
            troubles=self.context.secrets.troubles,
            toolkit=self.context.toolkit(target),
            templates=dict(self._named(resolved)),
        )

    def _named(self, resolved: Sequence[Resolved]) -> Iterator[tuple[str, str]]:
        """Yield the templates of files that are held against them; a gate says where one lacks."""
        for r in resolved:
            for artifact in r.artifacts.values():
                if isinstance(artifact, Compose | Config | Service | Template):
                    text = self._template(artifact.template)
                    if text is not None:
                        yield artifact.template, text

    def _template(self, name: str) -> str | None:
        """Return a template's text, read once; None where there is none that can be read."""
        if name not in self._templates:
            from fleet.engine.controller_files import LocalFiles  # noqa: PLC0415 - few need it

            self._templates[name] = None
            with suppress(PlanError):
                self._templates[name] = LocalFiles(self.context.folder).template(name)
        return self._templates[name]
