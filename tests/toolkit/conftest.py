"""The real tools, installed once, and scratch homes to run them in."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.bridge_stage import Stage
from support.pi import BRIDGE, HELPER, PiHome
from support.tools import PiTool, mempalace_tool, pi_tool


@pytest.fixture(scope="session")
def pi() -> PiTool:
    """Return pi 1.6.0 with node 22."""
    return pi_tool()


@pytest.fixture(scope="session")
def mempalace_bin() -> Path:
    """The programs of mempalace 3.11."""
    return mempalace_tool()


@pytest.fixture
def stage(tmp_path: Path, pi: PiTool) -> Stage:
    """A scratch folder to play the bridge in."""
    return Stage(tmp_path, pi)


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
