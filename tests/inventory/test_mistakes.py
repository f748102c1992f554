"""Wrong inventories, one folder each: the whole message is pinned.

Each folder under ``tests/cases/inventory`` is an inventory, with the text that is to be told in the
file ``expected``.
"""

from pathlib import Path

import pytest
from support.places import CASES

from fleet.errors import InventoryError
from fleet.inventory.known import Known
from fleet.inventory.load import load_inventory

FOLDER = CASES / "inventory"
KNOWN = Known(
    capabilities={
        "env": (),
        "mempalace-bridge": ("feed", "stamp", "mailbox"),
        "mempalace-serve": ("version",),
    },
    artifacts={"mempalace-bridge": ("bridge", "helper")},
    defaults={"env": {"env_file": "~/.config/pi/.env"}},
    gates={"mempalace-bridge": ("bridge.feed",), "env": ("env.mode",), "": ("fleet.skew",)},
)


@pytest.mark.parametrize("case", sorted(p.name for p in FOLDER.iterdir()))
def test_a_wrong_inventory_is_told(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(FOLDER / case)
    with pytest.raises(InventoryError) as caught:
        load_inventory(Path(), known=KNOWN)
    assert str(caught.value) == Path("expected").read_text("utf-8").rstrip("\n")


def test_there_are_cases() -> None:
    assert len(list(FOLDER.iterdir())) > 40
