"""Runs as they were kept: whole, in strips, and gate by gate."""

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from fleet.errors import FactsError, HistoryError, ProbeError
from fleet.facts.model import Facts
from fleet.history.blobs import Blobs
from fleet.history.codec import (
    acted_of,
    drift_of,
    finding_of,
    gates_of,
    pieces_of,
    target_of,
    trouble_of,
)
from fleet.history.model import Beside, Kept, Point, Since
from fleet.history.split import Json, clean, joined
from fleet.history.writing import micro
from fleet.verifier.model import Finding, Verdict
from fleet.verifier.run import Run, TargetResult

_LISTED = (
    "SELECT id, name, command, started, finished, strict, fleet, who, host, code, reason,"
    " (SELECT count(*) FROM action WHERE action.run = run.id AND changed > 0) FROM run"
)
STRIP = 30  # runs of a target that a page shows


class Reader:
    """Reads a history."""

    def __init__(self, connection: sqlite3.Connection, blobs: Blobs) -> None:
        self._connection = connection
        self._blobs = blobs
        self._asked: dict[int, Mapping[str, Verdict]] = {}

    def forget(self) -> None:
        """Forget what was read: it may be another by now."""
        self._asked.clear()

    def runs(self, most: int | None = None) -> Iterator[Kept]:
        """Yield runs, the newest first."""
        for row in self._connection.execute(
            f"{_LISTED} ORDER BY started DESC, id DESC LIMIT ?",
            (-1 if most is None else most,),
        ).fetchall():
            yield self._listed(row)

    def _listed(self, row: Sequence[Any]) -> Kept:
        number, name, command, started, finished, strict, fleet, who, host, code, reason, did = row
        targets, told = 0, Counter[str]()
        for fleetwide, counts, tally in self._connection.execute(
            "SELECT fleetwide, counts, tally FROM result"
            " JOIN findings ON findings.id = result.findings WHERE run = ?",
            (number,),
        ).fetchall():
            targets += not fleetwide
            told.update(self._counts(counts, tally))
        every, required = _parted(told)
        return Kept(
            id=name,
            command=command,
            started=moment(started),
            finished=moment(finished),
            strict=bool(strict),
            fleet=fleet,
            who=who,
            host=host,
            code=code,
            reason=reason,
            targets=targets,
            changed=did,
            counts=every,
            required=required,
        )

    def listed(self, name: str) -> Kept:
        """Return one run as a list shows it.

        Raises:
            HistoryError: there is none of that name.
        """
        row = self._connection.execute(f"{_LISTED} WHERE name = ?", (name,)).fetchone()
        if row is None:
            raise HistoryError(f"there is no run {name}")
        return self._listed(row)

    def beside(self, name: str) -> Beside:
        """Return what is kept with a run and stands in no report."""
        kept = self.listed(name)
        pieces = {
            target: pieces_of(self._blobs.get(number))
            for target, number in self._connection.execute(
                "SELECT target.name, pieces FROM result JOIN target ON target.id = result.target"
                " JOIN run ON run.id = result.run WHERE run.name = ? AND pieces IS NOT NULL",
                (name,),
            ).fetchall()
        }
        acted = tuple(
            acted_of(self._blobs.get(number))
            for (number,) in self._connection.execute(
                "SELECT steps FROM action JOIN run ON run.id = action.run WHERE run.name = ?"
                " ORDER BY place",
                (name,),
            ).fetchall()
        )
        return Beside(kept.who, kept.host, acted, pieces, code=kept.code, reason=kept.reason)

    def run(self, name: str, *, facts: bool = True) -> Run:
        """Return a whole run; ``facts`` false leaves them out, which is quicker.

        Raises:
            HistoryError: there is none of that name, or it cannot be read.
        """
        row = self._connection.execute(
            "SELECT id, command, started, finished, strict, gates, drift, volatile FROM run"
            " WHERE name = ?",
            (name,),
        ).fetchone()
        if row is None:
            raise HistoryError(f"there is no run {name}")
        number, command, started, finished, strict, gates, drift, volatile = row
        aside = json.loads(self._blobs.get(volatile)) if facts else []
        results, fleetwide = [], list[Finding]()
        for line in self._connection.execute(
            "SELECT place, name, fleetwide, about, facts, contents, list, trouble, milliseconds"
            " FROM result JOIN target ON target.id = result.target"
            " JOIN findings ON findings.id = result.findings WHERE run = ? ORDER BY place",
            (number,),
        ).fetchall():
            if line[2]:
                fleetwide.extend(self._findings(line[6], line[1]))
            else:
                results.append(self._result(line, aside if facts else None))
        return Run(
            id=name,
            command=command,
            started=moment(started),
            finished=moment(finished),
            results=tuple(results),
            strict=bool(strict),
            fleetwide=tuple(fleetwide),
            gates=gates_of(self._blobs.get(gates)),
            drift=drift_of(self._blobs.get(drift)),
        )

    def _result(self, line: Sequence[object], aside: list[list[Json]] | None) -> TargetResult:
        place, name, _, about, body, contents, listed, trouble, milliseconds = line
        facts: Facts | None = None
        troubled = None if trouble is None else trouble_of(self._blobs.get(_number(trouble)))
        if aside is not None and body is not None:
            try:
                facts = self._facts(body, contents, aside[_number(place)], str(name))
            except FactsError as error:
                troubled = ProbeError(error.what, where=str(name))
        return TargetResult(
            target=target_of(self._blobs.get(_number(about))),
            facts=facts,
            findings=tuple(self._findings(_number(listed), str(name))),
            trouble=troubled,
            milliseconds=_number(milliseconds),
        )

    def _facts(self, body: object, contents: object, aside: list[Json], name: str) -> Facts:
        from hashlib import sha256  # noqa: PLC0415 - lazy

        numbers = json.loads(self._blobs.get(_number(contents)))
        held = [self._blobs.get(number) for number in numbers]
        named = {sha256(data).hexdigest(): data for data in held}
        return joined(self._blobs.get(_number(body)), aside, named, where=name)

    def facts(self, run: str, target: str) -> Facts | None:
        """Return what one run read on one target; None where it read nothing.

        Raises:
            HistoryError: they cannot be read by this fleet.
        """
        row = self._connection.execute(
            "SELECT place, facts, contents, volatile FROM result"
            " JOIN run ON run.id = result.run JOIN target ON target.id = result.target"
            " WHERE run.name = ? AND target.name = ? AND facts IS NOT NULL",
            (run, clean(target)),
        ).fetchone()
        if row is None:
            return None
        place, body, contents, volatile = row
        aside = json.loads(self._blobs.get(volatile))
        try:
            return self._facts(body, contents, aside[place], target)
        except FactsError as error:
            raise HistoryError(error.what, where=target) from None

    def latest(self, after: datetime | None, until: datetime | None) -> dict[str, str]:
        """Return the last run that looked at each target within a time, by target.

        Of what is said of the fleet as a whole the last that said something counts.
        """
        rows = self._connection.execute(
            "SELECT target.name, run.name, max(moment) FROM result"
            " JOIN run ON run.id = result.run JOIN target ON target.id = result.target"
            " WHERE moment > ? AND moment <= ? GROUP BY target.id",
            (-1 if after is None else micro(after), 2**62 if until is None else micro(until)),
        )
        return {target: run for target, run, _ in rows}

    def _findings(self, listed: int, target: str) -> Iterator[Finding]:
        numbers = json.loads(self._blobs.get(listed))
        for number in numbers:
            row = self._connection.execute(
                "SELECT body FROM finding WHERE id = ?", (number,)
            ).fetchone()
            if row is None:
                raise HistoryError("the history is damaged: a finding that it names is not in it")
            yield finding_of(self._blobs.get(row[0]), target)

    def strip(self, target: str, *, most: int = STRIP, until: str | None = None) -> list[Point]:
        """Return what a target came down to in its last runs, the oldest first.

        Args:
            target: its name.
            most: how many runs.
            until: a run's id; later runs are left out.
        """
        lines = self._connection.execute(
            "SELECT run.name, moment, result.facts, counts, tally FROM result"
            " JOIN run ON run.id = result.run JOIN target ON target.id = result.target"
            " JOIN findings ON findings.id = result.findings"
            " WHERE target.name = ? AND run.started <= ?"
            " ORDER BY moment DESC, run.started DESC LIMIT ?",
            (clean(target), self._until(until), most),
        ).fetchall()
        found = []
        for name, at, facts, counts, tally in reversed(lines):
            every, required = _parted(self._counts(counts, tally))
            found.append(Point(name, moment(at), facts is not None, every, required))
        return found

    def _counts(self, inline: str, tally: int | None) -> dict[str, int]:
        """Return counts by verdict; the first version kept them in the row."""
        found: dict[str, int] = json.loads(inline if tally is None else self._blobs.get(tally))
        return found

    def since(
        self, target: str, gates: Iterable[str] | None = None, *, until: str | None = None
    ) -> dict[str, Since]:
        """Return since when gates give the verdict they gave last on a target, by gate.

        Runs that did not ask a gate are passed over.

        Args:
            target: its name; of a finding about several targets ``fleet``, or the group.
            gates: which; None means all that the latest run asked.
            until: a run's id; later runs are left out.
        """
        found: dict[str, Since] = {}
        open_gates = None if gates is None else set(gates)
        for name, at, asked in self._asked_of(target, until):
            if open_gates is None:
                open_gates = set(asked)
            for gate in tuple(open_gates):
                if gate in asked and _older(found, gate, target, asked[gate], (name, at)):
                    open_gates.discard(gate)
            if not open_gates:
                break
        return found

    def _asked_of(
        self, target: str, until: str | None
    ) -> Iterator[tuple[str, datetime, Mapping[str, Verdict]]]:
        for name, at, number, listed in self._connection.execute(
            "SELECT run.name, moment, findings.id, list FROM result"
            " JOIN run ON run.id = result.run JOIN target ON target.id = result.target"
            " JOIN findings ON findings.id = result.findings"
            " WHERE target.name = ? AND run.started <= ? ORDER BY moment DESC, run.started DESC",
            (clean(target), self._until(until)),
        ).fetchall():
            if number not in self._asked:
                self._asked[number] = self._verdicts(listed)
            yield name, moment(at), self._asked[number]

    def _verdicts(self, listed: int) -> dict[str, Verdict]:
        numbers = json.loads(self._blobs.get(listed))
        marks = ",".join("?" * len(numbers))
        rows = self._connection.execute(
            f"SELECT gate, verdict FROM finding WHERE id IN ({marks})",  # noqa: S608 - marks only
            numbers,
        )
        return {gate: Verdict(verdict) for gate, verdict in rows}

    def _until(self, until: str | None) -> int:
        if until is None:
            return 2**62
        row = self._connection.execute(
            "SELECT started FROM run WHERE name = ?", (until,)
        ).fetchone()
        if row is None:
            raise HistoryError(f"there is no run {until}")
        return int(row[0])


def _older(
    found: dict[str, Since], gate: str, target: str, verdict: Verdict, run: tuple[str, datetime]
) -> bool:
    """Take one older run into account; whether nothing before it matters any more."""
    name, at = run
    known = found.get(gate)
    if known is None:
        known = Since(gate, target, verdict, name, at, 0, name, at)
    if _fails(verdict, known.verdict):
        known = _replaced(known, failed=name, failed_at=at)
    if known.before is None and verdict is known.verdict:
        found[gate] = _replaced(known, first=name, first_at=at, runs=known.runs + 1)
        return False
    if known.before is None:
        known = _replaced(known, before=verdict)
    if verdict is Verdict.PASS:
        known = _replaced(known, passed=name, passed_at=at)
    found[gate] = known
    return verdict is Verdict.PASS or known.verdict is Verdict.PASS


def _fails(verdict: Verdict, latest: Verdict) -> bool:
    """Whether a run counts as a failure of a gate that gave ``latest`` last; none if it passed."""
    if latest is Verdict.PASS:
        return False
    return verdict is Verdict.FAIL or verdict is latest is Verdict.WARN


def _replaced(since: Since, **changes: object) -> Since:
    from dataclasses import replace  # noqa: PLC0415 - lazy

    return replace(since, **changes)  # type: ignore[arg-type]  # each by its own name


def _parted(told: Mapping[str, int]) -> tuple[dict[Verdict, int], dict[Verdict, int]]:
    every = {v: told[v.value] for v in Verdict if v.value in told}
    required = {v: told[f"required:{v}"] for v in Verdict if f"required:{v}" in told}
    return every, required


def _number(value: object) -> int:
    if not isinstance(value, int):
        raise HistoryError("the history is damaged: a number in it is none")
    return value


def moment(micro: int) -> datetime:
    """Return a moment from microseconds since 1970."""
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micro)
