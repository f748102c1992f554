"""The ssh library comes without what it is not used for, and takes it from nobody else."""

import subprocess
import sys

import pytest

IMPORTED = "import sys, fleet.connectors.ssh; print(*sys.modules)"
AFTERWARDS = "import fleet.connectors.ssh, invoke; print(invoke.__name__)"
BEFORE = "import invoke, fleet.connectors.ssh, sys; print(sys.modules['invoke'] is invoke)"


def told(program: str) -> list[str]:
    words = [sys.executable, "-c", program]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()


def test_no_runner_of_tasks_is_loaded() -> None:
    loaded = told(IMPORTED)
    assert "paramiko" in loaded
    assert not {"invoke", "unittest", "asyncio"} & {*loaded}


@pytest.mark.parametrize(("program", "said"), [(AFTERWARDS, "invoke"), (BEFORE, "True")])
def test_others_have_it_as_ever(program: str, said: str) -> None:
    assert told(program) == [said]
