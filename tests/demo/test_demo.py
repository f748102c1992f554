"""The demo plays through with a real palace, and its claims can fail."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.tools import mempalace_tool

pytestmark = pytest.mark.network


def played(folder: Path, **env: str) -> tuple[int, str]:
    environment = {**os.environ, "FLEET_DEMO_MEMPALACE": str(mempalace_tool() / "mempalace"), **env}
    ended = subprocess.run(
        [sys.executable, "-m", "fleet", "demo", "--in", str(folder)],
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
        env=environment,
    )
    return ended.returncode, ended.stdout + ended.stderr


def test_every_expectation_holds_and_nothing_is_left(tmp_path: Path) -> None:
    code, output = played(tmp_path / "demo")
    last = output.strip().splitlines()[-1]
    found = re.fullmatch(r"demo: (\d+) of (\d+) expectations held", last)
    assert found, output
    assert found[1] == found[2], output
    assert int(found[1]) >= 15
    assert code == 0
    _, *told = output.splitlines()  # the first names the folder, as long as it may be
    assert max(len(line) for line in told) <= 80
    assert not (tmp_path / "demo").exists() or not any((tmp_path / "demo").iterdir())


def test_a_palace_that_does_not_come_up_is_told_with_its_log(tmp_path: Path) -> None:
    broken = tmp_path / "mempalace"
    broken.write_text("#!/bin/sh\necho no palace today >&2\nexit 1\n")
    broken.chmod(0o755)
    code, output = played(tmp_path / "demo", FLEET_DEMO_MEMPALACE=str(broken))
    assert code == 1
    assert "did not come up" in output
    assert "Traceback" not in output
