"""Keeping a run: all of it in one transaction."""

import json
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from operator import attrgetter

from fleet import __version__
from fleet.errors import HistoryError
from fleet.history.blobs import Blobs
from fleet.history.codec import (
    acted_json,
    drift_json,
    finding_json,
    gates_json,
    pieces_json,
    target_json,
    trouble_json,
)
from fleet.history.model import Acted, Beside
from fleet.history.split import Json, Laid, clean, packed, split
from fleet.history.veil import Veil
from fleet.verifier.model import Finding
from fleet.verifier.run import Run, TargetResult

HASH = 32  # bytes of a sha256

#: All of a finding but its target.
_told_of = attrgetter(*(name for name in Finding._fields if name != "target"))


class Writer:
    """Writes one run; the transaction is the caller's."""

    def __init__(self, connection: sqlite3.Connection, blobs: Blobs, veil: Veil) -> None:
        self._connection = connection
        self._blobs = blobs
        self._veil = veil
        self._aside: list[Json] = []
        self._told: dict[object, int] = {}
        self._put: dict[bytes, int | None] = {}

    def run(self, run: Run, beside: Beside) -> str:
        """Keep a run, and return the name it goes by: its id, with a number where it was taken."""
        name = self._name(run.id)
        number = self._insert(
            "INSERT INTO run (name, command, started, finished, strict, fleet, gates, drift,"
            " who, host, code, reason) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                name,
                run.command,
                micro(run.started),
                micro(run.finished),
                run.strict,
                __version__,
                self._kept(gates_json(run.gates), self._latest("gates")),
                self._kept(drift_json(run.drift), self._latest("drift")),
                str(clean(beside.who)),
                str(clean(beside.host)),
                beside.code,
                self._veil.text(str(clean(beside.reason))),
            ),
        )
        place = 0
        for result in run.results:
            self._result(number, place, result, run, beside)
            place += 1
        for target, findings in by_target(run.fleetwide):
            self._fleetwide(number, place, target, findings, run)
            place += 1
        for position, acted in enumerate(beside.acted):
            self._acted(number, position, acted)
        self._connection.execute(
            "UPDATE run SET volatile = ? WHERE id = ?", (self._kept(self._aside, None), number)
        )
        return name

    def _name(self, wanted: str) -> str:
        taken = {
            str(row[0])
            for row in self._connection.execute(
                "SELECT name FROM run WHERE name = ? OR name GLOB ?", (wanted, f"{wanted}-*")
            )
        }
        number, name = 1, wanted
        while name in taken:
            number += 1
            name = f"{wanted}-{number}"
        return name

    def _acted(self, run: int, place: int, acted: Acted) -> None:
        steps = self._kept(acted_json(acted), None)
        self._connection.execute(
            "INSERT INTO action (run, place, target, changed, steps) VALUES (?, ?, ?, ?, ?)",
            (run, place, self._target(acted.target), acted.changed, steps),
        )

    def _result(
        self,
        run: int,
        place: int,
        result: TargetResult,
        whole: Run,
        beside: Beside,
    ) -> None:
        name, pieces = result.target.name, beside.pieces
        laid = beside.laid.get(name) or (split(result.facts) if result.facts else None)
        target = self._target(name)
        before = self._before(target)
        facts, contents = self._facts(laid, before)
        moment = result.facts.taken_at if result.facts else whole.started
        trouble = result.trouble
        self._connection.execute(
            "INSERT INTO result (run, place, target, moment, fleetwide, about, facts, contents,"
            " findings, trouble, milliseconds, pieces)"
            " VALUES (?, ?, ?, ?, 0, ?, ?, ?, ?, ?, ?, ?)",
            (
                run,
                place,
                target,
                micro(moment),
                self._kept(target_json(result.target), before.get("about")),
                facts,
                contents,
                self._findings(result.findings, before.get("list")),
                None if trouble is None else self._kept(trouble_json(trouble), None),
                result.milliseconds,
                self._kept(pieces_json(pieces[name]), before.get("pieces"))
                if name in pieces
                else None,
            ),
        )

    def _fleetwide(
        self, run: int, place: int, name: str, findings: Sequence[Finding], whole: Run
    ) -> None:
        target = self._target(name)
        self._connection.execute(
            "INSERT INTO result (run, place, target, moment, fleetwide, findings, milliseconds)"
            " VALUES (?, ?, ?, ?, 1, ?, 0)",
            (run, place, target, micro(whole.started), self._findings(findings, None)),
        )

    def _before(self, target: int) -> dict[str, int | None]:
        """Return what was kept of a target last, by what it is: the new will resemble it."""
        row = self._connection.execute(
            "SELECT about, facts, list, pieces FROM result"
            " JOIN findings ON findings.id = result.findings"
            " WHERE target = ? AND facts IS NOT NULL ORDER BY moment DESC LIMIT 1",
            (target,),
        ).fetchone()
        return (
            {} if row is None else dict(zip(("about", "facts", "list", "pieces"), row, strict=True))
        )

    def _facts(
        self, laid: Laid | None, before: dict[str, int | None]
    ) -> tuple[int | None, int | None]:
        if laid is None:
            self._aside.append([])
            return None, None
        self._aside.append(laid.aside)
        held = [self._content(data) for _, data in sorted(laid.contents.items())]
        kept = [number for number in held if number is not None]
        hashes = json.dumps(sorted(kept)).encode()
        body = self._veil.over(laid.body)
        return self._blobs.put(body, before.get("facts")), self._blobs.put(hashes)

    def _content(self, data: bytes) -> int | None:
        """Keep a content, of which most targets have the same ones.

        None for one that holds a secret's value: it is not kept, and is not there when judged.
        """
        if data not in self._put:
            self._put[data] = None if self._veil.holds(data) else self._blobs.put(data)
        return self._put[data]

    def _findings(self, findings: Sequence[Finding], before: int | None) -> int:
        numbers = [self._finding(finding) for finding in findings]
        kept = self._blobs.put(json.dumps(numbers, separators=(",", ":")).encode(), before)
        row = self._connection.execute("SELECT id FROM findings WHERE list = ?", (kept,)).fetchone()
        if row is not None:
            return int(row[0])
        tally = self._blobs.put(json.dumps(counted(findings), sort_keys=True).encode())
        return self._insert(
            "INSERT INTO findings (list, counts, tally) VALUES (?, '', ?)", (kept, tally)
        )

    def _finding(self, finding: Finding) -> int:
        """Keep a finding without its target; most are told of many targets."""
        shared = _told_of(finding)
        if shared not in self._told:
            self._told[shared] = self._finding_anew(finding)
        return self._told[shared]

    def _finding_anew(self, finding: Finding) -> int:
        latest = self._connection.execute(
            "SELECT body FROM finding WHERE gate = ? AND verdict = ? ORDER BY id DESC LIMIT 1",
            (finding.gate, finding.verdict.value),
        ).fetchone()
        body = self._kept(finding_json(finding), latest[0] if latest else None)
        row = self._connection.execute("SELECT id FROM finding WHERE body = ?", (body,)).fetchone()
        if row is not None:
            return int(row[0])
        return self._insert(
            "INSERT INTO finding (body, gate, verdict, required) VALUES (?, ?, ?, ?)",
            (body, finding.gate, finding.verdict.value, finding.required),
        )

    def _kept(self, value: Json, near: int | None) -> int:
        return self._blobs.put(self._veil.over(packed(value)), near)

    def _latest(self, column: str) -> int | None:
        row = self._connection.execute(
            f"SELECT {column} FROM run WHERE {column} IS NOT NULL ORDER BY id DESC LIMIT 1"  # noqa: S608 - a name from this file
        ).fetchone()
        return None if row is None else int(row[0])

    def _target(self, name: str) -> int:
        known = str(clean(name))
        row = self._connection.execute("SELECT id FROM target WHERE name = ?", (known,)).fetchone()
        if row is not None:
            return int(row[0])
        return self._insert("INSERT INTO target (name) VALUES (?)", (known,))

    def _insert(self, statement: str, values: Sequence[object]) -> int:
        number = self._connection.execute(statement, values).lastrowid
        if number is None:
            raise HistoryError("the history took a row and gave it no number")
        return number


def counted(findings: Iterable[Finding]) -> dict[str, int]:
    """Count findings by verdict, required ones apart: ``fail`` 3, ``required:fail`` 1."""
    counts = Counter(f.verdict.value for f in findings)
    counts.update(f"required:{f.verdict.value}" for f in findings if f.required)
    return dict(counts)


def by_target(findings: Iterable[Finding]) -> Iterator[tuple[str, Sequence[Finding]]]:
    """Part findings about the fleet by whom they name."""
    parts: dict[str, list[Finding]] = defaultdict(list)
    for finding in findings:
        parts[finding.target].append(finding)
    yield from parts.items()


def micro(moment: datetime) -> int:
    """Return a moment as microseconds since 1970."""
    since = moment.astimezone(UTC) - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
