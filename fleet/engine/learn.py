"""Learning: look at a target that is known to be good, and describe it as an inventory would."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from fleet.dataclass import dataclass
from fleet.engine.audit import audit
from fleet.engine.context import Context
from fleet.engine.facts import gather
from fleet.engine.observer import Observer
from fleet.engine.options import AuditOptions
from fleet.errors import PlanError, Unreachable
from fleet.facts.model import Facts
from fleet.facts.paths import PathFact, State
from fleet.facts.running import LaunchFact, ProcessFact
from fleet.inventory.model import Kind, SecretRef, Target, Value
from fleet.inventory.write import can_be_written, suggested_name, written
from fleet.reports.text import printable
from fleet.systems.model import Link, Observed, System, Template
from fleet.systems.resolve import Resolved, resolve
from fleet.verifier.judge import is_required
from fleet.verifier.model import Finding, Verdict
from fleet.verifier.run import Run

LAUNCHES = ("zsh -ic", "bash -lc", "bash -ic", "sh -lc")
"""Ways of launching pi on a host that are tried; those that work are written down."""

BRIDGE = "extensions/pi/mempalace.ts"
_SPOILT = (Verdict.FAIL, Verdict.ERROR, Verdict.NOT_CHECKED, Verdict.UNREACHABLE)
_NOWHERE = (State.ABSENT, State.UNSUPPORTED)


@dataclass(frozen=True, slots=True)
class Learned:
    """What looking at a target taught.

    Attributes:
        text: the inventory's lines.
        run: the audit of the target as those lines describe it.
    """

    target: Target
    text: str
    run: Run


@dataclass(slots=True)
class _Notes:
    """What is written beside the lines: what was seen, and what was left out."""

    beside: dict[str, str]
    above: list[str]


def learn(
    target: Target, context: Context, options: AuditOptions, observer: Observer, *, name: str = ""
) -> Learned:
    """Look at a target, describe it, and audit it by that description.

    What the target says is only ever written as a quoted text; a secret, only as a reference.

    Args:
        target: where to look; what its own variables say is kept.
        context: the catalogue, and what the run shares.
        options: how to look; ``systems`` are the only ones to look for.
        observer: told as it goes on.
        name: what to call it; without one, its address tells.

    Raises:
        TargetError: it could not be asked.
    """
    notes = _Notes({}, [])
    found, facts = _look(target, context, options, observer)
    launches = _launches(found, facts, context.catalogue.systems.values(), notes)
    best = [facts.launches[launch] for launch in launches if launch in facts.launches]
    resolved = resolve(context.systems(found), found)
    systems = tuple(_systems(resolved, facts, best, notes))
    described = replace(
        target,
        name=name or (target.name if target.place else suggested_name(target.address)),
        systems=systems,
        require=(),
        launches=launches,
        groups=(),
        variables={**target.variables, **_variables(resolved, systems, facts, best, notes)},
    )
    alone = replace(context, inventory=None)
    knobs = replace(options, systems=())
    run = audit([described], alone, knobs, observer, command="learn")
    require = tuple(_proved(run.findings, context, notes))
    described = replace(described, require=require)
    run = _required(run, described, context)
    return Learned(described, _text(described, facts, run, notes), run)


def _look(
    target: Target, context: Context, options: AuditOptions, observer: Observer
) -> tuple[Target, Facts]:
    """Ask for everything that any system of the catalogue would ask for."""
    launches = target.launches
    if target.kind is Kind.HOST:
        launches = tuple(dict.fromkeys((*LAUNCHES, *target.launches)))
    wide = replace(target, launches=launches)
    systems = tuple(
        system.system
        for system in context.catalogue.systems.values()
        if _fits(system, wide) and (not options.systems or system.system in options.systems)
    )
    wide = replace(wide, systems=systems)
    (looked,) = gather([wide], context, options, observer, probe=False)
    if looked.facts is None:
        raise looked.trouble or Unreachable("nothing was seen", stage="missing", where=target.name)
    return wide, looked.facts


def _fits(system: System, target: Target) -> bool:
    """Tell whether a system can be looked for without knowing its variables."""
    try:
        resolve([system], target)
    except PlanError:
        return False
    return True


def _launches(
    target: Target, facts: Facts, systems: Iterable[System], notes: _Notes
) -> tuple[str, ...]:
    """Return the ways of launching that get the most of the environment; pi itself counts too."""
    answered = {name: launch for name in target.launches if (launch := facts.launches.get(name))}
    names = {v.env for system in systems for v in system.variables.values() if v.env}
    scores = {n: _score(la, names) for n, la in answered.items() if la.state == "ok"}
    if not scores:
        notes.beside["shell"] = "no launch could be asked"
        return target.launches[-1:]
    best = max(scores.values())
    chosen = tuple(name for name, score in scores.items() if score == best)
    others = [name for name in scores if name not in chosen]
    if others:
        notes.beside["shell"] = f"works too, with less in its environment: {', '.join(others)}"
    return chosen if best[1] else _usual(chosen)


def _usual(chosen: tuple[str, ...]) -> tuple[str, ...]:
    """Return one way where all are alike because nothing is exported."""
    return chosen[-1:]


def _score(launch: LaunchFact, names: Iterable[str]) -> tuple[int, int]:
    pi = launch.commands.get("pi")
    exported = sum(1 for n in names if (v := launch.variables.get(n)) is not None and v.set)
    return (int(pi is not None and pi.file is not None), exported)


def _systems(
    resolved: Sequence[Resolved], facts: Facts, best: Sequence[LaunchFact], notes: _Notes
) -> Iterator[str]:
    seen = []
    for r in resolved:
        name = r.system.system
        why = _found(r, facts, best)
        if why:
            seen.append(f"{name} ({why})")
            yield name
    notes.beside["systems"] = "; ".join(seen)


def _found(resolved: Resolved, facts: Facts, best: Sequence[LaunchFact]) -> str:
    """Return by what a system is recognised, empty where nothing of it is there."""
    for artifact in resolved.artifacts.values():
        shared = isinstance(artifact, Observed) or (
            isinstance(artifact, Template) and artifact.block
        )
        fact = facts.paths.get(artifact.path)
        if not shared and artifact.path and fact and fact.state not in _NOWHERE:
            return artifact.path
    system = resolved.system
    for name in system.ask.processes:
        if any(_is_own(process, facts) for process in facts.processes.get(name, ())):
            return "it runs"
    for launch in best:
        command = launch.commands.get(system.system)
        if command is not None and command.file is not None:
            return command.file.path
    if system.system == "env" and facts.kind != Kind.HOST.value and any(_set(la) for la in best):
        return "variables are exported"
    return ""


def _is_own(process: ProcessFact, facts: Facts) -> bool:
    """Tell whether a process is this user's, and of this home where it says one."""
    home = process.variables.get("HOME")
    same_home = home is None or home.value is None or home.value == facts.platform.home
    return process.user == facts.platform.user and same_home


def _set(launch: LaunchFact) -> bool:
    return any(value.set for value in launch.variables.values())


def _variables(
    resolved: Sequence[Resolved],
    systems: Sequence[str],
    facts: Facts,
    best: Sequence[LaunchFact],
    notes: _Notes,
) -> dict[str, Value]:
    made: dict[str, Value] = {}
    for r in resolved:
        if r.system.system not in systems:
            continue
        for name, value, why in (*_linked(r, facts), *_exported(r, best), *_served(r, facts)):
            if not can_be_written(value):
                notes.above.append(f"{name} is left out: what was seen cannot be written down")
            elif name not in made:
                made[name] = value
                notes.beside[name] = why
    return made


def _linked(resolved: Resolved, facts: Facts) -> Iterator[tuple[str, Value, str]]:
    """Tell the toolkit's folder from where the bridge leads."""
    for artifact in resolved.artifacts.values():
        if not isinstance(artifact, Link) or "toolkit" not in resolved.system.variables:
            continue
        fact = facts.paths.get(artifact.path)
        folder = _toolkit(fact, facts.platform.home) if fact else ""
        if folder:
            yield "toolkit", folder, f"{artifact.path} leads there"
            return


def _toolkit(fact: PathFact, home: str) -> str:
    final = fact.final or ""
    if not fact.hops or not final.endswith(f"/{BRIDGE}"):
        return ""
    folder = final.removesuffix(f"/{BRIDGE}")
    return f"~{folder.removeprefix(home)}" if folder.startswith(f"{home}/") else folder


def _exported(resolved: Resolved, best: Sequence[LaunchFact]) -> Iterator[tuple[str, Value, str]]:
    for name, variable in resolved.system.variables.items():
        for launch in best:
            seen = launch.variables.get(variable.env) if variable.env else None
            if seen is None or not seen.set:
                continue
            if variable.public and seen.value is not None:
                yield name, seen.value, f"{variable.env} of {launch.launch}"
            elif not variable.public:
                why = f"{variable.env} is set, {seen.length} bytes: say where its value is found"
                yield name, SecretRef("env", variable.env), why
            break


def _served(resolved: Resolved, facts: Facts) -> Iterator[tuple[str, Value, str]]:
    """Tell of a palace that runs there what its own command line says."""
    flags = {"--host": "bind", "--port": "port", "--palace": "palace_path"}
    for question in resolved.system.ask.processes:
        own = [p for p in facts.processes.get(question, ()) if _is_own(p, facts)]
        for process in own[:1]:
            for flag, name in flags.items():
                value = process.flags.get(flag)
                if value and name in resolved.system.variables:
                    yield name, value, f"{flag} of process {process.pid}"


def _proved(findings: Sequence[Finding], context: Context, notes: _Notes) -> Iterator[str]:
    """Return the capabilities that hold, and whose serving gates do not fail."""
    of = {f.gate: f for f in findings}
    for _, gate in context.catalogue.gates():
        found = of.get(gate.id)
        if not gate.gives or found is None or found.verdict is not Verdict.PASS:
            continue
        against = [
            of[g.id]
            for _, g in context.catalogue.gates()
            if gate.gives in g.serves and g.id in of and of[g.id].verdict in _SPOILT
        ]
        if not against:
            yield gate.gives
            continue
        first = against[0]
        notes.above.append(f"{gate.gives} is not required: {first.gate}: {first.message}")


def _required(run: Run, target: Target, context: Context) -> Run:
    """Return the run with what is required now that the capabilities are known."""
    gates = {gate.id: gate for _, gate in context.catalogue.gates()}
    results = tuple(
        replace(
            result,
            target=target,
            findings=tuple(
                f._replace(required=is_required(target, gates[f.gate])) for f in result.findings
            ),
        )
        for result in run.results
    )
    return replace(run, results=results)


def _text(target: Target, facts: Facts, run: Run, notes: _Notes) -> str:
    platform = facts.platform
    where = " ".join(filter(None, (platform.os, platform.machine, f"user {platform.user}")))
    head = [f"{target.address}, as it was on {facts.taken_at.date()}: {where}", *notes.above]
    head += [
        f"{f.verdict.value}: {f.gate}: {f.message}"
        for f in run.findings
        if f.required and f.verdict in _SPOILT
    ]
    return written(target, notes.beside, tuple(printable(line) for line in head))
