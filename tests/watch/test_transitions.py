"""What came to stay is told once; what flaps is not."""

from dataclasses import replace
from datetime import timedelta

import pytest
from support.crafted import START, finding, result, run

from fleet.errors import Unreachable
from fleet.verifier.model import Verdict
from fleet.verifier.run import Run
from fleet.watch.transitions import Held, Key, Mood, Transition, looked, step, told_text

HOLD = timedelta(minutes=10)
P, F, N, W = Verdict.PASS, Verdict.FAIL, Verdict.NOT_CHECKED, Verdict.WAIVED
U = Verdict.UNREACHABLE


def of(verdict: Verdict, *, required: bool = True) -> Run:
    trouble = Unreachable("no route", stage="connect") if verdict is U else None
    told = finding("box", "bridge.feed", verdict, "told", required=required, remedy="do this")
    return run(result("box", told, trouble=trouble))


def played(
    verdicts: list[Verdict], *, minutes: int = 5, hold: timedelta = HOLD
) -> list[tuple[int, str, Mood]]:
    """Return what is told at which look."""
    held: dict[Key, Held] = {}
    told = []
    for number, verdict in enumerate(verdicts):
        now = START + timedelta(minutes=minutes * number)
        held, found = step(held, looked(of(verdict)), now, hold, ["box"])
        told += [(number, one.gate, one.after) for one in found]
    return told


@pytest.mark.parametrize(
    "verdicts, told",
    [
        ([P, P, P], []),
        ([F, F, F, F], []),  # what was so at the start is no transition
        ([P, F, F, F, F], [(3, "bridge.feed", Mood.FAILS)]),
        ([P, F, P, F, P, F, P], []),  # flaps
        ([P, F, F, P, F, F, P], []),
        ([P, F, F, F, P, P, P], [(3, "bridge.feed", Mood.FAILS), (6, "bridge.feed", Mood.HOLDS)]),
        ([P, F, F, F, P, F, F, F], [(3, "bridge.feed", Mood.FAILS)]),
        ([P, N, N, N], [(3, "bridge.feed", Mood.UNSEEN)]),
        ([P, W, W, W], []),
        ([P, U, U, U, P, P, P], [(3, "", Mood.UNSEEN), (6, "", Mood.HOLDS)]),
        ([P, F, U, U, F, F], [(4, "bridge.feed", Mood.FAILS)]),
    ],
)
def test_what_is_told_and_when(verdicts: list[Verdict], told: list[tuple[int, str, Mood]]) -> None:
    assert played(verdicts) == told


def test_a_long_time_between_two_looks_is_not_enough() -> None:
    assert played([P, F], minutes=60) == []
    assert played([P, F, F], minutes=60) == [(2, "bridge.feed", Mood.FAILS)]


def test_without_a_hold_all_is_told_at_once() -> None:
    assert [number for number, _, _ in played([P, F, P], hold=timedelta())] == [1, 2]


def test_what_decides_is_told_and_nothing_else() -> None:
    assert ("box", "bridge.feed") not in looked(of(F, required=False))
    strict = replace(of(F, required=False), strict=True)
    assert looked(strict)["box", "bridge.feed"].mood is Mood.FAILS


def test_what_only_follows_is_not_told() -> None:
    told = finding("box", "bridge.feed", N, "follows", required=True, follows="bridge.placed")
    assert ("box", "bridge.feed") not in looked(run(result("box", told)))


def test_what_comes_into_sight_on_a_known_target_is_told_where_it_does_not_hold() -> None:
    held: dict[Key, Held] = {}
    told: list[Transition] = []
    blocked = finding("box", "bridge.feed", N, "follows", required=True, follows="bridge.placed")
    for number, gates in enumerate(
        (
            (finding("box", "bridge.placed", F, "gone", required=True), blocked),
            *(
                (
                    finding("box", "bridge.placed", P, "there", required=True),
                    finding("box", "bridge.feed", F, "cannot", required=True),
                    finding("box", "bridge.stamp", P, "can", required=True),
                ),
            )
            * 4,
        )
    ):
        now = START + timedelta(minutes=5 * number)
        held, found = step(held, looked(run(result("box", *gates))), now, HOLD, ["box"])
        told += found
    assert [(t.gate, t.after) for t in told] == [
        ("bridge.feed", Mood.FAILS),
        ("bridge.placed", Mood.HOLDS),
    ]


def test_who_is_watched_no_more_is_forgotten() -> None:
    held, _ = step({}, looked(of(P)), START, HOLD, ["box"])
    assert set(held) == {("box", ""), ("box", "bridge.feed")}
    held, told = step(held, {}, START, HOLD, ["other"])
    assert (held, told) == ({}, ())


def test_the_text_tells_what_since_when_and_what_to_do() -> None:
    many = [
        Transition("box", f"bridge.g{n}", Mood.HOLDS, Mood.FAILS, START, "is gone", "put it back")
        for n in range(5)
    ]
    back = Transition("attic", "", Mood.UNSEEN, Mood.HOLDS, START)
    title, text = told_text([*many, back], 2)
    assert title == "fleet: 5 worse, 1 better"
    assert text.splitlines() == [
        "box  bridge.g0  fails since 2026-09-01 08:00 UTC: is gone",
        "  put it back",
        "box  bridge.g1  fails since 2026-09-01 08:00 UTC: is gone",
        "  put it back",
        "and 4 more; `fleet audit` shows all",
    ]
    assert told_text([back], 2)[1] == "attic  answers again since 2026-09-01 08:00 UTC"
