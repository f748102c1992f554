"""The deep check of a machine with a real pi and the shipped toolkit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from support.deep import CANARY, Finding, Machine, carrying
from support.http import LoopbackServer, Reply, Request
from support.tools import pi_tool

from fleet import __version__
from fleet.demo.stage import snapshot

pytestmark = pytest.mark.network

GATES = ("loaded", "tools", "events", "wakeup", "feed", "stamp", "mailbox", "closed")


@dataclass(frozen=True, slots=True)
class Checked:
    """A healthy machine, looked at without --deep and with it."""

    machine: Machine
    plain: dict[str, Finding]
    deep: dict[str, Finding]
    before: object
    after: object
    left: list[str]
    heard: tuple[list[Request], list[Request]]


@pytest.fixture(scope="module", params=["1.6.0", "0.84.0"])
def checked(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Checked]:
    tool = pi_tool(request.param)
    folder = tmp_path_factory.mktemp("healthy")
    scratch = folder / "tmp"
    scratch.mkdir()
    with (
        LoopbackServer(lambda _: Reply(status=401)) as palace,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("TMPDIR", str(scratch))
        machine = Machine.healthy(folder, tool, f"{palace.url}/mcp")
        (machine.agent / "settings.json").write_text('{"theme": "dark"}')
        plain = machine.audit()
        first = list(palace.requests)
        palace.requests.clear()
        before = snapshot(machine.home)
        deep = machine.deep()
        after = snapshot(machine.home)
        left = [str(path) for path in scratch.rglob("*")]
        yield Checked(machine, plain, deep, before, after, left, (first, list(palace.requests)))


def test_every_deep_gate_holds_on_a_healthy_machine(checked: Checked) -> None:
    for name in GATES:
        assert checked.deep[f"deep.{name}"]["verdict"] == "pass", checked.deep[f"deep.{name}"]


def test_deep_gates_are_listed_only_when_they_were_asked(checked: Checked) -> None:
    assert {gate for gate in checked.deep if gate not in checked.plain} == {
        f"deep.{name}" for name in GATES
    }


def test_nothing_is_left_behind_and_nothing_is_changed(checked: Checked) -> None:
    assert checked.left == []
    assert carrying(str(checked.machine.home.parent)) == []
    assert checked.before == checked.after


def test_the_real_palace_is_not_asked_more_than_without(checked: Checked) -> None:
    without, within = checked.heard
    assert [r.path for r in without] == [r.path for r in within]
    assert {r.headers.get("user-agent") for r in within} == {f"fleet/{__version__}"}
    assert not [r for r in within if CANARY in str(r.headers)]
