"""Old runs go; a target's last one stays, and so does all that the rest needs."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from support.crafted import START, finding, result, run
from support.nights import CONTENT, at, blobs, with_facts

from fleet.history.model import Acted, Beside, Step
from fleet.history.retain import Retention
from fleet.history.store import History
from fleet.verifier.model import Verdict
from fleet.verifier.run import Run

NOW = START + timedelta(days=30)


def of(*names: str) -> Run:
    return run(*(result(n, finding(n, "bridge.feed", Verdict.PASS, f"on {n}")) for n in names))


@pytest.fixture
def history(tmp_path: Path) -> History:
    """Ten nights of two targets; the third was seen on the first and third night only."""
    made = History(tmp_path / "h.db", write=True)
    for day in range(10):
        names = ("one", "two", "gone") if day in {0, 2} else ("one", "two")
        made.save(at(of(*names), day))
    return made


def left(history: History) -> list[str]:
    return [run.id[8:10] for run in reversed(history.runs())]


@pytest.mark.parametrize(
    "retention, kept",
    [
        (Retention(age=timedelta(days=23)), ["03", "08", "09", "10"]),
        (Retention(most=2), ["03", "09", "10"]),
        (Retention(age=timedelta(days=23), most=1), ["03", "10"]),
        (Retention(age=timedelta(days=1)), ["03", "10"]),
        (Retention(most=100), [f"{n:02}" for n in range(1, 11)]),
    ],
)
def test_the_last_run_of_a_target_stays(
    retention: Retention, kept: list[str], history: History
) -> None:
    told = history.prune(retention, NOW, dry=True)
    assert len(history.runs()) == 10
    done = history.prune(retention, NOW)
    assert done.runs == told.runs
    assert left(history) == kept
    assert history.load("2026-09-03").findings[2].message == "on gone"


def test_what_the_rest_needs_stays_and_nothing_else(tmp_path: Path) -> None:
    with History(tmp_path / "h.db", write=True) as history:
        for day in range(6):
            history.save(at(with_facts(nonce=str(day) * 32, note="x" * day), day))
        history.prune(Retention(most=2), NOW)
        for name in ("last", "last~1"):
            facts = history.load(name).results[0].facts
            assert facts is not None
            assert list(facts.contents.values()) == [CONTENT]
        pruned = blobs(tmp_path / "h.db")
    with History(tmp_path / "fresh.db", write=True) as history:
        for day in (4, 5):
            history.save(at(with_facts(nonce=str(day) * 32, note="x" * day), day))
    # What the two build on may be one more: the body of an older night.
    assert blobs(tmp_path / "fresh.db") <= pruned <= blobs(tmp_path / "fresh.db") + 1


def test_the_last_run_that_saw_a_target_stays_though_it_was_sought_since(tmp_path: Path) -> None:
    with History(tmp_path / "h.db", write=True) as history:
        history.save(at(with_facts("box"), 0))
        for day in (1, 2, 3):
            seen = at(with_facts("box"), day)
            history.save(replace(seen, results=(replace(seen.results[0], facts=None),)))
        history.prune(Retention(most=1), NOW)
        assert left(history) == ["01", "04"]


def test_the_last_change_of_a_target_stays(tmp_path: Path) -> None:
    with History(tmp_path / "h.db", write=True) as history:
        acted = Acted("one", (Step("env.file", "create", "create ~/.env"),), 1)
        changed = replace(at(of("one"), 0), results=(), command="apply")
        history.save(changed, Beside(who="me", host="desk", acted=(acted,)))
        history.save(at(of("one"), 1))
        history.save(at(of("one"), 2))
        history.prune(Retention(most=1), NOW)
        assert left(history) == ["01", "03"]
        assert history.beside("2026-09-01").acted == (acted,)


def test_who_reads_sees_all_of_a_run_that_is_let_go_meanwhile(history: History) -> None:
    with History(history.path) as reading:
        oldest = reading.resolve("last~9")
        history.prune(Retention(most=1), NOW)
        assert left(history) == ["03", "10"]
        assert reading.load(oldest).findings[0].message == "on one"
        assert len(reading.runs()) == 10
    with History(history.path) as reading:
        assert len(reading.runs()) == 2


def test_a_number_that_means_another_now_is_read_anew(tmp_path: Path) -> None:
    """SQLite gives the numbers of what went last to what comes next."""

    def noted(day: int, note: str) -> Run:
        return at(with_facts(nonce=f"{day}" * 32, note=note * 60), day, note)

    def note(history: History, name: str) -> str | None:
        facts = history.load(name).results[0].facts
        assert facts is not None
        return facts.launches["bash -lc"].variables["NOTE"].value

    with History(tmp_path / "h.db", write=True) as one, History(one.path, write=True) as other:
        one.save(noted(5, "new"))
        one.save(noted(0, "old"))  # began earlier, ended later: its numbers are the last
        assert note(one, "old") == "old" * 60
        other.prune(Retention(most=1), NOW)
        other.save(noted(6, "put"))
        assert note(one, "put") == "put" * 60
        one.save(noted(7, "end"))
        assert [note(other, name) for name in ("new", "put", "end")] == [
            *("new" * 60, "put" * 60, "end" * 60)
        ]
