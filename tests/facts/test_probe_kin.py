"""Processes by their own name, with their parents; those in containers are told apart."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.probing import NONCE, Shell, need_root
from support.tools import npm_bin

from fleet.facts.request import ProcessQuestion, Request
from fleet.facts.running import ProcessFact

NAME = "pi-under-test"
QUESTION = ProcessQuestion("pi", (NAME,), comm=(NAME,))

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")


def started(words: list[str | Path], sign: str) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(words, stdin=subprocess.PIPE)
    while sign.encode() not in Path(f"/proc/{process.pid}/cmdline").read_bytes():
        time.sleep(0.01)
    return process


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / NAME
    path.write_text("#!/bin/sh\nread line\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def named(program: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Yield a process of that name."""
    process = started([program], NAME)
    yield process
    process.communicate(b"\n")


@pytest.fixture
def decoy() -> Iterator[subprocess.Popen[bytes]]:
    """Yield a process that has the name as an argument only."""
    process = started(["sh", "-c", "read line", NAME], NAME)
    yield process
    process.communicate(b"\n")


def found(shell: Shell, question: ProcessQuestion = QUESTION) -> dict[int, ProcessFact]:
    facts = shell.facts(Request(NONCE, processes=(question,)))
    return {process.pid: process for process in facts.processes["pi"]}


def test_a_process_is_known_by_its_own_name(
    shell: Shell, named: subprocess.Popen[bytes], decoy: subprocess.Popen[bytes]
) -> None:
    processes = found(shell)
    assert decoy.pid not in processes
    assert processes[named.pid].parent == os.getpid()
    assert processes[named.pid].contained is False
    anyone = found(shell, ProcessQuestion("pi", (NAME,)))
    assert {named.pid, decoy.pid} <= anyone.keys()


def test_a_title_that_was_set_is_the_name(shell: Shell, tmp_path: Path) -> None:
    node = npm_bin() / "node"
    script = f"process.title = '{NAME}'; process.stdin.on('data', () => process.exit())"
    process = subprocess.Popen([node, "-e", script], stdin=subprocess.PIPE)
    while not Path(f"/proc/{process.pid}/cmdline").read_bytes().startswith(NAME.encode()):
        time.sleep(0.01)
    fact = found(shell)[process.pid]
    process.communicate(b"\n")
    assert fact.command == NAME
    assert abs((fact.started or 0) - time.time()) < 60


def test_a_process_in_a_container_is_told_apart(
    shell: Shell, program: Path, named: subprocess.Popen[bytes]
) -> None:
    need_root()
    process = started(["unshare", "--pid", "--fork", program], NAME)
    time.sleep(0.2)
    processes = found(shell)
    process.communicate(b"\n")
    inner = [fact for fact in processes.values() if fact.parent == process.pid]
    assert [fact.contained for fact in inner] == [True]
    assert processes[named.pid].contained is False
