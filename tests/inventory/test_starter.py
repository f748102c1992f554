"""The starter loads as it is, and so does what it shows in comments."""

import re
from pathlib import Path

from fleet.inventory.known import Known
from fleet.inventory.load import load_inventory
from fleet.inventory.starter import starter
from fleet.systems.catalogue import load_catalogue


def known() -> Known:
    return Known.of(load_catalogue().systems)


def test_the_starter_loads_and_names_only_what_there_is(tmp_path: Path) -> None:
    for name, text in starter().items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    inventory = load_inventory(tmp_path, known=known())
    assert [target.name for target in inventory.targets] == ["here"]
    assert inventory.notes == ()


def test_what_stands_in_comments_loads_too(tmp_path: Path) -> None:
    text = starter()["fleet.yml"]
    body = text.partition("\nvars:\n")[2]
    code = re.sub(r"^( *)# (?=[ -]*[a-z_-]+:)", r"\1", f"vars:\n{body}", flags=re.MULTILINE)
    once = re.sub(r"\n  palace_token: !secret (file|cmd).*", "", code)
    assert once.count("palace_token") == 1
    (tmp_path / "fleet.yml").write_text(once, encoding="utf-8")
    inventory = load_inventory(tmp_path, known=known())
    assert {t.name for t in inventory.targets} == {
        "here",
        "laptop",
        "vault",
        "devbox",
        "devbox-image",
    }
    assert len(inventory.gates) == 1


def test_lines_fit_a_narrow_terminal() -> None:
    assert all(len(line) <= 80 for text in starter().values() for line in text.splitlines())
