"""The table of evidence: for each gate, one test on a real target for each way it can end.

`tests/cases/evidence/SYSTEM.yml` maps a gate to verdicts, and each verdict to a test, named as
pytest does without `tests/`: `pass`; `fail` or `warn`; and for what cannot be seen `not-checked`,
`error` (it could not be read where it was asked) or `follows` (a not-checked that repeats what
another gate tells). A way that a gate cannot end stands under `never`, with the reason.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import yaml
from support.places import CASES

from fleet.systems.catalogue import load_catalogue
from fleet.verifier.fleetwide.rules import SYSTEM

FOLDER = CASES / "evidence"
NEVER = "never"
FOLLOWS = "follows"
#: The ways that a gate can end, and the verdicts of which one is enough.
WAYS = {
    "pass": ("pass",),
    "fail or warn": ("fail", "warn"),
    "not seen": ("not-checked", "error", FOLLOWS),
}
Entries = dict[str, dict[str, dict[str, str] | str]]
Rows = Mapping[str, Mapping[str, Mapping[str, list[str]]]]


def of_system(path: Path) -> Entries:
    """Return the ways of every gate that one file names."""
    found: Entries = yaml.safe_load(path.read_text())
    return found


@cache
def entries() -> Entries:
    """Return the ways of every gate, by gate."""
    found: Entries = {}
    for path in sorted(FOLDER.glob("*.yml")):
        found |= of_system(path)
    return found


def named() -> Iterator[tuple[str, str, str]]:
    """Yield each gate, verdict and the test that is named for it."""
    for gate, ways in entries().items():
        for verdict, test in ways.items():
            if isinstance(test, str):
                yield gate, verdict, f"tests/{test}"


@cache
def _by_test() -> dict[str, frozenset[tuple[str, str]]]:
    found: dict[str, set[tuple[str, str]]] = {}
    for gate, verdict, test in named():
        found.setdefault(test, set()).add((gate, verdict))
    return {test: frozenset(pairs) for test, pairs in found.items()}


def promised(test: str) -> frozenset[tuple[str, str]]:
    """Return the gates and verdicts that a test is named for."""
    return _by_test().get(test, frozenset())


def lacking(gate: str) -> list[str]:
    """Return the ways of a gate for which neither a test nor a reason stands."""
    ways = entries().get(gate, {})
    never = ways.get(NEVER, {})
    given = {*ways, *(never if isinstance(never, dict) else ())}
    return [name for name, some in WAYS.items() if not given & {name, *some}]


def gates() -> list[str]:
    """Return every gate there is, system by system, those of the fleet last."""
    ids = [gate.id for _, gate in load_catalogue().gates()]
    return ids + [gate.id for gate in SYSTEM.gates if gate.id not in ids]


def table(rows: Rows) -> Iterator[str]:
    """Show what a run saw: a line for each gate and way, and at the end what it did not see.

    Args:
        rows: gate, verdict, `real` or `scripted` (a scripted palace answered), tests.
    """
    holes = []
    for gate in gates():
        for name, some in WAYS.items():
            seen = [(v, kind, t) for v in some for kind, t in rows.get(gate, {}).get(v, {}).items()]
            for verdict, kind, tests in sorted(seen, key=lambda one: one[1] != "real")[:1]:
                mark = "" if kind == "real" else " (a scripted palace)"
                yield f"{gate:22} {verdict:12} {len(tests):3}{mark} {tests[0]}"
            if not seen:
                holes.append(f"{gate:22} {name}")
    yield f"not seen: {len(holes)}"
    yield from holes
