"""Every command test runs in an empty folder with an inventory, and a quiet environment."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand in a folder that holds a ``fleet.yml``."""
    for name in (
        "FLEET_INVENTORY",
        "FLEET_DEBUG",
        "GITHUB_ACTIONS",
        "NO_COLOR",
        "FORCE_COLOR",
        "COLUMNS",
    ):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "fleet.yml").write_text("targets: {}\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path
