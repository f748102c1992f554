"""The hook, run by pre-commit itself: from a clone of this project, in a repository of its own."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest
import yaml
from support.ci import load
from support.places import ROOT

from fleet.data import Room

SECONDS = 600
SHIPPED = ("fleet", *get_args(Room))
FILES = ("pyproject.toml", "README.md", "LICENSE", ".pre-commit-hooks.yaml")
pytestmark = [pytest.mark.network, pytest.mark.timeout(900)]


def git(folder: Path, *words: str) -> None:
    who = ("-c", "user.name=somebody", "-c", "user.email=somebody@example.net")
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository of the project as it is now, with the release that the example names."""
    folder = tmp_path_factory.mktemp("project")
    for name in SHIPPED:
        unwanted = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, folder / name, ignore=unwanted, symlinks=True)
    for name in FILES:
        shutil.copy2(ROOT / name, folder / name)
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "all of it")
    git(folder, "tag", load("pre-commit-config.yaml")["repos"][0]["rev"])
    return folder


def test_a_commit_that_breaks_the_inventory_is_refused(project: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    mine = tmp_path / "mine"
    mine.mkdir()
    git(mine, "init", "-q")
    config = load("pre-commit-config.yaml")
    config["repos"][0]["repo"] = str(project)
    (mine / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    good = "systems: [mempalace-bridge]\nhosts: {laptop: {ssh: laptop.example.net}}\n"
    (mine / "fleet.yml").write_text(good, encoding="utf-8")

    def hooked() -> tuple[int, str]:
        git(mine, "add", "-A")
        ended = subprocess.run(
            [sys.executable, "-m", "pre_commit", "run", "--all-files"],
            cwd=mine,
            env={**os.environ, "PRE_COMMIT_HOME": str(home)},
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        return ended.returncode, ended.stdout + ended.stderr

    code, told = hooked()
    assert code == 0, told
    assert "fleet inventory check" in told
    assert "Passed" in told
    (mine / "fleet.yml").write_text(good.replace("hosts", "hots"), encoding="utf-8")
    code, told = hooked()
    assert code == 1, told
    assert "fleet.yml:2:1" in told
    assert "did you mean `hosts`?" in told
