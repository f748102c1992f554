"""Whether references lead anywhere, without fetching or running anything."""

from pathlib import Path

import pytest

from fleet.errors import InventoryError
from fleet.inventory.load import load_inventory
from fleet.inventory.model import SecretRef
from fleet.inventory.secret_check import check_secret, check_secrets


def test_the_environment() -> None:
    environ = {"SET": "tok-EXAMPLE-1", "EMPTY": ""}
    assert check_secret(SecretRef("env", "SET"), environ=environ) is None
    assert "EMPTY is empty" in str(check_secret(SecretRef("env", "EMPTY"), environ=environ))
    assert "UNSET is not set" in str(check_secret(SecretRef("env", "UNSET"), environ=environ))


def test_files(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("tok-EXAMPLE-1", encoding="utf-8")
    (tmp_path / "empty").touch()
    assert check_secret(SecretRef("file", f"{tmp_path}/token")) is None
    for name, says in (("empty", "is empty"), ("none", "No such file"), ("", "is a folder")):
        told = check_secret(SecretRef("file", f"{tmp_path}/{name}"))
        assert told is not None
        assert says in told


def test_a_command_is_looked_up_and_never_run(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    assert check_secret(SecretRef("cmd", f"touch {mark}")) is None
    assert check_secret(SecretRef("cmd", f"A=b touch {mark}")) is None
    assert not mark.exists()
    assert "no-such-program" in str(check_secret(SecretRef("cmd", "no-such-program x")))
    assert "open quote" in str(check_secret(SecretRef("cmd", "a 'b")))
    assert check_secret(SecretRef("cmd", "x"), run=lambda c: f"{c} failed") == "x failed"


def test_every_reference_of_an_inventory(tmp_path: Path) -> None:
    text = "vars: {a: !secret env:UNSET, b: {c: [!secret file:none]}}\nhosts: {x: , y: }\n"
    (tmp_path / "fleet.yml").write_text(text, encoding="utf-8")
    inventory = load_inventory(tmp_path)
    with pytest.raises(InventoryError) as caught:
        check_secrets(inventory, environ={})
    first, second = str(caught.value).splitlines()
    assert first.startswith(f"{tmp_path}/fleet.yml:1:11: !secret env:UNSET: ")
    assert f"!secret file:{tmp_path}/none: " in second
    (tmp_path / "none").write_text("tok-EXAMPLE-1", encoding="utf-8")
    check_secrets(inventory, environ={"UNSET": "tok-EXAMPLE-2"})
