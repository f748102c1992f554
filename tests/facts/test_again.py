"""What was told before, and what is told now."""

from datetime import timedelta

from support.probing import NONCE, NOON

from fleet.facts.again import TOLD_AGAIN, asked_again, joined, stays
from fleet.facts.model import Facts, Platform
from fleet.facts.paths import PathFact, State
from fleet.facts.request import LaunchQuestion, PathQuestion, Request

PATH = PathFact(path="/a", absolute="/a", state=State.ABSENT)


def facts(**told: object) -> Facts:
    return Facts.model_validate(
        {
            "target": "box",
            "address": "box",
            "kind": "host",
            "taken_at": NOON,
            "nonce": NONCE,
            "platform": Platform(os="Linux", machine="x86_64", home="/root", rule="HOME"),
            **told,
        }
    )


def test_what_runs_is_of_now_and_what_lies_there_of_before() -> None:
    later = NOON + timedelta(minutes=5)
    before = facts(
        paths={"/a": PATH},
        contents={},
        crontab=1,
        unseen={"listeners": "hidden", "launches": "none"},
    )
    now = facts(taken_at=later, crontab=2, listeners=(), unseen={"processes": "hidden"})
    found = joined(before, now)
    assert found.paths == {"/a": PATH}
    assert (found.taken_at, found.crontab, found.listeners) == (later, 2, ())
    assert found.unseen == {"launches": "none", "processes": "hidden"}


def test_of_a_request_what_runs_is_asked_again() -> None:
    asked = Request(
        NONCE,
        paths=(PathQuestion("/a"),),
        launches=(LaunchQuestion("bash -lc"),),
        listeners=True,
        known=frozenset({"a" * 64}),
    )
    assert asked_again(asked) == Request(NONCE, listeners=True)


def test_each_part_of_the_facts_is_told_by_one_of_both() -> None:
    """A new part has to be put on one side, or it would be that of before for ever."""
    same = {"format", "target", "address", "kind", "nonce"}
    once = {"paths", "launches", "contents"}
    told_elsewhere = {"container", "image", "endpoints", "deep", "scan"}
    assert set(Facts.model_fields) == {
        *same,
        *once,
        *told_elsewhere,
        *TOLD_AGAIN,
        "unseen",
    }


def test_that_it_stays_is_a_line_of_its_question() -> None:
    assert stays(NONCE) == f"@stays\t{NONCE}\n".encode()
