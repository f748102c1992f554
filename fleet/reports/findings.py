"""Findings as they are told: sorted into chapters, one cause on many targets told once. Pure."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field

from fleet.dataclass import dataclass
from fleet.errors import TargetError, Unreachable
from fleet.reports.text import unique
from fleet.verifier.model import Finding, Severity, Verdict
from fleet.verifier.run import Run, TargetResult

SAMPLE = "TARGET"
ORDER = (
    Verdict.FAIL,
    Verdict.ERROR,
    Verdict.UNREACHABLE,
    Verdict.WARN,
    Verdict.NOT_CHECKED,
    Verdict.WAIVED,
    Verdict.PASS,
    Verdict.NOT_APPLICABLE,
)
_HOLDING = (Verdict.PASS, Verdict.NOT_APPLICABLE)


@dataclass(frozen=True, slots=True)
class Group:
    """One cause: a finding, the targets that share it, and the gates that only repeat it."""

    finding: Finding
    targets: tuple[str, ...]
    followers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Silence:
    """Targets that could not be asked for one reason.

    Attributes:
        stage: where it failed.
        what: what went wrong; a target's own name reads ``TARGET`` where several share it.
        gates: how many were not judged.
        unreachable: whether there was no connection, or there was one and no facts came of it.
    """

    stage: str
    what: str
    hint: str
    targets: tuple[str, ...]
    gates: int
    unreachable: bool


@dataclass(frozen=True, slots=True)
class Unchecked:
    """Gates that could not be seen on some targets for one reason."""

    reason: str
    gates: tuple[str, ...]
    targets: tuple[str, ...]
    required: bool


@dataclass(frozen=True, slots=True)
class Chapters:
    """A run's findings in the order in which they are told, worst first in each chapter.

    Attributes:
        deciding: what makes the exit code 2.
        silent: targets that could not be asked.
        unseen: required, and the answer could not be read.
        advisory: worth knowing, not deciding.
        waived: accepted for a reason and a time.
        passed: what holds, and what does not apply.
        unchecked: what could not be seen, and why.
    """

    deciding: tuple[Group, ...] = ()
    silent: tuple[Silence, ...] = ()
    unseen: tuple[Group, ...] = ()
    advisory: tuple[Group, ...] = ()
    waived: tuple[Group, ...] = ()
    passed: tuple[Group, ...] = ()
    unchecked: tuple[Unchecked, ...] = ()


@dataclass(slots=True)
class _Sorted:
    told: dict[str, list[Finding]] = field(default_factory=lambda: defaultdict(list))
    unchecked: list[Finding] = field(default_factory=list)
    followers: dict[tuple[str, str], list[str]] = field(default_factory=lambda: defaultdict(list))
    holding: bool = True


def chapters(run: Run, *, holding: bool = True) -> Chapters:
    """Sort a run's findings into chapters; what holds is most of them, and may be left out."""
    heap = _Sorted(holding=holding)
    silent = [r for r in run.results if r.facts is None and r.trouble is not None]
    for result in run.results:
        if not (result.facts is None and result.trouble is not None):
            _sort(result.findings, heap, strict=run.strict)
    _sort(run.fleetwide, heap, strict=run.strict)
    told = {name: grouped(found, heap.followers) for name, found in heap.told.items()}
    return Chapters(
        silent=_silences(silent), unchecked=_unchecked(heap.unchecked, strict=run.strict), **told
    )


def chapter(finding: Finding, *, strict: bool) -> str:
    """Name the chapter of a finding that is told by itself."""
    deciding = finding.required or strict
    if finding.verdict is Verdict.WAIVED:
        return "waived"
    if finding.verdict in _HOLDING:
        return "passed"
    if not deciding:
        return "advisory"
    if finding.verdict is Verdict.FAIL or (strict and finding.verdict is Verdict.WARN):
        return "deciding"
    return "advisory" if finding.verdict is Verdict.WARN else "unseen"


def _sort(findings: Sequence[Finding], heap: _Sorted, *, strict: bool) -> None:
    rest = [f for f in findings if f.follows is not None or f.verdict not in _HOLDING]
    if heap.holding:
        held = (f for f in findings if f.follows is None and f.verdict in _HOLDING)
        heap.told["passed"].extend(held)
    of = {f.gate: f for f in findings} if rest else {}
    for finding in rest:
        root = _root(finding, of)
        if root is not finding and (root.required or strict or not finding.required):
            heap.followers[finding.target, root.gate].append(finding.gate)
        elif finding.verdict is Verdict.NOT_CHECKED:
            heap.unchecked.append(finding)
        else:
            heap.told[chapter(finding, strict=strict)].append(finding)


def _root(finding: Finding, of: Mapping[str, Finding]) -> Finding:
    """Find what a finding only repeats: itself, unless that is told as a finding."""
    found, met = finding, {finding.gate}
    while found.follows is not None and found.follows in of and found.follows not in met:
        found = of[found.follows]
        met.add(found.gate)
    if found.follows in met:
        return finding
    silent = found.verdict in (*_HOLDING, Verdict.NOT_CHECKED)
    return finding if silent else found


def grouped(
    findings: Iterable[Finding], followers: Mapping[tuple[str, str], Sequence[str]] | None = None
) -> tuple[Group, ...]:
    """Tell one cause on many targets once, worst first."""
    behind = followers or {}
    same: dict[tuple[object, ...], list[Finding]] = defaultdict(list)
    for f in findings:
        key = (f.system, f.gate, f.verdict, f.severity, f.required)
        same[*key, f.message, f.evidence, f.since, f.remedy, f.waiver, f.fixed_by].append(f)
    groups = [
        Group(
            found[0],
            tuple(f.target for f in found),
            unique(gate for f in found for gate in behind.get((f.target, f.gate), ())),
        )
        for found in same.values()
    ]
    return tuple(sorted(groups, key=_worst))


def _worst(group: Group) -> tuple[int, ...]:
    finding = group.finding
    severity = list(Severity).index(finding.severity)
    return (ORDER.index(finding.verdict), not finding.required, severity, -len(group.targets))


def _silences(results: Iterable[TargetResult]) -> tuple[Silence, ...]:
    same: dict[tuple[str, str, str], list[tuple[TargetResult, TargetError]]] = defaultdict(list)
    for result in results:
        if result.trouble is not None:
            same[_cause(result, result.trouble)].append((result, result.trouble))
    return tuple(_silence(found) for found in same.values())


def _silence(found: Sequence[tuple[TargetResult, TargetError]]) -> Silence:
    first, trouble = found[0]
    told = {(t.what, t.hint) for _, t in found}
    _, what, hint = _cause(first, trouble)
    return Silence(
        stage=trouble.stage,
        what=trouble.what if len(told) == 1 else what,
        hint=trouble.hint if len(told) == 1 else hint,
        targets=tuple(r.target.name for r, _ in found),
        gates=sum(len(r.findings) for r, _ in found),
        unreachable=isinstance(trouble, Unreachable),
    )


def _cause(result: TargetResult, trouble: TargetError) -> tuple[str, str, str]:
    """Tell a trouble without the target's own names, so that equal causes are equal."""
    own = {result.target.name, result.target.address.name} - {""}
    if not any(name in trouble.what or name in trouble.hint for name in own):
        return trouble.stage, trouble.what, trouble.hint
    alternatives = "|".join(re.escape(name) for name in sorted(own, key=len, reverse=True))
    pattern = re.compile(rf"(?<![\w.-])(?:{alternatives})(?![\w-]|\.\w)")
    return trouble.stage, pattern.sub(SAMPLE, trouble.what), pattern.sub(SAMPLE, trouble.hint)


def _unchecked(findings: Iterable[Finding], *, strict: bool) -> tuple[Unchecked, ...]:
    """Group by reason, then by the set of targets, so that one sentence covers many gates."""
    targets: dict[tuple[str, bool, str], list[str]] = defaultdict(list)
    for f in findings:
        targets[f.message, f.required or strict, f.gate].append(f.target)
    gates: dict[tuple[str, bool, tuple[str, ...]], list[str]] = defaultdict(list)
    for (message, required, gate), names in targets.items():
        gates[message, required, tuple(names)].append(gate)
    told = [
        Unchecked(message, tuple(found), names, required)
        for (message, required, names), found in gates.items()
    ]
    return tuple(sorted(told, key=lambda u: (not u.required, -len(u.targets) * len(u.gates))))
