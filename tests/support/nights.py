"""The same fleet on several nights, for a history."""

import hashlib
import sqlite3
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from support.crafted import finding, result, run

from fleet.facts.paths import PathFact, State
from fleet.facts.running import EnvValue, LaunchFact
from fleet.verifier.model import Verdict
from fleet.verifier.run import Run

CONTENT = b"export default function bridge() {}\n" * 40


def at(run: Run, day: int, name: str = "") -> Run:
    """Return a run as if it had been so many days later."""
    moved = timedelta(days=day)
    results = tuple(
        replace(r, facts=r.facts.model_copy(update={"taken_at": r.facts.taken_at + moved}))
        if r.facts
        else r
        for r in run.results
    )
    return replace(
        run,
        id=name or f"2026-09-{day + 1:02}T08",
        started=run.started + moved,
        finished=run.finished + moved,
        results=results,
    )


def night(day: int, verdict: Verdict, gate: str = "bridge.feed", target: str = "box") -> Run:
    """Return a night's run of one target and one required gate."""
    return at(run(result(target, finding(target, gate, verdict, "told", required=True))), day)


def with_facts(name: str = "box", nonce: str = "a" * 32, note: str = "") -> Run:
    """Return a run whose facts have a content, a digest that the nonce keys, and a version."""
    sha = hashlib.sha256(CONTENT).hexdigest()
    made = run(result(name, finding(name, "bridge.feed", Verdict.PASS, "can feed")))
    facts = made.results[0].facts
    assert facts is not None
    digest = hashlib.sha256(nonce.encode()).hexdigest()
    path = PathFact(
        path="~/b.ts", absolute="/home/me/b.ts", state=State.PRESENT, kind="file", sha256=sha
    )
    variables = {
        "TOKEN": EnvValue(set=True, length=20, digest=digest),
        "NOTE": EnvValue(set=True, length=len(note), value=note),
    }
    told = facts.model_copy(
        update={
            "nonce": nonce,
            "paths": {path.path: path},
            "launches": {
                "bash -lc": LaunchFact(launch="bash -lc", state="ok", variables=variables)
            },
            "contents": {sha: CONTENT},
        }
    )
    return replace(made, results=(replace(made.results[0], facts=told),))


def blobs(path: Path) -> int:
    """Count what a history keeps by content."""
    connection = sqlite3.connect(path)
    number = int(connection.execute("SELECT count(*) FROM blob").fetchone()[0])
    connection.close()
    return number
