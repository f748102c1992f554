"""Playbooks: batches, and the gates that decide whether the next one starts."""

from pathlib import Path

import pytest
from support.homes import Homes

from fleet.data import shipped
from fleet.engine.playbook import load
from fleet.errors import InventoryError

SHIPPED = sorted(path.stem for path in shipped("playbooks").glob("*.yml"))


def book(homes: Homes, *lines: str) -> str:
    path = homes.folder / "book.yml"
    path.write_text("\n".join(["- name: roll out", *(f"  {line}" for line in lines)]) + "\n")
    return str(path)


def deployed(homes: Homes) -> set[str]:
    return {name for name in homes.names if (homes.home(name) / ".config/pi/.env").exists()}


def without_palace(homes: Homes) -> None:
    """Let the gates hold: the declared palace does not run, so none is declared."""
    lines = homes.inventory.read_text().splitlines(keepends=True)
    kept = [line for line in lines if "palace_" not in line]
    homes.inventory.write_text("".join(kept).replace("vars: {device: ", "vars: {agent_name: "))


def test_all_batches_are_carried_out_while_the_gates_hold(homes: Homes) -> None:
    without_palace(homes)
    code, output = homes.run("provision", book(homes, "targets: machines", "serial: 2"), "--yes")
    assert code == 0, output
    assert deployed(homes) == set(homes.names)


def test_a_batch_that_fails_its_gates_stops_the_next_one(homes: Homes) -> None:
    play = book(homes, "targets: machines", "serial: 1", "max_failures: 1")
    code, _ = homes.run("provision", play, "--yes")
    assert code == 2
    assert deployed(homes) == {"one", "two"}
    assert "max_failures is 1" in "".join(homes.printed)
    assert "three, four" in "".join(homes.printed)


def test_without_verify_only_failed_changes_count(homes: Homes) -> None:
    play = book(homes, "targets: machines", "serial: 1", "verify: false")
    homes.run("provision", play, "--yes")
    assert deployed(homes) == set(homes.names)


def test_variables_of_a_play_come_over_the_inventorys(homes: Homes) -> None:
    without_palace(homes)
    play = book(homes, "targets: one", "vars: {env_file: ~/.config/pi/other.env}")
    homes.run("provision", play, "--yes")
    assert (homes.home("one") / ".config/pi/other.env").exists()


def test_the_shipped_uninstall_takes_everything_away(homes: Homes) -> None:
    without_palace(homes)
    homes.run("provision", "--yes")
    code, output = homes.run("provision", "uninstall", "--yes")
    assert code == 0, output
    assert deployed(homes) == set()


@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_playbook_loads(name: str) -> None:
    assert load(name).plays


def test_an_unknown_playbook_names_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(InventoryError, match="provision-pi"):
        load("provison-pi")
