"""What differs between two looks at a target, what matters before what changes anyhow."""

from datetime import timedelta

from support.nights import with_facts

from fleet.facts.model import Facts
from fleet.facts.paths import PathFact, State
from fleet.history.factdiff import MOST, fact_changes


def facts(note: str = "", nonce: str = "a" * 32) -> Facts:
    found = with_facts(nonce=nonce, note=note).results[0].facts
    assert found is not None
    return found


def files(count: int, mtime: int) -> Facts:
    paths = {
        f"~/{n:03}": PathFact(
            path=f"~/{n:03}", absolute=f"/home/me/{n:03}", state=State.PRESENT, mtime=mtime
        )
        for n in range(count)
    }
    return facts().model_copy(update={"paths": paths})


def test_what_is_new_each_time_by_nature_is_no_difference() -> None:
    later = facts(nonce="b" * 32)
    assert (
        fact_changes(facts(), later.model_copy(update={"taken_at": later.taken_at + timedelta(1)}))
        == ()
    )


def test_what_differs_is_told_by_its_place() -> None:
    (change,) = fact_changes(facts("old"), facts("new"))
    assert change.place == ("launches", "bash -lc", "variables", "NOTE", "value")
    assert (change.before, change.after) == ("old", "new")


def test_times_do_not_hide_what_was_changed() -> None:
    before, after = files(MOST + 50, 1), files(MOST + 50, 2)
    other = after.platform.model_copy(update={"machine": "aarch64"})  # its place is behind `paths`
    changes = fact_changes(before, after.model_copy(update={"platform": other}))
    assert len(changes) == MOST
    assert [change.place[-1] for change in changes[:2]] == ["machine", "mtime"]
