"""The real tools, installed once, and scratch homes to run them in."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest
from support.pi import BRIDGE, HELPER, PiHome
from support.tools import PiTool, ToolUnavailableError, mempalace_tool, pi_tool

Tool = TypeVar("Tool")


def _provide(install: Callable[[], Tool]) -> Tool:
    """Install, or skip saying why; in CI a missing tool is a failure."""
    try:
        return install()
    except ToolUnavailableError as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(f"not installed: {error}")


@pytest.fixture(scope="session")
def pi() -> PiTool:
    """Return pi 1.6.0 with node 22."""
    return _provide(pi_tool)


@pytest.fixture(scope="session")
def mempalace_bin() -> Path:
    """The programs of mempalace 3.11."""
    return _provide(mempalace_tool)


@pytest.fixture
def helper_bin(tmp_path: Path) -> Path:
    """A folder for the PATH that holds the exporter, as an installation places it."""
    folder = tmp_path / "helper-bin"
    folder.mkdir()
    (folder / HELPER.name).symlink_to(HELPER)
    return folder


@pytest.fixture
def no_local_palace(tmp_path: Path) -> Path:
    """A folder for the PATH whose mempalace-mcp only leaves the trace `started` beside itself."""
    folder = tmp_path / "canary-bin"
    folder.mkdir()
    program = folder / "mempalace-mcp"
    program.write_text(f"#!/bin/sh\n: > '{folder}/started'\n")
    program.chmod(0o755)
    return folder


@pytest.fixture
def pi_home(tmp_path: Path, pi: PiTool, no_local_palace: Path, helper_bin: Path) -> PiHome:
    """A home with the bridge linked, and no palace on this machine."""
    home = PiHome(tmp_path / "home", pi, (no_local_palace, helper_bin))
    home.link_extension(BRIDGE)
    return home
