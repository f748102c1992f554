"""Whatever goes wrong ends as a few plain lines and an exit code."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest
from support.cli import FakeEngine, invoke

from fleet.cli.errors import guarded
from fleet.engine.ending import Ended
from fleet.errors import FleetError, InventoryError, Place, Unreachable
from fleet.inventory.problems import InventoryProblems


def failing(error: BaseException) -> FakeEngine:
    return FakeEngine(trouble=error)


def test_what_is_known_is_told_in_plain_lines() -> None:
    error = Unreachable("no answer", stage="connect", where="laptop", hint="is it up?\nor asleep?")
    result = invoke("audit", engine=failing(error))
    assert result.exit_code == 1
    assert result.stderr == "error: no answer\n  laptop\n  is it up?\n  or asleep?\n"


def test_every_mistake_of_an_inventory_is_told() -> None:
    mistakes = tuple(
        InventoryError(f"mistake {n}", place=Place("fleet.yml", n, 3), hint="mend it")
        for n in (4, 9)
    )
    result = invoke("audit", engine=failing(InventoryProblems(mistakes)))
    assert result.exit_code == 1
    assert "error: mistake 4\n  in fleet.yml:4:3\n  mend it\n" in result.stderr
    assert "fleet.yml:9:3" in result.stderr
    assert result.stderr.endswith("2 mistakes\n")


def test_what_is_unexpected_is_a_bug_and_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    result = invoke("audit", engine=failing(KeyError("x")))
    assert result.exit_code == 1
    assert "KeyError: 'x'; this is a bug in fleet" in result.stderr
    assert "Traceback" not in result.stderr
    monkeypatch.setenv("FLEET_DEBUG", "1")
    assert "Traceback" in invoke("audit", engine=failing(KeyError("x"))).stderr


@pytest.mark.parametrize("number, code", [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_is_told_by_its_name(number: int, code: int) -> None:
    result = invoke("audit", engine=failing(Ended(number)))
    told = f"ended by {signal.Signals(number).name}"
    assert (result.exit_code, result.stderr.strip()) == (code, told)


def test_what_a_target_made_an_error_say_moves_no_cursor() -> None:
    result = invoke("audit", engine=failing(FleetError("\x1b[2J[red]gone", where="a\nb")))
    assert "\x1b" not in result.stderr
    assert "error: \\x1b[2J[red]gone\n  a\\nb\n" in result.stderr


def test_a_refusal_of_several_lines_is_told_in_lines() -> None:
    result = invoke("check", "local:~", "--system", "env", "--format", "nope")
    first, second, third, *_ = result.stderr.splitlines()
    assert first.startswith("error: invalid value for '--format': there is no format 'nope'")
    assert (second.strip(), "\\n" in result.stderr) == ("terminal", False)
    assert third.endswith("check --help tells what it takes")


def test_interrupting_tells_a_line() -> None:
    result = invoke("audit", engine=failing(KeyboardInterrupt()))
    assert result.exit_code == 130
    assert result.stderr.strip() == "interrupted"


def test_a_system_error_is_told_by_its_own_text() -> None:
    error = OSError(28, "No space left on device", "/full/report")
    result = invoke("audit", engine=failing(error))
    assert result.exit_code == 1
    assert result.stderr == "error: No space left on device\n  /full/report\n"


@pytest.mark.parametrize(("value", "code"), [(None, 0), (0, 0), (2, 2), (3, 3), ("text", 0)])
def test_what_a_command_returns_is_the_exit_code(value: object, code: int) -> None:
    assert guarded(lambda: value) == code


def test_clicks_own_exit_code_for_usage_errors_is_not_used() -> None:
    def usage() -> None:
        raise click.UsageError("wrong")

    assert guarded(usage) == 1


@pytest.mark.parametrize(
    "words", [(), ("audti",), ("audit", "--nonsense"), ("inventory",), ("explain",)]
)
def test_a_command_line_that_means_nothing_exits_1(words: tuple[str, ...]) -> None:
    result = invoke(*words)
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr


def test_a_mistyped_command_is_told_its_neighbour() -> None:
    assert "did you mean 'audit'?" in invoke("audti").stderr


def fleet(*words: str, script: str = "", cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run the program itself, through a shell where a script is given."""
    program = [sys.executable, "-m", "fleet", *words]
    env = {k: v for k, v in os.environ.items() if not k.startswith(("FLEET_", "COLUMNS"))}
    if script:
        quoted = " ".join(f"'{word}'" for word in program)
        return subprocess.run(
            ["sh", "-c", f"{quoted} {script}"],
            capture_output=True,
            text=True,
            check=False,
            cwd=cwd,
            env=env,
            timeout=60,
        )
    return subprocess.run(
        program, capture_output=True, text=True, check=False, cwd=cwd, env=env, timeout=60
    )


PRINTING = "from fleet.cli.errors import guarded; raise SystemExit(guarded(lambda: print('x')))"


@pytest.mark.parametrize("words", [("-m", "fleet", "gates"), ("-c", PRINTING)])
def test_a_reader_that_goes_away_is_no_event(words: tuple[str, ...]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    env = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    try:
        result = subprocess.run(
            [sys.executable, *words],
            stdout=writing,
            stderr=subprocess.PIPE,
            check=False,
            timeout=60,
            env=env,
        )
    finally:
        os.close(writing)
    assert result.returncode == 1
    assert result.stderr == b""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_full_disk_is_told(here: Path) -> None:
    result = fleet("gates", script="> /dev/full; echo $?", cwd=here)
    assert result.stderr == "error: No space left on device\n"


def test_an_ascii_terminal_gets_no_traceback(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    result = fleet("explain", "bridge.gr\u00fc\u00dfe", cwd=here)
    assert result.returncode == 1
    assert result.stderr.startswith("error: there is no gate 'bridge.gr")
    assert "Traceback" not in result.stderr
    ascii_only = fleet("gates", cwd=here)
    assert (ascii_only.returncode, ascii_only.stderr) == (0, "")
