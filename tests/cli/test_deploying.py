"""``fleet plan``, ``apply``, ``uninstall``, ``provision``."""

import json
from typing import Any, Literal

import pytest
from support import planned
from support.cli import FakeEngine, invoke
from support.crafted import craft

from fleet.cli import deploying
from fleet.engine.options import DeployOptions
from fleet.errors import Place
from fleet.inventory.playbook import Play


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the command believe that a person can answer."""
    monkeypatch.setattr(deploying, "_attended", lambda: True)


def settled() -> list[planned.TargetPlan]:
    return [planned.TargetPlan(planned.target("laptop"), planned.plan("laptop", same=9))]


def test_a_plan_shows_and_changes_nothing() -> None:
    engine = FakeEngine()
    result = invoke("plan", engine=engine)
    assert result.exit_code == 2
    assert "laptop, desk: 1 to create, 1 to change, 1 to remove" in result.stdout
    assert engine.calls() == ["context", "plan"]


def test_a_plan_of_nothing_exits_0() -> None:
    result = invoke("plan", engine=FakeEngine(plans=settled()))
    assert result.exit_code == 0
    assert "laptop: nothing to change (9 as declared)" in result.stdout


def test_images_are_not_deployed_to() -> None:
    result = invoke("plan", engine=FakeEngine(plans=()))
    assert result.exit_code == 1
    assert "an image is rebuilt, not changed" in result.stderr


def test_a_plan_as_json() -> None:
    told = json.loads(invoke("plan", "--format", "json").stdout)
    assert told["format"] == "fleet.plans/1"
    assert told["conclusion"]["code"] == 2


def test_options_reach_the_planner() -> None:
    engine = FakeEngine()
    invoke("plan", "--adopt", "--prune", "-j", "2", "--timeout", "9", engine=engine)
    assert engine.asked[1][2] == DeployOptions(jobs=2, timeout=9.0, adopt=True, prune=True)


def test_without_a_diff() -> None:
    assert "@@" in invoke("plan").stdout
    assert "@@" not in invoke("plan", "--no-diff").stdout


@pytest.mark.parametrize("command", ["apply", "uninstall", "provision"])
def test_nothing_changes_where_nobody_can_agree(command: str) -> None:
    engine = FakeEngine()
    result = invoke(command, engine=engine)
    assert result.exit_code == 1
    assert "nobody is here to agree" in result.stderr
    assert "apply" not in engine.calls()


@pytest.mark.parametrize("command", ["apply", "uninstall", "provision"])
@pytest.mark.usefixtures("terminal")
def test_no_means_no(command: str) -> None:
    engine = FakeEngine()
    result = invoke(command, engine=engine, stdin="n\n")
    assert result.exit_code == 2
    assert "nothing was changed" in result.stderr
    assert "apply" not in engine.calls()


@pytest.mark.usefixtures("terminal")
def test_yes_changes_what_was_shown() -> None:
    engine = FakeEngine()
    result = invoke("apply", engine=engine, stdin="y\n")
    assert engine.asked[-1][:2] == ("apply", ("laptop", "desk", "tower"))
    assert "laptop   3 changes made" in result.stdout
    assert "desk   NOT CHANGED   no space left on device" in result.stdout
    assert result.exit_code == 2


@pytest.mark.usefixtures("terminal")
def test_an_answer_that_never_comes_changes_nothing() -> None:
    engine = FakeEngine()
    result = invoke("apply", engine=engine, stdin="")
    assert result.exit_code == 130
    assert "apply" not in engine.calls()


def test_apply_with_nothing_to_do_asks_nobody() -> None:
    engine = FakeEngine(plans=settled())
    assert invoke("apply", engine=engine).exit_code == 0
    assert "apply" not in engine.calls()


def test_apply_as_json_keeps_stdout_clean() -> None:
    result = invoke("apply", "--yes", "--format", "json")
    told = json.loads(result.stdout)
    assert told["targets"][2]["applied"]["changed"] == 3
    assert "1 to create" in result.stderr


def test_uninstall_plans_the_removal() -> None:
    engine = FakeEngine()
    invoke("uninstall", "--yes", "--limit", "laptop", engine=engine)
    assert engine.calls() == ["context", "uninstall", "apply"]
    assert engine.asked[1][1] == ("laptop",)


def test_provision_changes_and_then_looks_again() -> None:
    came = [planned.TargetApplied(planned.target("laptop"), 3)]
    engine = FakeEngine(plans=planned.fleet()[:2], came=came)
    result = invoke("provision", "--yes", engine=engine)
    assert engine.calls() == ["context", "plan", "apply", "audit"]
    assert engine.asked[-1][3] == "provision"
    assert result.exit_code == 0
    assert result.stdout.endswith("exit 0: all 3 required gates hold\n")


def test_provision_of_what_is_as_declared_still_verifies() -> None:
    engine = FakeEngine(craft("mixed"), plans=settled())
    assert invoke("provision", engine=engine).exit_code == 2
    assert engine.calls() == ["context", "plan", "audit"]


def test_a_change_that_was_not_made_is_never_a_success() -> None:
    engine = FakeEngine(craft("healthy"))
    result = invoke("provision", "--yes", engine=engine)
    assert result.exit_code == 2
    assert "changes were not made on 1 target" in result.stderr


def test_provision_as_json_is_one_document() -> None:
    told = json.loads(invoke("provision", "--yes", "--format", "json").stdout)
    assert told["format"] == "fleet.run/1"


def test_a_target_is_provisioned_by_its_name() -> None:
    engine = FakeEngine(plans=settled())
    assert invoke("provision", "desk", "--yes", engine=engine).exit_code == 0
    assert engine.asked[2][:2] == ("plan", ("desk",))


def test_a_target_that_is_named_twice_is_refused() -> None:
    result = invoke("provision", "desk", "--limit", "laptop")
    assert result.exit_code == 1
    assert "'desk' is no playbook, and which targets are meant is said by --limit" in result.stderr


def play(name: str, *, state: Literal["present", "absent", "observed"] = "present") -> Play:
    return Play(
        name=name,
        targets=("laptop", "desk"),
        variables={"palace_url": "https://palace.example.net/mcp"},
        serial=("1",),
        max_failures=0,
        systems=(),
        require=(),
        verify=True,
        state=state,
        place=Place("playbook.yml"),
    )


def test_a_playbook_is_carried_out_without_asking_twice() -> None:
    engine = FakeEngine(plays=[play("flip")], plans=settled(), came=())
    result = invoke("provision", "flip-to-remote", "--yes", "--limit", "desk", engine=engine)
    assert engine.calls() == ["context", "run"]
    assert engine.asked[1][1] == "flip-to-remote"
    assert engine.asked[1][2].limit == ("desk",)
    assert result.exit_code == 0
    assert result.stdout.endswith("exit 0: all 3 required gates hold\n")


@pytest.mark.usefixtures("terminal")
def test_a_playbook_shows_its_changes_under_its_own_variables_and_asks() -> None:
    engine = FakeEngine(plays=[play("flip"), play("look", state="observed")])
    result = invoke(
        "provision", "flip-to-remote", "--limit", "desk", "-e", "a=b", engine=engine, stdin="n\n"
    )
    assert engine.calls() == ["context", "context", "plan"]
    assert engine.asked[1][2] == {"palace_url": "https://palace.example.net/mcp", "a": "b"}
    assert engine.asked[2][1] == ("desk",)
    assert "laptop, desk: 1 to create" in result.stdout
    assert "nothing was changed" in result.stderr
    assert result.exit_code == 2


@pytest.mark.usefixtures("terminal")
def test_a_playbook_that_removes_is_previewed_as_a_removal() -> None:
    engine = FakeEngine(plays=[play("gone", state="absent")], plans=settled(), came=())
    assert invoke("provision", "uninstall", engine=engine).exit_code == 0
    assert engine.calls() == ["context", "context", "uninstall", "run"]


def test_a_playbook_that_stopped_is_no_success() -> None:
    engine = FakeEngine(plans=settled(), came=(), stopped="flip: desk failed")
    result = invoke("provision", "flip-to-remote", "--yes", engine=engine)
    assert result.exit_code == 2
    assert "stopped: flip: desk failed\n  not touched: vault\n" in result.stderr


def test_an_interrupted_apply_says_how_targets_are_left() -> None:
    class Interrupted(FakeEngine):
        def apply(self, plans: object, context: object, options: object, observer: object) -> Any:
            raise KeyboardInterrupt

    result = invoke("apply", "--yes", engine=Interrupted())
    assert result.exit_code == 130
    assert "undoes it" in result.stderr
    assert result.stderr.endswith("interrupted\n")
