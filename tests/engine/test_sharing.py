"""Saved facts of very many targets are judged by several processes, and it makes no difference."""

import os
import signal
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from support.saved_fleet import targets, write_fleet

import fleet.engine.audit
from fleet.engine import recorded, sharing
from fleet.engine.audit import audit
from fleet.engine.context import Context, load_context
from fleet.engine.kept import Keeper
from fleet.engine.options import AuditOptions
from fleet.errors import PlanError
from fleet.inventory.model import Target
from fleet.systems.model import System
from fleet.systems.resolve import Resolved
from fleet.verifier.fleetwide.member import Member
from fleet.verifier.fleetwide.table import Table, tables
from fleet.verifier.run import Run

HOSTS = 12


@pytest.fixture
def inventory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fleet that takes four forks' shares."""
    monkeypatch.setattr(sharing, "SHARE", 3)
    monkeypatch.setattr(sharing, "_processors", lambda: 2)
    return write_fleet(tmp_path, HOSTS)


def judged(inventory: Path, keeper: Keeper | None = None) -> Run:
    context = load_context(inventory)
    options = AuditOptions(from_dir=inventory.parent / "facts", lean=True)
    run = audit(targets(context), context, options, keeper=keeper)
    return replace(run, id="", started=run.finished, finished=run.finished)


def same(one: Run, other: Run) -> bool:
    return replace(one, started=other.started, finished=other.finished) == other


def shared(inventory: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setattr(fleet.engine.audit, "MANY", HOSTS)
    return judged(inventory)


def test_forks_find_what_one_process_finds(
    inventory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = judged(inventory)
    together = shared(inventory, monkeypatch)
    assert same(together, alone)
    pids = _pids(inventory, monkeypatch)
    assert len(pids) == 3, "this process for the first share, and two forks"


def test_what_is_kept_is_the_same(inventory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alone, together = (Keeper(load_context(inventory)) for _ in range(2))
    judged(inventory, alone)
    monkeypatch.setattr(fleet.engine.audit, "MANY", HOSTS)
    judged(inventory, together)
    assert alone.laid
    assert (together.laid, together.pieces) == (alone.laid, alone.pieces)


def _pids(inventory: Path, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Return who reads facts, each of which leaves a file with its number."""
    folder = inventory.parent / "pids"
    folder.mkdir()
    real = recorded._read

    def reading(target: Target, *rest: object) -> object:
        (folder / str(os.getpid())).touch()
        return real(target, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(recorded, "_read", reading)
    judged(inventory)
    monkeypatch.setattr(recorded, "_read", real)
    return {file.name for file in folder.iterdir()}


def test_what_both_sides_have_is_not_copied(
    inventory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[tuple[Resolved, ...]] = []

    def looking(members: Sequence[Member], all_of_them: Sequence[Target]) -> tuple[Table, ...]:
        made.extend(m.resolved for m in members)
        return tables(members, all_of_them)

    monkeypatch.setattr("fleet.engine.audit.tables", looking)
    shared(inventory, monkeypatch)
    systems: dict[str, set[int]] = {}
    for resolved in made:
        for one in resolved:
            assert isinstance(one.system, System)
            systems.setdefault(one.system.system, set()).add(id(one.system))
    assert systems
    assert {len(ids) for ids in systems.values()} == {1}


@pytest.mark.parametrize("times", [1, 2, 9])
def test_a_fork_that_is_killed_loses_nothing(
    inventory: Path, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    alone, here, real = judged(inventory), os.getpid(), recorded._read
    counter = inventory.parent / "killed"
    counter.write_bytes(b"")

    def reading(target: Target, *rest: object) -> object:
        if os.getpid() != here and counter.stat().st_size < times:
            with counter.open("ab") as file:
                file.write(b".")
            os.kill(os.getpid(), signal.SIGKILL)
        return real(target, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(recorded, "_read", reading)
    assert same(shared(inventory, monkeypatch), alone)
    assert counter.stat().st_size


def test_an_error_in_a_fork_is_the_one_that_it_would_be_here(
    inventory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = os.getpid()

    def refusing(*_: object) -> tuple[Resolved, ...]:
        if os.getpid() == here:
            return ()
        raise PlanError("the variable x is not defined", where="host-7")

    monkeypatch.setattr(recorded, "resolve", refusing)
    monkeypatch.setattr(Context, "systems", lambda *_: ())
    with pytest.raises(PlanError) as caught:
        shared(inventory, monkeypatch)
    assert (caught.value.what, caught.value.where) == ("the variable x is not defined", "host-7")
