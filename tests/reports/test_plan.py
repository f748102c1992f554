"""What a person and a program read of plans."""

import json
import os

import pytest
from rich.cells import cell_len
from support import planned
from support.places import CASES

from fleet.errors import PlanError
from fleet.reports.plan import (
    applied_text,
    conclude_applied,
    conclude_plans,
    plans_json,
    plans_text,
)
from fleet.reports.view import Detail, View

FOLDER = CASES / "reports"


def golden(name: str, text: str) -> None:
    file = FOLDER / f"{name}.txt"
    if os.environ.get("FLEET_WRITE_GOLDEN"):
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")


def test_plans_read_as_the_golden_file_says() -> None:
    golden("plan", plans_text(planned.fleet(), View()))


def test_plans_without_their_diff() -> None:
    golden("plan-no-diff", plans_text(planned.fleet(), View(), diff=False))


def test_what_applying_came_to() -> None:
    conclusion = conclude_applied(planned.fleet(), planned.applied())
    golden("applied", applied_text(planned.applied(), View(), conclusion))


@pytest.mark.parametrize("width", [40, 80])
def test_no_line_is_wider_than_the_screen(width: int) -> None:
    for line in plans_text(planned.fleet(), View(width=width)).splitlines():
        assert cell_len(line) <= width, line


def test_quiet_leaves_out_what_stays() -> None:
    text = plans_text(planned.fleet(), View(detail=Detail.QUIET))
    assert "vault" not in text
    assert "attic" in text
    assert "@@" not in text


def test_a_long_diff_is_cut_and_says_so() -> None:
    long = planned.env().model_copy(update={"diff": "\n".join(f"+line {n}" for n in range(100))})
    plans = [planned.TargetPlan(planned.target("laptop"), planned.plan("laptop", long))]
    assert "… 60 more lines (--verbose shows all)" in plans_text(plans, View())
    new = [
        planned.TargetPlan(
            planned.target("laptop"),
            planned.plan("laptop", long.model_copy(update={"change": "create"})),
        )
    ]
    assert "… 88 more lines (--verbose shows all)" in plans_text(new, View())
    assert "+line 99" in plans_text(plans, View(detail=Detail.VERBOSE))


def test_a_long_line_of_a_diff_is_cut_or_folded() -> None:
    long = planned.env().model_copy(update={"diff": "+" + "word " * 40})
    plans = [planned.TargetPlan(planned.target("laptop"), planned.plan("laptop", long))]
    assert plans_text(plans, View()).count("word") < 20
    assert "…" in plans_text(plans, View())
    assert plans_text(plans, View(detail=Detail.VERBOSE)).count("word") >= 38


def test_a_hostile_diff_is_neither_markup_nor_control() -> None:
    step = planned.env().model_copy(update={"diff": "+[red]\x1b[31m\n+a\rb"})
    plans = [planned.TargetPlan(planned.target("laptop"), planned.plan("laptop", step))]
    text = plans_text(plans, View())
    assert "+[red]\\x1b[31m" in text
    assert "\x1b" not in text + plans_json(plans)
    assert "\r" not in text


def test_exit_codes_of_plans() -> None:
    vault, laptop, _, tower, attic = planned.fleet()
    clash = planned.TargetPlan(
        planned.target("tower"), planned.plan("tower", conflicts=(planned.conflict(),))
    )
    assert conclude_plans([vault]).code == 0
    assert conclude_plans([vault, laptop]).code == 2
    assert conclude_plans([clash]).code == 2
    assert conclude_plans([vault, attic]).code == 3
    assert conclude_plans([laptop, attic]).code == 2
    wrong = planned.TargetPlan(planned.target("odd"), None, PlanError("palace_url is undefined"))
    assert conclude_plans([vault, attic, wrong]).code == 1
    assert conclude_plans([laptop, wrong]).code == 2
    assert conclude_plans([]).code == 3
    laptop_done, desk_failed, tower_done = planned.applied()
    assert conclude_applied([vault, laptop], [laptop_done]).code == 0
    assert conclude_applied([laptop], [desk_failed]).code == 2
    assert conclude_applied([tower], [tower_done]).code == 2
    assert conclude_applied([laptop, attic], [laptop_done]).code == 3
    assert conclude_applied([laptop, wrong], [laptop_done]).code == 1


def test_plans_as_json() -> None:
    told = json.loads(plans_json(planned.fleet(), planned.applied()))
    assert told["format"] == "fleet.plans/1"
    assert [t["name"] for t in told["targets"]] == ["attic", "desk", "laptop", "tower", "vault"]
    attic, desk, laptop, tower, vault = told["targets"]
    assert attic["trouble"]["what"] == "no answer in 30 s"
    assert desk["applied"]["trouble"]["where"] == "desk"
    assert laptop["applied"] == {"changed": 3, "trouble": None}
    assert [c["change"] for c in laptop["changes"]] == ["create", "change", "remove"]
    assert tower["conflicts"][0]["adoptable"]
    assert (vault["changes"], vault["unchanged"]) == ([], 7)
    assert told["conclusion"]["code"] == 2
