"""Two runs held against each other: verdicts, artifacts, targets. Pure."""

from collections.abc import Mapping
from dataclasses import replace

from fleet.dataclass import dataclass
from fleet.history.model import Beside, Piece
from fleet.verifier.model import Finding, Verdict
from fleet.verifier.run import Run

BAD = (Verdict.FAIL, Verdict.ERROR, Verdict.UNREACHABLE, Verdict.NOT_CHECKED, Verdict.WARN)
HOLDS = (Verdict.PASS, Verdict.WAIVED, Verdict.NOT_APPLICABLE)


@dataclass(frozen=True, slots=True)
class VerdictChange:
    """A gate that says something else; None where it was not asked in that run."""

    target: str
    gate: str
    before: Verdict | None
    after: Verdict | None
    required: bool
    message: str

    @property
    def worse(self) -> bool:
        """Whether it held and does not, or nothing was known and it does not.

        What a target that was not reached fails now may have failed before.
        """
        if self.after is Verdict.FAIL:
            return self.before not in (Verdict.FAIL, Verdict.UNREACHABLE)
        return self.after in BAD and self.before not in BAD

    @property
    def better(self) -> bool:
        """Whether it did not hold and does; what is only not seen any more is not better."""
        if self.after is Verdict.WARN:
            return self.before is Verdict.FAIL
        return self.after in HOLDS and self.before in BAD

    @property
    def away(self) -> bool:
        """Whether one of the two runs did not reach the target: the target is told, not this."""
        return Verdict.UNREACHABLE in (self.before, self.after)


@dataclass(frozen=True, slots=True)
class PieceChange:
    """An artifact that is another; None where that run did not look at it."""

    target: str
    name: str
    before: Piece | None
    after: Piece | None


@dataclass(frozen=True, slots=True)
class Difference:
    """What is other in the later of two runs.

    Attributes:
        came: targets that only the later one looked at; ``went``: only the earlier one.
        lost: targets that answered in the earlier one only; ``found``: in the later one only.
        same: how many verdicts are as they were.
    """

    before: str
    after: str
    verdicts: tuple[VerdictChange, ...]
    pieces: tuple[PieceChange, ...]
    came: tuple[str, ...]
    went: tuple[str, ...]
    lost: tuple[str, ...]
    found: tuple[str, ...]
    same: int


def difference(before: tuple[Run, Beside], after: tuple[Run, Beside]) -> Difference:
    """Hold a run against an earlier one.

    Targets that only one of them looked at are told as such, and not gate by gate.
    """
    old, new = _by_name(before[0]), _by_name(after[0])
    both = old.keys() & new.keys() | {f.target for f in (*before[0].fleetwide, *after[0].fleetwide)}
    verdicts, same = _verdicts(before[0], after[0], both)
    reached_before = {n for n, reached in old.items() if reached}
    reached_after = {n for n, reached in new.items() if reached}
    shared = old.keys() & new.keys()
    return Difference(
        before=before[0].id,
        after=after[0].id,
        verdicts=verdicts,
        pieces=_pieces(before[1].pieces, after[1].pieces, reached_before & reached_after),
        came=tuple(sorted(new.keys() - old.keys())),
        went=tuple(sorted(old.keys() - new.keys())),
        lost=tuple(sorted(shared & reached_before - reached_after)),
        found=tuple(sorted(shared & reached_after - reached_before)),
        same=same,
    )


def together(
    latest: Mapping[str, str], runs: Mapping[str, Run], kept: Mapping[str, Beside]
) -> tuple[Run, Beside]:
    """Put together what several runs saw last of each target.

    Args:
        latest: the run that counts, by target.
        runs: those runs, by id; ``kept`` what is kept with them.
        kept: by id.
    """
    newest = max(runs.values(), key=lambda run: run.started)
    results = {
        r.target.name: r
        for n, run in runs.items()
        for r in run.results
        if _is(latest, r.target.name, n)
    }
    fleetwide = tuple(
        f for n, run in runs.items() for f in run.fleetwide if _is(latest, f.target, n)
    )
    pieces = {t: p for n, one in kept.items() for t, p in one.pieces.items() if _is(latest, t, n)}
    run = replace(newest, results=tuple(results[n] for n in sorted(results)), fleetwide=fleetwide)
    return run, Beside(pieces=pieces)


def _is(latest: Mapping[str, str], target: str, run: str) -> bool:
    return latest.get(target) == run


def _by_name(run: Run) -> dict[str, bool]:
    return {r.target.name: r.trouble is None for r in run.results}


def _verdicts(before: Run, after: Run, both: set[str]) -> tuple[tuple[VerdictChange, ...], int]:
    old = {(f.target, f.gate): f for f in before.findings if f.target in both}
    new = {(f.target, f.gate): f for f in after.findings if f.target in both}
    changes, same = [], 0
    for key in sorted(old.keys() | new.keys()):
        was, now = old.get(key), new.get(key)
        if was and now and was.verdict is now.verdict:
            same += 1
            continue
        changes.append(_verdict(*key, was, now))
    return tuple(changes), same


def _verdict(target: str, gate: str, was: Finding | None, now: Finding | None) -> VerdictChange:
    told = now or was
    return VerdictChange(
        target,
        gate,
        was.verdict if was else None,
        now.verdict if now else None,
        bool(told and told.required),
        told.message if told else "",
    )


def _pieces(
    before: Mapping[str, tuple[Piece, ...]],
    after: Mapping[str, tuple[Piece, ...]],
    targets: set[str],
) -> tuple[PieceChange, ...]:
    found = []
    for target in sorted(targets & before.keys() & after.keys()):
        old = {piece.name: piece for piece in before[target]}
        new = {piece.name: piece for piece in after[target]}
        for name in sorted(old.keys() | new.keys()):
            if not _alike(old.get(name), new.get(name)):
                found.append(PieceChange(target, name, old.get(name), new.get(name)))  # noqa: PERF401 - reads better
    return tuple(found)


def _alike(one: Piece | None, other: Piece | None) -> bool:
    """Whether two looks at an artifact saw the same; what a clone says of it may be news."""
    if one is None or other is None:
        return False
    return (one.state, one.where, one.content, one.version) == (
        other.state,
        other.where,
        other.content,
        other.version,
    )
