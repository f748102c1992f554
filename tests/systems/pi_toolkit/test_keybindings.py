"""The names that the real pi gives keys anew are those that are known here."""

import json
from pathlib import Path

import pytest
from support.http import FakeModel
from support.pi import PiHome
from support.tools import pi_tool

from fleet.systems.pi_toolkit.keybindings import RENAMED, renamed

pytestmark = pytest.mark.network


def test_pi_renames_each_of_them_through_a_link(tmp_path: Path) -> None:
    home = PiHome(tmp_path / "home", pi_tool())
    kept = tmp_path / "toolkit.json"
    before: dict[str, object] = {name: f"alt+{n}" for n, name in enumerate(RENAMED)}
    before |= {"app.tools.expand": "ctrl+o", "mine.own": []}
    kept.write_text(json.dumps(before))
    home.agent.mkdir(parents=True)
    (home.agent / "keybindings.json").symlink_to(kept)
    with FakeModel() as model:
        home.run(model, "hello")
    after = json.loads(kept.read_text())
    assert after == renamed(before)
    assert after["app.tools.expand"] == "ctrl+o"
    assert (home.agent / "keybindings.json").is_symlink()
