"""An apply that was killed: the next command undoes it, and goes on to what it was asked for."""

from collections.abc import Callable
from datetime import datetime

import pytest
from support.homes import Homes

from fleet.demo.stage import snapshot
from fleet.engine import deploy
from fleet.engine.deploy import TargetApplied, TargetPlan, brought
from fleet.installers.content import Reveal
from fleet.installers.model import Plan
from fleet.installers.planning import plan as plan_target
from fleet.installers.program import program
from fleet.inventory.model import Address, Scheme, Target
from fleet.secrets import Secret

ALONE = ("--limit", "one")


@pytest.fixture
def killed(homes: Homes, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return what runs a command whose program kills itself before its last step."""

    def cut(plan: Plan, *, holder: str, since: datetime, reveal: Reveal) -> tuple[str, Secret]:
        library, payload = program(plan, holder=holder, since=since, reveal=reveal)
        head, last, tail = payload.reveal().rpartition("\ncommit\n")
        return library, Secret(f"{head}\nkill -9 $${last}{tail}")

    def run(*words: str) -> None:
        with monkeypatch.context() as patched:
            patched.setattr(deploy, "program", cut)
            code, _ = homes.run(*words)
        assert code == 2
        assert (homes.home("one") / ".local/state/fleet/journal").is_dir()

    return run


def deployed(homes: Homes) -> bool:
    return (homes.home("one") / ".config/pi/.env").exists()


@pytest.mark.parametrize("command", ["apply", "provision"])
def test_the_next_command_undoes_it_and_goes_on(
    homes: Homes, killed: Callable[..., None], command: str
) -> None:
    before = snapshot(homes.home("one"))
    killed("apply", "--yes", *ALONE)
    code, output = homes.run("plan", *ALONE)
    assert code == 2
    assert "an earlier run was cut off here" in output
    code, output = homes.run(command, "--yes", *ALONE)
    assert "one: the earlier run was undone; planning again" in output
    assert "one   5 changes made" in output
    assert deployed(homes)
    assert homes.run("plan", *ALONE)[0] == 0
    homes.run("uninstall", "--yes", *ALONE)
    assert snapshot(homes.home("one")) == before


def test_an_uninstall_after_it_takes_everything_away(
    homes: Homes, killed: Callable[..., None]
) -> None:
    before = snapshot(homes.home("one"))
    homes.run("apply", "--yes", *ALONE)
    killed("uninstall", "--yes", *ALONE)
    code, output = homes.run("uninstall", "--yes", *ALONE)
    assert (code, "5 changes made" in output) == (0, True), output
    assert snapshot(homes.home("one")) == before


def test_a_playbook_goes_on_too(homes: Homes, killed: Callable[..., None]) -> None:
    killed("apply", "--yes", *ALONE)
    homes.run("provision", "provision-pi", "--yes", *ALONE)
    assert deployed(homes)
    assert homes.run("plan", *ALONE)[0] == 0


def test_one_that_is_cut_again_and_again_is_no_success() -> None:
    target = Target("box", Address(Scheme.LOCAL, "/home/me"))
    asked: list[str] = []

    def make(targets: object) -> tuple[TargetPlan, ...]:
        asked.append("plan")
        return (TargetPlan(target, None),)

    plans, applied = brought((target,), make, lambda _: (TargetApplied(target, recovered=True),))
    assert asked == ["plan", "plan"]
    assert len(plans) == 1
    assert applied is not None
    assert not applied[0].ok
    assert "cut off there meanwhile" in str(applied[0].trouble)


def test_a_second_no_is_a_no() -> None:
    target = Target("box", Address(Scheme.LOCAL, "/home/me"))
    answers = iter([(TargetApplied(target, recovered=True),), None])
    _, applied = brought((target,), lambda _: (TargetPlan(target, None),), lambda _: next(answers))
    assert applied is None


def test_what_cannot_be_understood_keeps_one_target_from_its_plan_and_no_other(
    homes: Homes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def deep(*words: object, **named: object) -> Plan:
        facts = words[1]
        if getattr(facts, "target", "") == "two":
            raise RecursionError
        return plan_target(*words, **named)  # type: ignore[arg-type] # passed on as it came

    monkeypatch.setattr(deploy, "plan_target", deep)
    code, output = homes.run("plan", "--format", "json")
    assert code == 2
    assert "nested beyond reason" in output
    assert output.count('"key": "env.file"') == len(homes.names) - 1
