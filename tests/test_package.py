"""What pyproject.toml says is what the code does."""

import ast
import os
import sys
import tomllib
from importlib import import_module
from importlib.metadata import packages_distributions, version
from pathlib import Path
from typing import Any, get_args

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from support.places import ROOT

import fleet
from fleet import data
from fleet.errors import FleetError

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
# Parts of what is declared, whose errors and types it passes on: bounds are its to set.
COMES_WITH = {
    "httpcore": "httpx",
    "markupsafe": "jinja2",
    "requests": "docker",
    "pydantic-core": "pydantic",
}


def imported() -> set[str]:
    """Return the top names of everything that the package imports from outside."""
    found: set[str] = set()
    for path in (ROOT / "fleet").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module.partition(".")[0])
    return found - set(sys.stdlib_module_names) - {"fleet"}


def test_it_depends_on_what_it_imports_and_on_nothing_else() -> None:
    extras = PROJECT["optional-dependencies"]
    optional = [text for name in ("pytest", "dask", "watch") for text in extras[name]]
    wanted = [*PROJECT["dependencies"], *optional]
    declared = {canonicalize_name(Requirement(text).name) for text in wanted}
    known = packages_distributions()
    used = {canonicalize_name(known.get(name, [name])[0]) for name in imported()}
    assert {COMES_WITH.get(name, name) for name in used} == declared


def test_only_the_plugin_needs_pytest() -> None:
    for path in (ROOT / "fleet").rglob("*.py"):
        if "pytest_plugin" not in path.parts:
            assert "import pytest" not in path.read_text("utf-8"), path


def test_the_version_is_said_once() -> None:
    assert PROJECT["dynamic"] == ["version"]
    assert fleet.__version__ == version(PROJECT["name"])
    assert f"## [{fleet.__version__}]" in (ROOT / "CHANGELOG.md").read_text("utf-8")


def test_the_plugin_is_found_by_pytest() -> None:
    module = import_module(PROJECT["entry-points"]["pytest11"]["fleet"])
    assert callable(module.pytest_addoption)


def test_the_command_leads_somewhere() -> None:
    module, _, name = PROJECT["scripts"]["fleet"].partition(":")
    assert callable(getattr(import_module(module), name))


@pytest.mark.parametrize("room", get_args(data.Room))
def test_every_room_that_is_shipped_is_found(room: data.Room) -> None:
    folder = data.shipped(room)
    assert folder == ROOT / room
    assert any(path.is_file() for path in folder.rglob("*"))


def test_an_installation_that_is_not_whole_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data, "_PACKAGE", tmp_path / "fleet")
    with pytest.raises(FleetError, match="templates are missing") as caught:
        data.shipped("templates")
    assert "install" in caught.value.hint


@pytest.mark.parametrize("name", ["setup", "test", "docs.py", "record.py"])
def test_scripts_can_be_run(name: str) -> None:
    path = ROOT / "scripts" / name
    assert path.read_text("utf-8").startswith("#!")
    assert os.access(path, os.X_OK)
