"""`fleet inventory check` tells which secret references lead nowhere, and fetches none."""

from pathlib import Path

import pytest
from support.cli import invoke

from fleet.cli.engine import Engine

INVENTORY = """\
hosts:
  here: {local: , vars: {palace_token: !secret env:FLEET_TEST_TOKEN}}
  there: {local: /srv/home, vars: {palace_token: !secret "cmd:no-such-program show x"}}
"""


def check(folder: Path) -> tuple[int, str]:
    (folder / "fleet.yml").write_text(INVENTORY, encoding="utf-8")
    told = invoke("inventory", "check", "-i", str(folder / "fleet.yml"), engine=Engine())
    return told.exit_code, told.output


def test_references_that_lead_nowhere_are_mistakes_with_their_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FLEET_TEST_TOKEN", raising=False)
    code, told = check(tmp_path)
    assert code == 1
    assert "FLEET_TEST_TOKEN is not set" in told
    assert "no-such-program" in told
    assert "fleet.yml:2:" in told
    assert "fleet.yml:3:" in told
    assert "no mistakes" not in told


def test_those_that_lead_somewhere_are_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLEET_TEST_TOKEN", "tok-EXAMPLE-1")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin")
    (tmp_path / "no-such-program").write_text("#!/bin/sh\ntouch ran\n")
    (tmp_path / "no-such-program").chmod(0o755)
    code, told = check(tmp_path)
    assert (code, "no mistakes" in told) == (0, True), told
    assert "tok-EXAMPLE" not in told
    assert not list(tmp_path.glob("ran"))
