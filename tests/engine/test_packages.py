"""Packages installed for real: uv, from the package index, into a home of its own."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.homes import Homes

pytestmark = pytest.mark.network


@pytest.fixture
def uv(tmp_path: Path) -> Path:
    """The real uv, from the package index."""
    folder = tmp_path / "uv"
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--target",
            str(folder),
            "uv",
        ],
        check=True,
        capture_output=True,
    )
    return folder / "bin" / "uv"


def test_a_palace_of_its_own_is_installed_once_and_taken_away(homes: Homes, uv: Path) -> None:
    home = homes.home("one")
    (home / ".local/bin").mkdir(parents=True)
    shutil.copy(uv, home / ".local/bin/uv")
    (home / ".config/uv").mkdir(parents=True)
    (home / ".config/uv/uv.toml").write_text("native-tls = true\n")
    text = homes.inventory.read_text().replace(
        "vars: {device: one}", "vars: {device: one, install_mempalace: true}"
    )
    homes.inventory.write_text(text)
    code, output = homes.run("apply", "--limit", "one", "--yes")
    assert code == 0, output
    assert (home / ".local/bin/mempalace-mcp").exists()
    code, output = homes.run("plan", "--limit", "one")
    assert (code, "nothing to change" in output) == (0, True), output
    code, output = homes.run("uninstall", "--limit", "one", "--yes")
    assert code == 0, output
    assert not (home / ".local/bin/mempalace-mcp").exists()
    assert (home / ".local/bin/uv").exists()
