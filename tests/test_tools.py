"""The tools that tests need can be had on a machine with nothing but Python and make."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from packaging.version import Version
from support import tools

pytestmark = [pytest.mark.network, pytest.mark.timeout(600)]
BASICS = ("sh", "env", "ln", "mkdir", "rm", "cat", "uname", "dirname", "basename", "sed")


@pytest.fixture
def bare_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH without npm and node, and an empty cache; returns the cache."""
    programs, cache = tmp_path / "bin", tmp_path / "cache"
    programs.mkdir()
    for name in BASICS:
        found = shutil.which(name)
        assert found is not None, name
        (programs / name).symlink_to(found)
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.setenv("FLEET_TEST_CACHE", str(cache))
    assert shutil.which("npm") is None
    assert shutil.which("node") is None
    return cache


def version(program: Path, bin_dir: Path) -> Version:
    path = f"{bin_dir}:{os.environ['PATH']}"
    ended = subprocess.run(
        [str(program), "--version"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PATH": path},
        timeout=60,
    )
    return Version(ended.stdout.strip().removeprefix("v"))


def test_pi_comes_with_npm_from_the_package_index(bare_machine: Path) -> None:
    pi = tools.pi_tool()
    assert (bare_machine / "nodejs" / "bin" / "npm").is_file()
    assert version(pi.node, pi.bin_dir) >= Version(tools.OLDEST_NODE)
    assert version(pi.pi_cli, pi.bin_dir) == Version(tools.PI_VERSION)


def test_a_machine_with_npm_uses_its_own(
    bare_machine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "npm").write_text("#!/bin/sh\n")
    (own / "npm").chmod(0o755)
    monkeypatch.setenv("PATH", str(own), prepend=":")
    assert tools.npm_bin() == own
    assert not bare_machine.exists()
