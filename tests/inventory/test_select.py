"""Patterns, as Ansible's users expect them."""

from pathlib import Path

import pytest

from fleet.errors import InventoryError
from fleet.inventory.inventory import Inventory
from fleet.inventory.load import load_inventory
from fleet.inventory.select import select

TEXT = """\
groups:
  web:
    systems: [env]
    hosts: {web1.example.net: , web2.example.net: }
  db: {hosts: {db1: , "2001:db8::1": }}
  prod: {groups: {web: }, hosts: {db1: }}
images: {baked: {image: "oci:x", systems: [mempalace-bridge]}}
containers: {box: }
"""
WEB = ["web1.example.net", "web2.example.net"]


@pytest.fixture
def inventory(tmp_path: Path) -> Inventory:
    (tmp_path / "fleet.yml").write_text(TEXT, encoding="utf-8")
    return load_inventory(tmp_path)


@pytest.mark.parametrize(
    "patterns, names",
    [
        ([], [*WEB, "db1", "2001:db8::1", "baked", "box"]),
        (["all"], [*WEB, "db1", "2001:db8::1", "baked", "box"]),
        (["*"], [*WEB, "db1", "2001:db8::1", "baked", "box"]),
        (["db1"], ["db1"]),
        (["web"], WEB),
        (["web*"], WEB),
        (["*.example.net"], WEB),
        (["w?b"], WEB),
        (["web[12].*"], WEB),
        (["box,db1"], ["db1", "box"]),
        (["box:db1"], ["db1", "box"]),
        (["box", "db1"], ["db1", "box"]),
        (["prod:!web"], ["db1"]),
        (["!web", "prod"], ["db1"]),
        (["prod,!db1"], WEB),
        (["!kind=host"], ["baked", "box"]),
        (["prod:&db"], ["db1"]),
        (["&db", "prod"], ["db1"]),
        (["2001:db8::1"], ["2001:db8::1"]),
        (["db:!2001:db8::1"], ["db1"]),
        (["db,!2001:db8::1"], ["db1"]),
        (["kind=image"], ["baked"]),
        (["kind=container,kind=image"], ["baked", "box"]),
        (["system=env"], WEB),
        ([" web , box "], [*WEB, "box"]),
    ],
)
def test_patterns(patterns: list[str], names: list[str], inventory: Inventory) -> None:
    assert [target.name for target in select(inventory, patterns)] == names


@pytest.mark.parametrize(
    "pattern, says",
    [
        ("wbe", "did you mean `web`?"),
        ("all,!wbe", "did you mean `web`?"),
        ("web:&prodd", "did you mean `prod`?"),
        ("zzz*", "targets and groups: "),
        ("kind=imag", "did you mean `image`?"),
        ("system=envv", "did you mean `env`?"),
        ("kid=image", "did you mean `kind`?"),
        ("web:!web", "no target is left of 6"),
        ("web:&box", "no target is left of 6"),
        (",", "the pattern is empty"),
        ("!", "the pattern is empty"),
        ("", "the pattern is empty"),
    ],
)
def test_a_pattern_that_means_nothing_is_told(
    pattern: str, says: str, inventory: Inventory
) -> None:
    with pytest.raises(InventoryError) as caught:
        select(inventory, [pattern])
    assert says in str(caught.value)
