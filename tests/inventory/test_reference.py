"""The reference in the documentation is the schema's, and its examples load."""

import re
from pathlib import Path

from fleet.inventory.load import load_inventory
from fleet.inventory.reference import BEGIN, END, keys_reference
from fleet.inventory.schema import GatePart

PAGE = Path(__file__).parents[2] / "docs" / "inventory.md"


def test_the_page_is_not_stale() -> None:
    text = PAGE.read_text("utf-8")
    between = text.partition(BEGIN)[2].partition(END)[0].strip()
    assert between == keys_reference(), "write keys_reference() between the two marks"


def test_every_key_is_explained() -> None:
    assert "|  |" not in keys_reference()
    told = set(re.findall(r"^\| `(\w+)`", keys_reference(), re.MULTILINE))
    assert set(GatePart.model_fields) - told == {"check"}


def test_the_first_example_loads(tmp_path: Path) -> None:
    example = re.search(r"```yaml\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert example is not None
    (tmp_path / "fleet.yml").write_text(example[1], encoding="utf-8")
    assert len(load_inventory(tmp_path).targets) == 4
