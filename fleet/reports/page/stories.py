"""What a cell opens: the data of all stories, small enough to stand in the page.

Most findings of a fleet are alike, so each text and each story is kept once and named by its
number. The page's script reads this; its keys are the script's.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from datetime import UTC, datetime
from typing import TypeAlias

from fleet.dataclass import dataclass
from fleet.reports.catalogue import required_when
from fleet.reports.matrix import Mark
from fleet.reports.page.grid import Grid, cell, look, word
from fleet.reports.past import Past, Then
from fleet.reports.text import clip, printable
from fleet.systems.model import Gate
from fleet.verifier.model import Finding, Verdict
from fleet.verifier.run import Run, TargetResult

LONGEST = 2000  # characters of one text; the JSON report holds all of it
MOST_LINES = 60  # of evidence, and of what differed
Json: TypeAlias = Mapping[str, object] | Sequence[object] | str | int | bool | None


@dataclass(slots=True)
class Kept:
    """Things that are kept once, each by its number."""

    numbers: dict[object, int] = field(default_factory=dict)
    values: list[object] = field(default_factory=list)

    def put(self, key: object, value: object) -> int:
        """Keep a value under a key, unless it is kept already; returns its number."""
        if key not in self.numbers:
            self.numbers[key] = len(self.values)
            self.values.append(value)
        return self.numbers[key]


@dataclass(slots=True)
class _Heap:
    run: Run
    past: Past
    gates: dict[str, int]
    texts: Kept = field(default_factory=Kept)
    stories: Kept = field(default_factory=Kept)

    def text(self, text: str) -> int:
        kept = shown(text)
        return self.texts.put(kept, kept)

    def lines(self, texts: Iterable[str]) -> list[int]:
        told = [text for text in texts if text.strip()]
        left = len(told) - MOST_LINES
        more = [f"… and {left} more lines"] if left > 0 else []
        return [self.text(text) for text in (*told[:MOST_LINES], *more)]

    def story(self, finding: Finding) -> int:
        """Keep a finding without its target."""
        key = (
            *(finding.gate, finding.verdict, finding.severity, finding.required, finding.message),
            *(finding.evidence, finding.since, finding.remedy, finding.follows, finding.waiver),
            finding.fixed_by,
        )
        return (
            self.stories.put(key, None) if key in self.stories.numbers else self._new(key, finding)
        )

    def _new(self, key: object, finding: Finding) -> int:
        seen = cell([finding], strict=self.run.strict)
        told = {
            "g": self.gates.get(finding.gate, -1),
            "m": list(Mark).index(seen.mark) if seen else 0,
            "v": finding.verdict.value,
            "r": finding.required,
            "s": finding.severity.value,
            "t": self.text(finding.message),
            "e": self.lines(finding.evidence),
        }
        open_ = finding.verdict not in (Verdict.PASS, Verdict.NOT_APPLICABLE)
        more = {
            "d": finding.since if open_ else None,
            "a": finding.remedy if open_ else None,
            "w": str(finding.waiver) if finding.waiver else None,
            "f": finding.follows,
            "x": f"fleet fix {finding.gate}" if finding.fixed_by and open_ else None,
        }
        told |= {name: self.text(text) for name, text in more.items() if text}
        return self.stories.put(key, told)


def payload(run: Run, grid: Grid, past: Past) -> Json:
    """Return all that the script needs, as plain data; every text is printable and bounded."""
    names = list(dict.fromkeys((*grid.gates, *(f.gate for f in run.fleetwide))))
    heap = _Heap(run, past, {name: number for number, name in enumerate(names)})
    known = {gate.id: gate for gate in run.gates}
    system_of = {f.gate: f.system for f in run.findings}
    targets = [_target(line.result, heap) for line in grid.lines]
    fleet = [
        {"n": heap.text(f.target), "s": heap.story(f), **_before(f, heap)} for f in run.fleetwide
    ]
    gates = [_gate(name, system_of.get(name, ""), known.get(name), heap) for name in names]
    return {
        "marks": [[mark.glyph, word(mark), look(mark), mark.meaning] for mark in Mark],
        "systems": list(grid.systems),
        "gates": gates,
        "targets": targets,
        "fleet": fleet,
        "stories": heap.stories.values,
        "texts": heap.texts.values,
    }


def _gate(name: str, system: str, gate: Gate | None, heap: _Heap) -> Json:
    if gate is None:
        return {"i": name, "y": system}
    told = {
        "q": gate.asks,
        "w": gate.without,
        "r": required_when(gate),
        "s": str(gate.since or ""),
    }
    return {"i": name, "y": system, **{k: heap.text(text) for k, text in told.items() if text}}


def _target(result: TargetResult, heap: _Heap) -> Json:
    target, facts, trouble = result.target, result.facts, result.trouble
    stories: list[int] = [-1] * len(heap.gates)
    before: dict[int, Json] = {}
    for finding in result.findings:
        number = heap.gates[finding.gate]
        stories[number] = heap.story(finding)
        told = _before(finding, heap)
        if told:
            before[number] = told
    made: dict[str, object] = {
        "n": heap.text(target.name),
        "a": heap.text(str(target.address)),
        "k": target.kind.value,
        "g": [heap.text(group) for group in target.groups],
        "y": [heap.text(system) for system in target.systems],
        "q": [heap.text(capability) for capability in target.require],
        "ms": result.milliseconds,
        "c": stories,
    }
    if before:
        made["b"] = before
    if facts is not None:
        made["at"] = moment(facts.taken_at)
        made["p"] = heap.text(f"{facts.platform.os} {facts.platform.machine}".strip())
    if trouble is not None:
        made["x"] = [heap.text(t) for t in (trouble.stage, trouble.what, trouble.hint)]
    if target.name in heap.past.strips:
        made["l"] = [_then(then) for then in heap.past.strips[target.name]]
    return made


def _then(then: Then) -> Json:
    mark = -1 if then.mark is None else list(Mark).index(then.mark)
    return [moment(then.at), mark]


def _before(finding: Finding, heap: _Heap) -> dict[str, object]:
    before = heap.past.before.get((finding.target, finding.gate))
    if before is None:
        return {}
    told: dict[str, object] = {"b": 1}
    if before.since:
        told["since"] = moment(before.since)
    if before.older:
        told["old"] = 1
    if before.failed:
        told["broke"] = moment(before.failed)
    if before.last_pass:
        told["held"] = moment(before.last_pass)
    if before.differed:
        told["diff"] = heap.lines(before.differed)
    return told


def shown(text: str) -> str:
    """Return a text as the page's data holds it: printable, and at most so long."""
    return printable(clip(text, LONGEST))


def moment(at: datetime) -> str:
    """Return a moment as shown: ``2026-09-01 08:00 UTC``."""
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
