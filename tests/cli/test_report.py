"""``fleet report``: a run of the history in any form, and what the page tells of the past."""

import json
import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from support.cli import FakeEngine, invoke
from support.crafted import craft, unreachable
from support.nights import at, night, with_facts

from fleet.engine.past import past
from fleet.history.store import History
from fleet.reports.formats import FORMATS, TIMED
from fleet.reports.matrix import Mark
from fleet.verifier.model import Verdict
from fleet.verifier.run import Run


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Name a history of its own."""
    monkeypatch.setenv("FLEET_HISTORY", str(tmp_path / "h.db"))
    return tmp_path / "h.db"


def keep(place: Path, *runs: Run) -> None:
    with History(place, write=True) as history:
        for run in runs:
            history.save(run)


def failing(run: Run, day: int) -> Run:
    """Return a run as of a later day, whose one gate fails."""
    result = run.results[0]
    failed = result.findings[0]._replace(verdict=Verdict.FAIL, required=True)
    return at(replace(run, results=(replace(result, findings=(failed,)),)), day)


def data(page: Path) -> dict[str, Any]:
    found = re.search(r'id="data">(.*?)</script>', page.read_text("utf-8"), re.DOTALL)
    assert found
    return cast("dict[str, Any]", json.loads(found[1]))


@pytest.mark.parametrize("form", FORMATS)
def test_every_form_of_a_kept_run_is_as_it_was(place: Path, form: str) -> None:
    live = invoke("audit", "--no-history", "--format", form, engine=FakeEngine(craft("mixed")))
    keep(place, craft("mixed"))
    again = invoke("report", "--format", form)
    assert again.exit_code == live.exit_code == 2, again.output
    if form not in TIMED:
        assert again.stdout == live.stdout


def test_the_page_of_a_run_tells_what_the_runs_before_it_said(place: Path, here: Path) -> None:
    verdicts = [Verdict.PASS, Verdict.PASS, Verdict.FAIL, Verdict.FAIL, Verdict.PASS]
    keep(place, *(night(day, verdict) for day, verdict in enumerate(verdicts)))
    ended = invoke("report", "last~1", "--format", "html", "-o", "out.html")
    assert ended.exit_code == 2, ended.output
    assert "report written to out.html" in ended.stdout
    text = (here / "out.html").read_text("utf-8")
    assert "the last 4 runs, oldest first: 2 FAIL, 2 pass" in text
    (target,) = data(here / "out.html")["targets"]
    assert target["b"]["0"]["since"] == "2026-09-03 08:00 UTC"
    assert target["b"]["0"]["held"] == "2026-09-02 08:00 UTC"
    assert [mark for _, mark in target["l"]] == [1, 1, 8, 8]


def test_what_differed_since_it_held_is_told(place: Path) -> None:
    first, later = with_facts(note="old"), with_facts(note="new")
    keep(place, at(first, 0), failing(later, 1), failing(later, 2))
    with History(place) as history:
        known = past(history, history.load("last"))
    before = known.before["box", "bridge.feed"]
    assert not before.older
    told = [line for line in before.differed if "NOTE" in line]
    assert "started" not in before.differed[0]
    assert told == ["launches bash -lc variables NOTE value: old -> new"]
    assert before.since is not None
    assert before.since.day == first.started.day + 1


def test_the_page_tells_the_first_failure_behind_a_night_without_the_target(
    place: Path, here: Path
) -> None:
    verdicts = [Verdict.PASS, Verdict.FAIL, Verdict.UNREACHABLE, Verdict.FAIL]
    keep(place, *(night(day, verdict) for day, verdict in enumerate(verdicts)))
    invoke("report", "last", "--format", "html", "-o", "out.html")
    before = data(here / "out.html")["targets"][0]["b"]["0"]
    assert (before["since"], before["broke"], before["held"]) == (
        "2026-09-04 08:00 UTC",
        "2026-09-02 08:00 UTC",
        "2026-09-01 08:00 UTC",
    )


def test_a_failure_in_every_run_that_is_kept_may_be_older(place: Path) -> None:
    keep(place, night(0, Verdict.FAIL), night(1, Verdict.FAIL))
    with History(place) as history:
        known = past(history, history.load("last"))
    assert known.before["box", "bridge.feed"].older
    assert known.before["box", "bridge.feed"].last_pass is None


def test_a_target_that_was_not_reached_has_its_place_in_the_strip(place: Path) -> None:
    attic = replace(craft("silent"), results=(unreachable("attic"),))
    keep(place, at(attic, 0))
    with History(place) as history:
        known = past(history, history.load("last"))
    assert [then.mark for then in known.strips["attic"]] == [Mark.UNREACHABLE]


def test_an_audit_that_is_kept_shows_time_at_once(place: Path, here: Path) -> None:
    one = craft("healthy")
    keep(place, replace(one, id="before", started=one.started - timedelta(days=1)))
    invoke("audit", "--format", "html:out.html", engine=FakeEngine(one))
    assert "the last 2 runs, oldest first: 2 pass" in (here / "out.html").read_text("utf-8")
    invoke("audit", "--no-history", "--format", "html:out.html", engine=FakeEngine(one))
    assert "oldest first" not in (here / "out.html").read_text("utf-8")


def test_what_judged_nothing_and_what_is_not_kept_are_errors(place: Path) -> None:
    none = invoke("report")
    assert (none.exit_code, none.stdout) == (1, "")
    assert "there is no history yet" in none.stderr
    keep(place, replace(craft("healthy"), results=()))
    nothing = invoke("report", "--format", "html")
    assert nothing.exit_code == 1
    assert "judged nothing" in nothing.stderr
    other = invoke("report", "nosuch")
    assert other.exit_code == 1
    assert "there is no run nosuch" in other.stderr
