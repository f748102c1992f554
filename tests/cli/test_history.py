"""``fleet history``, ``fleet diff``, and what the other commands leave in them."""

import json
import os
import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from support import planned
from support.cli import FakeEngine, invoke
from support.crafted import craft, finding, result, run
from support.nights import at, night, with_facts

from fleet.errors import Unreachable
from fleet.history.model import Beside, Piece
from fleet.history.store import History
from fleet.verifier.model import Verdict
from fleet.verifier.run import Run


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Name a history of its own."""
    monkeypatch.setenv("FLEET_HISTORY", str(tmp_path / "h.db"))
    return tmp_path / "h.db"


def kept(place: Path, *runs: Run, beside: Sequence[Beside] = ()) -> None:
    with History(place, write=True) as history:
        for number, run in enumerate(runs):
            history.save(run, beside[number] if beside else Beside("me", "desk"))


def told(*words: str) -> Any:
    result = invoke(*words, "--format", "json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.mark.parametrize("words", [("audit",), ("check", "ssh://box", "--system", "env")])
def test_a_run_is_kept_with_who_and_where_from(words: tuple[str, ...]) -> None:
    result = invoke(*words, engine=FakeEngine(craft("mixed")))
    assert (result.exit_code, result.stderr) == (2, "")
    (run,) = told("history")["runs"]
    assert (run["command"], run["code"], run["targets"]) == (words[0], 2, 6)
    assert run["who"]
    assert run["host"] == os.uname().nodename
    assert run["reason"] == "4 required gates failed on 4 targets"


@pytest.mark.parametrize("command", ["apply", "uninstall"])
def test_what_was_changed_is_kept(command: str) -> None:
    invoke(command, "--yes")
    (run,) = told("history")["runs"]
    assert (run["command"], run["targets"]) == (command, 0)
    assert run["changed"] > 0
    shown = told("history", "show")
    assert shown["actions"]
    assert any(action["steps"] for action in shown["actions"])
    assert "diff" not in json.dumps(shown["actions"])


def test_provision_keeps_what_it_changed_and_what_it_found() -> None:
    invoke("provision", "--yes")
    (run,) = told("history")["runs"]
    assert run["command"] == "provision"
    assert run["targets"]
    assert run["changed"]


def test_a_playbook_is_one_run(here: Path) -> None:
    class Playing(FakeEngine):
        def is_playbook(self, path_or_name: str) -> bool:
            return True

    invoke(
        "provision",
        "provision-pi",
        "--yes",
        engine=Playing(run_of=replace(craft("healthy"), command="provision")),
    )
    (run,) = told("history")["runs"]
    assert run["command"] == "provision"
    assert run["changed"]


def test_nothing_is_kept_where_nobody_agreed() -> None:
    refused = invoke("apply", stdin="n\n")
    assert refused.exit_code != 0
    assert invoke("history").exit_code == 1


def test_no_history_keeps_none(place: Path) -> None:
    assert invoke("audit", "--no-history").exit_code == 0
    assert not place.exists()


def test_the_file_that_is_named_is_taken(here: Path, place: Path) -> None:
    invoke("audit", "--history", "mine.db")
    assert (here / "mine.db").exists()
    assert not place.exists()
    assert len(told("history", "--history", "mine.db")["runs"]) == 1
    assert told("history", "--history", "mine.db", "show")["run"]["command"] == "audit"


def full(place: Path) -> None:
    """Stand a folder where the file should be."""
    place.mkdir()


def damaged(place: Path) -> None:
    place.write_text("no database at all, but long enough to look like something\n" * 40)


def newer(place: Path) -> None:
    kept(place)
    with sqlite3.connect(place) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()


def locked(place: Path) -> None:
    kept(place)
    connection = sqlite3.connect(place, isolation_level=None)
    connection.execute("BEGIN EXCLUSIVE")
    HELD.append(connection)


def nowhere(place: Path) -> None:
    place.symlink_to("/proc/nowhere/h.db")


HELD: list[sqlite3.Connection] = []


@pytest.mark.parametrize("spoil", [full, damaged, newer, locked, nowhere])
@pytest.mark.parametrize("run, code", [("healthy", 0), ("mixed", 2), ("silent", 3)])
def test_a_history_that_cannot_be_written_is_told_and_changes_no_exit_code(
    spoil: Any, run: str, code: int, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fleet.history.database.PATIENCE", 0.2)
    spoil(place)
    result = invoke("audit", "--format", "json", engine=FakeEngine(craft(run)))
    assert result.exit_code == code
    assert json.loads(result.stdout)["format"] == "fleet.run/1"
    assert result.stderr.startswith("warning: this run is not kept: ")
    assert str(place) in result.stderr
    assert "--no-history" in result.stderr
    while HELD:
        HELD.pop().close()


def test_the_list_tells_what_decided(place: Path) -> None:
    now = datetime.now(UTC)
    run = replace(craft("mixed"), started=now - timedelta(days=3), finished=now)
    kept(place, run)
    text = invoke("history").stdout
    assert "6 targets, 4 required failed" in text
    assert " 3d " in text


def test_a_run_is_shown_as_it_was_reported(place: Path) -> None:
    kept(place, craft("mixed"))
    shown = invoke("history", "show", "last").stdout
    reported = invoke("audit", "--no-history", engine=FakeEngine(craft("mixed"))).stdout
    assert shown.endswith(reported)
    assert "me@desk" in shown
    assert told("history", "show")["report"]["summary"]["conclusion"]["code"] == 2


def test_since_tells_first_failure_last_pass_and_what_differed(place: Path) -> None:
    good = at(with_facts(note="old"), 0)
    bad = at(with_facts(nonce="b" * 32, note="new"), 1)
    finding = bad.results[0].findings[0]._replace(verdict=Verdict.FAIL)
    bad = replace(bad, results=(replace(bad.results[0], findings=(finding,)),))
    kept(place, good, bad, at(bad, 1, "2026-09-03T08"))
    text = invoke("history", "since", "bridge.feed", "box").stdout
    assert "since      2026-09-02 08:00 UTC (run 2026-09-02T08)" in text
    assert "last pass  2026-09-01 08:00 UTC (run 2026-09-01T08)" in text
    assert "launches bash -lc variables NOTE value: old -> new" in text
    assert "TOKEN" not in text  # its digest is another in every run
    found = told("history", "since", "bridge.feed", "box")
    assert (found["first"]["run"], found["passed"]["run"]) == ("2026-09-02T08", "2026-09-01T08")
    assert [c["place"][-1] for c in found["facts"]] == ["value"]


def test_since_looks_behind_the_nights_on_which_a_target_was_not_reached(place: Path) -> None:
    good, bad = at(with_facts(note="old"), 0), with_facts(nonce="b" * 32, note="new")
    told_bad = bad.results[0].findings[0]._replace(verdict=Verdict.FAIL)
    bad = replace(bad, results=(replace(bad.results[0], findings=(told_bad,)),))
    away = night(2, Verdict.UNREACHABLE)
    silent = replace(away, results=(replace(away.results[0], facts=None),))
    kept(place, good, at(bad, 1), silent)
    text = invoke("history", "since", "bridge.feed", "box").stdout
    assert "bridge.feed on box: unreachable" in text
    assert "first failure  2026-09-02 08:00 UTC (run 2026-09-02T08)" in text
    assert "launches bash -lc variables NOTE value: old -> new" in text
    found = told("history", "since", "bridge.feed", "box")
    assert (found["first"]["run"], found["failed"]["run"]) == ("2026-09-03T08", "2026-09-02T08")


@pytest.mark.parametrize(
    "words, message",
    [
        (("history", "show", "nonesuch"), "there is no run nonesuch"),
        (("history", "since", "bridge.feet", "box"), "did you mean `bridge.feed`?"),
        (("history", "since", "bridge.feed", "bok"), "did you mean `box`?"),
        (("history", "prune"), "nothing says which runs may go"),
        (("history", "prune", "--older", "yesterday"), "is no span of time"),
        (("diff", "last"), "it takes two runs"),
        (("diff", "last", "last~1", "--since", "24h"), "not both"),
        (("diff", "--since", "0h"), "is no span of time"),
        (("audit", "--from", "history:"), "names no run"),
        (("audit", "--from", "history:nonesuch"), "there is no run nonesuch"),
    ],
)
def test_wrong_words_are_told(words: tuple[str, ...], message: str, place: Path) -> None:
    kept(place, night(0, Verdict.PASS))
    result = invoke(*words)
    assert result.exit_code == 1
    assert message in result.stderr
    assert result.stderr.startswith("error: ")


def test_what_changed_between_two_runs(place: Path) -> None:
    old = Piece("mempalace-bridge.bridge", "present", "/b.ts", "a" * 64, "1" * 40, "2026-08-10")
    new = replace(old, content="b" * 64, commit="2" * 40, date="2026-08-25")
    same = Piece("env.file", "present", "/e", "c" * 64)
    kept(
        place,
        night(0, Verdict.FAIL),
        night(1, Verdict.PASS),
        beside=[Beside(pieces={"box": (old, same)}), Beside(pieces={"box": (new, same)})],
    )
    text = invoke("diff", "last~1", "last").stdout
    assert "bridge.feed (required): fail -> pass" in text
    assert "1111111 of 2026-08-10 -> 2222222 of 2026-08-25" in text
    assert "env.file" not in text
    found = told("diff")
    assert [(c["before"], c["after"], c["worse"]) for c in found["verdicts"]] == [
        ("fail", "pass", False)
    ]
    assert found["artifacts"][0]["after"]["commit"] == "2" * 40


def test_targets_that_came_and_went(place: Path) -> None:
    kept(place, night(0, Verdict.PASS, target="old"), night(1, Verdict.PASS, target="new"))
    found = told("diff")["targets"]
    assert (found["came"], found["went"]) == (["new"], ["old"])
    text = invoke("diff").stdout
    assert "came: new" in text
    assert "not looked at any more: old" in text


def test_an_audit_is_held_against_the_audit_before_it(place: Path) -> None:
    kept(
        place,
        night(0, Verdict.FAIL),
        replace(night(1, Verdict.PASS, target="other"), command="check"),
        night(2, Verdict.PASS),
    )
    found = told("diff")
    assert (found["before"], found["after"]) == ("2026-09-01T08", "2026-09-03T08")
    assert found["targets"]["came"] == []
    last = replace(night(3, Verdict.PASS, target="other"), command="drift")
    kept(place, last)
    assert told("diff")["before"] == "2026-09-03T08"


def away(day: int, *names: str) -> Run:
    """Return a night on which targets were not reached: no gate of theirs was judged."""
    gates = ("bridge.placed", "bridge.feed", "env.file")
    return at(
        run(
            *(
                result(
                    name,
                    *(
                        finding(name, g, Verdict.UNREACHABLE, "no route", required=True)
                        for g in gates
                    ),
                    trouble=Unreachable("no route", stage="connect"),
                )
                for name in names
            )
        ),
        day,
    )


def seen(day: int, *names: str, feed: Verdict) -> Run:
    """Return a night on which all but one gate of targets hold."""
    verdicts = {"bridge.placed": Verdict.PASS, "bridge.feed": feed, "env.file": Verdict.PASS}
    return at(
        run(
            *(
                result(
                    name, *(finding(name, g, v, "told", required=True) for g, v in verdicts.items())
                )
                for name in names
            )
        ),
        day,
    )


def test_a_target_that_does_not_answer_is_told_once_and_not_gate_by_gate(place: Path) -> None:
    kept(place, seen(0, "box", feed=Verdict.PASS), away(1, "box"))
    text = invoke("diff").stdout
    assert "do not answer any more: box" in text
    assert "bridge." not in text
    assert "0 verdicts changed" in text
    assert "3 were asked or seen in one of the two only" in " ".join(text.split())
    assert "env.file (required): pass -> unreachable" in invoke("diff", "--verbose").stdout
    assert len(told("diff")["verdicts"]) == 3


def test_of_a_target_that_answers_again_only_what_fails_is_told(place: Path) -> None:
    kept(place, away(0, "box"), seen(1, "box", feed=Verdict.FAIL))
    text = invoke("diff").stdout
    assert "answer again: box" in text
    assert "bridge.feed (required): unreachable -> fail" in text
    assert "bridge.placed" not in text
    assert "1 verdict changed, 0 for the worse" in text


def test_since_a_time_each_target_counts_by_its_last_look(place: Path) -> None:
    now = datetime.now(UTC)

    def seen(hours: int, verdict: Verdict, target: str) -> Run:
        run = night(0, verdict, target=target)
        when = now - timedelta(hours=hours)
        facts = run.results[0].facts
        assert facts is not None
        facts = facts.model_copy(update={"taken_at": when})
        results = (replace(run.results[0], facts=facts),)
        return replace(run, id=f"{hours}-{target}", started=when, results=results)

    kept(
        place,
        seen(40, Verdict.PASS, "one"),
        seen(30, Verdict.PASS, "two"),
        seen(20, Verdict.PASS, "two"),
        seen(10, Verdict.FAIL, "one"),
    )
    found = told("diff", "--since", "24h")
    assert [(c["target"], c["after"]) for c in found["verdicts"]] == [("one", "fail")]
    assert found["targets"] == {"came": [], "went": [], "lost": [], "found": []}
    assert invoke("diff", "--since", "5h").exit_code == 1
    assert invoke("diff", "--since", "90d").exit_code == 1


def test_old_facts_reach_the_engine_and_are_not_kept_again(place: Path) -> None:
    kept(place, at(with_facts("laptop"), 0))
    engine = FakeEngine()
    assert invoke("audit", "--from", "history:last", engine=engine).exit_code == 0
    options = engine.asked[-1][2]
    assert options.offline
    assert list(options.facts) == ["laptop"]
    assert len(told("history")["runs"]) == 1


def test_pruning_says_what_went(place: Path) -> None:
    kept(place, *(night(day, Verdict.PASS) for day in range(5)))
    assert "3 runs would go" in invoke("history", "prune", "--keep", "2", "--dry-run").stdout
    assert len(told("history")["runs"]) == 5
    assert told("history", "prune", "--older", "1d")["gone"][0] == "2026-09-01T08"
    assert [run["id"] for run in told("history")["runs"]] == ["2026-09-05T08"]


def test_a_target_that_was_not_changed_keeps_its_reason(place: Path) -> None:
    came = planned.applied()
    invoke("apply", "--yes", engine=FakeEngine(came=came))
    troubled = [a for a in told("history", "show")["actions"] if a["trouble"]]
    assert len(troubled) == sum(a.trouble is not None for a in came)
