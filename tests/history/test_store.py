"""Runs come back as they were, each thing kept once, and say since when."""

import hashlib
import json
import sqlite3
import stat
import subprocess
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from support.any_run import runs
from support.crafted import START, craft
from support.nights import CONTENT, at, blobs, night, with_facts

from fleet.errors import HistoryError
from fleet.facts.model import Facts
from fleet.facts.saved import dumps
from fleet.history.split import clean
from fleet.history.store import History
from fleet.reports.json import render
from fleet.reports.view import View
from fleet.secrets import Secret
from fleet.verifier.model import Verdict
from fleet.verifier.run import Run


@pytest.mark.parametrize("name", ["mixed", "hostile", "crowd", "wide", "nothing", "silent"])
def test_a_run_comes_back(name: str, tmp_path: Path) -> None:
    kept = craft(name)
    with History(tmp_path / "h.db", write=True) as history:
        assert history.save(kept) == kept.id
    with History(tmp_path / "h.db") as history:
        assert render(history.load("last"), View()) == render(kept, View())


@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(kept=runs())
def test_any_run_comes_back(kept: Run, tmp_path: Path) -> None:
    with History(tmp_path / "h.db", write=True) as history:
        found = history.load(history.save(kept))
    assert [r.target.name for r in found.results] == [
        str(clean(r.target.name)) for r in kept.results
    ]
    assert len(found.findings) == len(kept.findings)
    for one, other in zip(found.findings, kept.findings, strict=True):
        assert (one.gate, one.verdict, one.required) == (other.gate, other.verdict, other.required)
        assert one.message == clean(other.message)
        assert one.evidence == tuple(str(clean(line)) for line in other.evidence)
    for back, there in zip(found.results, kept.results, strict=True):
        assert (back.facts is None) == (there.facts is None)
        if back.facts is not None and there.facts is not None:
            assert back.facts.model_dump() == clean_of(there.facts)
        assert type(back.trouble) is type(there.trouble)


def clean_of(facts: Facts) -> object:
    told = facts.model_dump()
    return told | {"target": clean(facts.target), "address": clean(facts.address)}


def test_facts_come_back_whole_with_contents_and_digests(tmp_path: Path) -> None:
    with History(tmp_path / "h.db", write=True) as history:
        for day, nonce in enumerate(("a" * 32, "b" * 32)):
            kept = at(with_facts(nonce=nonce), day)
            found = history.load(history.save(kept)).results[0].facts
            wanted = kept.results[0].facts
            assert found is not None
            assert wanted is not None
            assert dumps(found) == dumps(wanted)


def test_what_did_not_change_is_kept_once(tmp_path: Path) -> None:
    with History(tmp_path / "h.db", write=True) as history:
        history.save(at(with_facts("box", "a" * 32), 0))
        before = blobs(tmp_path / "h.db")
        history.save(at(with_facts("box", "b" * 32), 1))
        assert blobs(tmp_path / "h.db") - before == 1  # the values that are new by nature
    body = sqlite3.connect(tmp_path / "h.db")
    bodies = body.execute("SELECT count(DISTINCT facts), count(DISTINCT contents) FROM result")
    assert bodies.fetchone() == (1, 1)
    body.close()


def test_a_secret_is_masked_and_its_content_is_not_kept(tmp_path: Path) -> None:
    canary = "canary-7f3a-in-a-file"
    made = with_facts()
    first = made.results[0]
    assert first.facts is not None
    held = b"const token = '" + canary.encode() + b"'\n"
    facts = first.facts.model_copy(
        update={"contents": {**first.facts.contents, hashlib.sha256(held).hexdigest(): held}}
    )
    told = first.findings[0]._replace(message=f"it says {canary}", evidence=(canary,))
    made = replace(made, results=(replace(first, facts=facts, findings=(told,)),))
    path = tmp_path / "h.db"
    with History(path, write=True) as history:
        history.save(made, hide=[Secret(canary)])
        found = history.load("last").results[0]
        assert found.findings[0].message == "it says ***"
        assert found.facts is not None
        assert list(found.facts.contents.values()) == [CONTENT]
        everything = b"".join(
            history._blobs.get(n)
            for (n,) in history._connection.execute("SELECT id FROM blob").fetchall()
        )
    assert canary.encode() not in everything
    assert canary.encode() not in path.read_bytes()


def test_only_its_owner_may_read_it(tmp_path: Path) -> None:
    path = tmp_path / "state" / "h.db"
    with History(path, write=True) as history:
        history.save(craft("mixed"))
        for file in path.parent.iterdir():
            assert stat.S_IMODE(file.stat().st_mode) == 0o600, file
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_since_when_it_fails(tmp_path: Path) -> None:
    verdicts = (Verdict.PASS, Verdict.PASS, Verdict.FAIL, Verdict.FAIL, Verdict.FAIL)
    with History(tmp_path / "h.db", write=True) as history:
        for day, verdict in enumerate(verdicts):
            history.save(night(day, verdict))
        history.save(night(5, Verdict.PASS, "env.loaded"))  # did not ask it
        since = history.since("bridge.feed", "box")
        assert since is not None
        assert (since.first, since.runs, since.passed) == ("2026-09-03T08", 3, "2026-09-02T08")
        assert since.before is Verdict.PASS
        assert since.seen == "2026-09-05T08"
        assert since.first_at == START + timedelta(days=2)
        earlier = history.since("bridge.feed", "box", until="2026-09-02T08")
        assert earlier is not None
        assert (earlier.verdict, earlier.first, earlier.before) == (
            Verdict.PASS,
            "2026-09-01T08",
            None,
        )
        assert history.since("bridge.feed", "other") is None


def test_a_failure_that_was_not_seen_for_a_while_looks_back_to_its_last_pass(
    tmp_path: Path,
) -> None:
    verdicts = (Verdict.PASS, Verdict.FAIL, Verdict.UNREACHABLE, Verdict.FAIL)
    with History(tmp_path / "h.db", write=True) as history:
        for day, verdict in enumerate(verdicts):
            history.save(night(day, verdict))
        since = history.since("bridge.feed", "box")
    assert since is not None
    assert (since.first, since.before) == ("2026-09-04T08", Verdict.UNREACHABLE)
    assert (since.failed, since.passed) == ("2026-09-02T08", "2026-09-01T08")


P, F, U, N, W = (
    *(Verdict.PASS, Verdict.FAIL, Verdict.UNREACHABLE, Verdict.NOT_CHECKED, Verdict.WARN),
)


@pytest.mark.parametrize(
    "verdicts, failed, passed",
    [
        ((P, F, F), 1, 0),
        ((P, F, U), 1, 0),  # not seen now, and it failed when it was seen last
        ((P, F, U, N, F, U), 1, 0),
        ((F, P, F, N, F), 2, 1),  # an older failure was mended since
        ((P, U, U), None, 0),
        ((F, U, F), 0, None),
        ((F, P, P), None, None),  # holds: nothing fails
        ((P, W, U, W), 1, 0),
        ((P, W, F), 2, 0),  # what it warned of before is another matter
    ],
)
def test_the_first_failure_is_found_behind_nights_that_saw_nothing(
    verdicts: tuple[Verdict, ...], failed: int | None, passed: int | None, tmp_path: Path
) -> None:
    with History(tmp_path / "h.db", write=True) as history:
        for day, verdict in enumerate(verdicts):
            history.save(night(day, verdict))
        since = history.since("bridge.feed", "box")
    assert since is not None
    assert since.failed == (None if failed is None else f"2026-09-0{failed + 1}T08")
    assert since.passed == (None if passed is None else f"2026-09-0{passed + 1}T08")


def test_a_strip_tells_the_last_runs_oldest_first(tmp_path: Path) -> None:
    verdicts = (Verdict.PASS, Verdict.FAIL, Verdict.NOT_CHECKED)
    with History(tmp_path / "h.db", write=True) as history:
        for day, verdict in enumerate(verdicts):
            history.save(night(day, verdict))
        strip = history.strips(["box", "nobody"])
        assert [p.verdict for p in strip["box"]] == list(verdicts)
        assert strip["nobody"] == []
        assert [p.run for p in history.strips(["box"], most=2)["box"]] == [
            "2026-09-02T08",
            "2026-09-03T08",
        ]
        assert len(history.strips(["box"], until="2026-09-02T08")["box"]) == 2


@pytest.mark.parametrize(
    "word, meant",
    [
        ("last", "2026-09-03T08"),
        ("last~0", "2026-09-03T08"),
        ("last~2", "2026-09-01T08"),
        ("2026-09-02", "2026-09-02T08"),
        ("2026-09-02T08", "2026-09-02T08"),
    ],
)
def test_a_word_means_a_run(word: str, meant: str, tmp_path: Path) -> None:
    with History(tmp_path / "h.db", write=True) as history:
        for day in range(3):
            history.save(night(day, Verdict.PASS))
        assert history.resolve(word) == meant


@pytest.mark.parametrize(
    "word, told", [("2026", "several runs"), ("last~3", "there is no run"), ("x%", "there is no")]
)
def test_a_word_that_means_none_or_several_is_told(word: str, told: str, tmp_path: Path) -> None:
    with History(tmp_path / "h.db", write=True) as history:
        for day in range(3):
            history.save(night(day, Verdict.PASS))
        with pytest.raises(HistoryError, match=told):
            history.resolve(word)


WRITES = """
import sys
sys.path.insert(0, {tests!r})
from dataclasses import replace
from pathlib import Path
from support.crafted import craft
from fleet.history.store import History
for n in range(8):
    with History(Path(sys.argv[1]), write=True) as history:
        history.save(replace(craft("mixed"), id=f"{{sys.argv[2]}}-{{n}}"))
        history.save(replace(craft("mixed"), id="same"))
"""


def test_two_programs_that_write_at_once_lose_nothing(tmp_path: Path) -> None:
    tests = str(Path(__file__).parents[1])
    program = [sys.executable, "-c", WRITES.format(tests=tests), str(tmp_path / "h.db")]
    both = [subprocess.Popen([*program, who]) for who in ("one", "two")]
    assert [p.wait() for p in both] == [0, 0]
    with History(tmp_path / "h.db") as history:
        kept = history.runs()
        assert len(kept) == len({k.id for k in kept}) == 32
        assert len([k for k in kept if k.id.startswith("same")]) == 16
        whole = json.loads(render(history.load("one-7"), View()))
        assert len(whole["targets"]) == 6


def test_a_list_counts(tmp_path: Path) -> None:
    with History(tmp_path / "h.db", write=True) as history:
        history.save(craft("mixed"))
        (kept,) = history.runs()
    assert kept.targets == 6
    assert kept.counts[Verdict.FAIL] == 6
    assert kept.required[Verdict.FAIL] == 4
