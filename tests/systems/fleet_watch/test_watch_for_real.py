"""A watch on a machine of its own, asked by the real probe: each way its gates end."""

import shlex
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from support.alone import alone
from support.case_homes import HUGE
from support.living import Living, let_others_see
from support.probing import Shell

from fleet.data import shipped
from fleet.inventory.model import Value
from fleet.inventory.render import render
from fleet.systems.catalogue import load_catalogue
from fleet.systems.resolve import resolve
from fleet.verifier.model import Finding, Verdict

PASS, FAIL, UNSEEN, ERROR = Verdict.PASS, Verdict.FAIL, Verdict.NOT_CHECKED, Verdict.ERROR
PROGRAM = Path(sys.prefix) / "bin/fleet"
TEMPLATE = "watch/fleet-watch.service.j2"
UNIT = ".config/systemd/user/fleet-watch.service"
ENV = ".config/fleet/watch.env"
TOLD = "hosts: {here: {local: , shell: bash -lc}}\n"


@dataclass
class Desk:
    """A home with a unit as fleet writes it, its inventory, and a file with secrets.

    Attributes:
        started: what runs there when it is looked at.
    """

    home: Path
    variables: dict[str, Value] = field(default_factory=lambda: {"fleet_bin": "~/bin/fleet"})
    started: str = ""

    def __post_init__(self) -> None:
        self.text = (shipped("templates") / TEMPLATE).read_text("utf-8")
        where = replace(self._living(Shell((), "")).declared(), variables=self.variables)
        (resolved,) = resolve([load_catalogue().system("fleet-watch")], where)
        self.write(UNIT, render(self.text, resolved.variables, where=UNIT))
        self.write("fleet/fleet.yml", TOLD)
        self.write("bin/fleet", PROGRAM.read_text()).chmod(0o755)
        self.write(ENV, "A_TOKEN=tok-EXAMPLE\n").chmod(0o600)

    def _living(self, shell: Shell) -> Living:
        return Living(self.home, shell, ("fleet-watch",))

    def write(self, name: str, text: str) -> Path:
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def watch(self) -> None:
        """Let the real watch run there."""
        program, inventory = str(self.home / "bin/fleet"), str(self.home / "fleet")
        words = [program, "watch", "-i", inventory, "--no-history", "--listen", "none"]
        env = [f"HOME={self.home}", "PATH=/usr/bin:/bin"]
        told = shlex.quote(str(self.home / "log"))
        run = shlex.join(["env", "-i", *env, *words])
        until = f"until [ -s {told} ]; do sleep 0.1; done"  # it says what its first round came to
        self.started = f"{run} >{told} 2>&1 &\n{until}"

    def findings(self, *, hidden: bool = False) -> dict[str, Finding]:
        there = self._living(alone(self.started, hidden=hidden))
        where = replace(there.declared(), variables=self.variables)
        return there.findings(where, templates={TEMPLATE: self.text})


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path / "home")


def judged(found: Mapping[str, Finding]) -> dict[str, Verdict]:
    return {gate.removeprefix("watch."): finding.verdict for gate, finding in found.items()}


def test_a_watch_that_runs_as_it_is_meant_holds(desk: Desk) -> None:
    desk.watch()
    found = desk.findings()
    assert judged(found) == dict.fromkeys(("units", "ground", "runs", "env"), PASS), found
    assert "tok-EXAMPLE" not in str(found)


def edited(desk: Desk) -> None:
    desk.write(UNIT, "[Unit]\n")


def too_large(desk: Desk) -> None:
    desk.write(UNIT, HUGE)


def without_a_program(desk: Desk) -> None:
    desk.variables["fleet_bin"] = "/nowhere/fleet"


def open_to_others(desk: Desk) -> None:
    (desk.home / ENV).chmod(0o640)


@pytest.mark.parametrize(
    ("arrange", "wanted"),
    [
        (edited, {"units": FAIL, "ground": PASS, "runs": UNSEEN}),
        (too_large, {"units": UNSEEN, "ground": PASS, "runs": UNSEEN}),
        (without_a_program, {"ground": FAIL, "runs": UNSEEN}),
        (open_to_others, {"env": FAIL, "runs": FAIL}),
    ],
)
def test_what_is_otherwise_is_told_by_its_gate(
    desk: Desk, arrange: Callable[[Desk], None], wanted: Mapping[str, Verdict]
) -> None:
    arrange(desk)
    found = desk.findings()
    assert {gate: judged(found)[gate] for gate in wanted} == wanted, found


def test_who_may_not_see_what_runs_is_not_told_that_nothing_does(desk: Desk) -> None:
    desk.watch()
    let_others_see(desk.home)
    found = desk.findings(hidden=True)
    assert judged(found) == {"units": PASS, "ground": PASS, "runs": UNSEEN, "env": PASS}, found
    assert found["watch.runs"].message == "processes of other users are hidden here"


def test_what_is_kept_from_who_asks_is_not_taken_for_missing(desk: Desk) -> None:
    desk.variables["fleet_bin"] = str(desk.write("own/fleet", "#!/bin/sh\n"))
    for folder in ("own", str(Path(ENV).parent)):
        (desk.home / folder).chmod(0o700)
    let_others_see(desk.home)
    found = judged(desk.findings(hidden=True))
    assert (found["ground"], found["env"]) == (ERROR, UNSEEN)
