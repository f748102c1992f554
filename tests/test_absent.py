"""A missing tool skips a test with its reason, and fails it where CI promises every tool."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.places import ROOT

TESTS = """
import subprocess
import pytest
from support.tools import ToolUnavailableError

@pytest.fixture(scope="module")
def installed():
    raise ToolUnavailableError("no registry answers")

def test_a_tool(installed): ...
def test_the_same_tool(installed): ...

@pytest.mark.skipif(True, reason="no zsh on this machine")
def test_a_program(): ...

def test_another_program():
    subprocess.run(["zsh"], env={"PATH": "/nowhere"})

def test_a_file():
    open("zsh.conf")

def test_rights(): pytest.skip("needs root, to ask as another user")

def test_something_else(): raise ValueError
"""


@pytest.mark.parametrize(
    ("ci", "counts"),
    [("", "2 failed, 5 skipped"), ("true", "3 failed, 1 skipped, 3 errors")],
)
def test_what_becomes_of_a_test_whose_tool_is_missing(tmp_path: Path, ci: str, counts: str) -> None:
    (tmp_path / "test_it.py").write_text(TESTS)
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-rs", "-p", "support.absent", "-p", "no:cacheprovider"],
        cwd=tmp_path,
        env={**os.environ, "CI": ci, "PYTHONPATH": f"{ROOT}/tests", "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert counts in ended.stdout, ended.stdout
    assert "needs root, to ask as another user" in ended.stdout
    for reason in ("no registry answers", "no zsh on this machine"):
        assert reason in ended.stdout
