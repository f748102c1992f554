"""The loop: what one round meets does not end it, and a restart forgets nothing."""

import contextlib
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families
from support.crafted import craft, finding, result, run

from fleet.errors import InventoryError, ProbeError
from fleet.verifier.model import Verdict
from fleet.verifier.run import Run
from fleet.watch.loop import Plan, Watch
from fleet.watch.memory import recalled
from fleet.watch.transitions import Mood, Transition


def of(verdict: Verdict) -> Run:
    return run(result("box", finding("box", "bridge.feed", verdict, "told", required=True)))


@dataclass
class Fleet:
    """Answers from a list; an exception in it is raised."""

    runs: list[Run | Exception]
    changes: list[bool] = field(default_factory=list)
    kept: list[Run] = field(default_factory=list)
    opened: int = 0
    refused: list[Exception] = field(default_factory=list)

    def changed(self) -> bool:
        return self.changes.pop(0) if self.changes else False

    def names(self) -> Iterable[str]:
        return ["box"]

    @contextlib.contextmanager
    def open(self) -> Iterator[None]:
        self.opened += 1
        yield

    def audit(self) -> Run:
        found = self.runs.pop(0)
        if isinstance(found, Exception):
            raise found
        return found

    def keep(self, run: Run) -> None:
        if self.refused:
            raise self.refused.pop(0)
        self.kept.append(run)


@dataclass
class Phone:
    """Hears, or is out of order."""

    name: str = "destination 1 (test)"
    broken: int = 0
    heard: list[tuple[str, Mood]] = field(default_factory=list)

    def tell(self, transitions: Sequence[Transition]) -> str:
        if self.broken:
            self.broken -= 1
            return "out of order"
        self.heard += [(t.gate, t.after) for t in transitions]
        return ""


def watch(
    fleet: Fleet, path: Path, *phones: Phone, rounds: int, lines: list[str] | None = None
) -> Watch:
    plan = Plan(0.0, timedelta(), path / "watch.json", rounds)
    said = lines if lines is not None else []
    return Watch(lambda: fleet, plan, phones, said.append, lambda _: None)


def value(made: Watch, name: str) -> float:
    for family in text_string_to_metric_families(made.metrics().text):
        for sample in family.samples:
            if sample.name == name:
                return sample.value
    raise AssertionError(name)


def test_every_round_is_kept_and_exposed(tmp_path: Path) -> None:
    fleet = Fleet([craft("healthy"), craft("mixed")])
    made = watch(fleet, tmp_path, rounds=2)
    assert value(made, "fleet_watch_rounds_total") == 0
    assert (made.health().status, "no audit ended yet" in made.health().text) == (200, True)
    made.run()
    assert len(fleet.kept) == 2
    assert value(made, "fleet_watch_rounds_total") == 2
    assert value(made, "fleet_run_exit_code") == 2
    assert (made.health().status, made.health().text) == (200, "ok, 2 rounds\n")


@pytest.mark.parametrize("error", [ProbeError("hostile"), OSError(5, "Input"), ValueError("bug")])
def test_what_one_round_meets_does_not_end_it(error: Exception, tmp_path: Path) -> None:
    lines: list[str] = []
    fleet = Fleet([error, of(Verdict.PASS)])
    made = watch(fleet, tmp_path, rounds=2, lines=lines)
    made.run()
    assert value(made, "fleet_watch_failed_rounds_total") == 1
    assert lines[0].startswith("this round could not be made: ")
    assert len(fleet.kept) == 1


@pytest.mark.parametrize("error", [OSError(28, "No space left"), ValueError("a bug, tok-EXAMPLE")])
def test_what_cannot_be_kept_does_not_end_it(error: Exception, tmp_path: Path) -> None:
    lines: list[str] = []
    fleet = Fleet([of(Verdict.PASS), of(Verdict.PASS)], refused=[error])
    made = watch(fleet, tmp_path, rounds=2, lines=lines)
    made.run()
    assert value(made, "fleet_watch_failed_rounds_total") == 1
    assert lines[0] == f"this round could not be kept and told: {type(error).__name__}"
    assert len(fleet.kept) == 1
    assert made.health().status == 200


def test_a_restart_neither_forgets_nor_repeats(tmp_path: Path) -> None:
    phone = Phone()
    for verdict in (Verdict.PASS, Verdict.FAIL, Verdict.FAIL, Verdict.PASS):
        watch(Fleet([of(verdict)]), tmp_path, phone, rounds=1).run()
    assert phone.heard == [("bridge.feed", Mood.FAILS), ("bridge.feed", Mood.HOLDS)]
    assert stat.S_IMODE((tmp_path / "watch.json").stat().st_mode) == 0o600


def test_who_could_not_be_told_is_told_later_also_after_a_restart(tmp_path: Path) -> None:
    deaf, well = Phone(broken=2), Phone(name="destination 2 (test)")
    for verdict in (Verdict.PASS, Verdict.FAIL, Verdict.FAIL, Verdict.FAIL):
        made = watch(Fleet([of(verdict)]), tmp_path, deaf, well, rounds=1)
        made.run()
    assert deaf.heard == [("bridge.feed", Mood.FAILS)]
    assert well.heard == [("bridge.feed", Mood.FAILS)]
    assert recalled(tmp_path / "watch.json")[0].owed == {}


def test_a_damaged_memory_begins_anew_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "watch.json").write_text('{"format": "fleet.watch/9"}')
    lines: list[str] = []
    phone = Phone()
    watch(Fleet([of(Verdict.FAIL)]), tmp_path, phone, rounds=1, lines=lines).run()
    assert "all begins anew" in lines[0]
    assert phone.heard == []


def test_a_broken_inventory_keeps_the_last_good_one(tmp_path: Path) -> None:
    good = Fleet([of(Verdict.PASS)] * 2, changes=[True])
    better = Fleet([of(Verdict.PASS)] * 2)
    loads: list[Fleet | Exception] = [good, InventoryError("no such key"), better]
    lines: list[str] = []

    def load() -> Fleet:
        found = loads.pop(0)
        if isinstance(found, Exception):
            raise found
        return found

    good.changes = [True, True]
    plan = Plan(0.0, timedelta(), tmp_path / "watch.json", 3)
    seen: list[float] = []

    def sleep(_: float) -> None:
        seen.append(value(made, "fleet_watch_inventory_loaded"))

    made = Watch(load, plan, (), lines.append, sleep)
    made.run()
    assert any("the inventory is broken, the last good one stays: no such key" in x for x in lines)
    assert "the inventory changed and is loaded anew" in lines
    assert (len(good.kept), len(better.kept)) == (2, 1)
    assert seen == [1, 0]


def test_a_watch_whose_rounds_all_fail_is_not_healthy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines: list[str] = []
    made = watch(Fleet([ValueError("hunter2")] * 5), tmp_path, rounds=5, lines=lines)
    began = made._began
    monkeypatch.setattr("fleet.watch.loop.time.monotonic", lambda: began + 1000)
    made.run()
    assert made.health().status == 503
    assert "5 rounds failed" in made.health().text
    assert "hunter2" not in "".join(lines)


def test_a_watch_that_hangs_is_not_healthy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = watch(Fleet([of(Verdict.PASS)]), tmp_path, rounds=1)
    made.run()
    assert made.health().status == 200
    ended = made._ended
    assert ended is not None
    monkeypatch.setattr("fleet.watch.loop.time.monotonic", lambda: ended + 121)
    assert made.health().status == 503
