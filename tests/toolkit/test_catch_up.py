"""The catch-up of a start: it feeds what was left, gives way to the bridge, and stops no start.

The exporter and its lock are real; only the palace's miner is one that notes when it runs.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.places import ROOT

CATCH_UP = ROOT / "toolkit/bin/mempalace-pi-catch-up"
ENTRY = ROOT / "toolkit/devbox/entry"
ENV = ROOT / "toolkit/devbox/env.sh"
LONG = "The keeper opens the northern gate at six and closes it when the heron sleeps. " * 4
#: Holds a folder while it mines: who comes meanwhile says so.
MINER = """#!/bin/sh
mkdir "$HOME/mining" 2>/dev/null || echo together >>"$HOME/log"
echo begin >>"$HOME/log"
while [ -e "$HOME/hold" ]; do sleep 0.05; done
ls "$2" >>"$HOME/fed"
rmdir "$HOME/mining"
echo end >>"$HOME/log"
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home in which a session was cut off, and a PATH with the toolkit's programs."""
    folder = tmp_path / "home"
    sessions = folder / ".pi/agent/sessions/--w--"
    sessions.mkdir(parents=True)
    turns = [
        {"type": "session", "version": 3, "id": "s1", "cwd": "/w"},
        *(
            {"type": "message", "message": {"role": r, "content": LONG}}
            for r in ("user", "assistant")
        ),
    ]
    (sessions / "cut.jsonl").write_text("".join(json.dumps(turn) + "\n" for turn in turns))
    programs = folder / "bin"
    programs.mkdir()
    for name in ("mempalace-pi-session", "mempalace-pi-catch-up"):
        (programs / name).symlink_to(ROOT / "toolkit/bin" / name)
    (programs / "mempalace").write_text(MINER)
    (programs / "mempalace").chmod(0o755)
    return folder


def started(home: Path, *words: str | Path, **env: str) -> subprocess.Popen[str]:
    path = f"{home / 'bin'}:/usr/bin:/bin"
    given = {"PATH": path, "HOME": str(home), "DEVBOX_ENV": str(ENV), **env}
    pipe = subprocess.PIPE
    return subprocess.Popen(
        words, env=given, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True
    )


def ran(home: Path, *words: str | Path, **env: str) -> tuple[int, str, str]:
    process = started(home, *words, **env)
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


def log(home: Path) -> list[str]:
    path = home / "log"
    return path.read_text().split() if path.exists() else []


@pytest.fixture
def mining(home: Path) -> Iterator[subprocess.Popen[str]]:
    """A catch-up that mines, and goes on once `hold` is taken away."""
    (home / "hold").touch()
    process = started(home, CATCH_UP)
    while not log(home):
        assert process.poll() is None
    yield process
    (home / "hold").unlink(missing_ok=True)
    process.communicate(timeout=60)


def test_what_a_session_left_is_fed(home: Path) -> None:
    code, out, err = ran(home, CATCH_UP)
    assert (code, out) == (0, ""), err
    assert "catch-up: 1 sessions staged" in err
    assert "cut.pi.txt" in (home / "fed").read_text()


def test_the_bridge_gives_way_while_it_mines(home: Path, mining: subprocess.Popen[str]) -> None:
    code, out, err = ran(home, "mempalace-pi-session", "--prepare", "--reason", "turn")
    assert (code, out) == (0, "")
    assert "another export is running" in err
    assert mining.poll() is None


def test_many_starts_at_once_mine_one_after_another(home: Path) -> None:
    several = [started(home, CATCH_UP) for _ in range(6)]
    several += [started(home, "mempalace-pi-session", "--prepare") for _ in range(4)]
    for process in several:
        process.communicate(timeout=60)
    assert {process.returncode for process in several} == {0}
    seen = log(home)
    assert seen
    assert "together" not in seen
    assert seen == ["begin", "end"] * (len(seen) // 2)


def test_it_ends_in_time_and_lets_the_lock_go(home: Path) -> None:
    (home / "hold").touch()
    code, _, err = ran(home, CATCH_UP, MEMPALACE_CATCH_UP_SECONDS="1")
    assert code == 124
    assert "the next start goes on with it" in err
    (home / "hold").unlink()
    code, out, err = ran(home, "mempalace-pi-session", "--prepare")
    assert "MINE_SOURCE=" in out, err


@pytest.mark.parametrize("env", [{"MEMPALACE_FEED": "0"}, {"MEMPALACE_CATCH_UP_SECONDS": "0"}])
def test_it_can_be_turned_off(home: Path, env: dict[str, str]) -> None:
    assert ran(home, CATCH_UP, **env) == (0, "", "")
    assert log(home) == []


def test_a_limit_that_is_no_number_is_told(home: Path) -> None:
    code, _, err = ran(home, CATCH_UP, MEMPALACE_CATCH_UP_SECONDS="1m")
    assert code == 2
    assert "MEMPALACE_CATCH_UP_SECONDS is no number" in err


# --- the entry point ---


@pytest.fixture
def secrets(tmp_path: Path) -> Path:
    folder = tmp_path / "secrets"
    folder.mkdir()
    (folder / "MEMPALACE_REMOTE_TOKEN").write_text("tok-EXAMPLE $(id) 'q'\n")
    (folder / "MEMPALACE_PI_DEVICE").write_text("from-the-file")
    (folder / "not-a-name").write_text("x")
    (folder / "FOLDER").mkdir()
    return folder


def test_the_command_gets_what_the_files_say(home: Path, secrets: Path) -> None:
    words: list[str | Path] = [
        ENTRY,
        "sh",
        "-c",
        'printf "%s|%s|%s" "$MEMPALACE_REMOTE_TOKEN" "$MEMPALACE_PI_DEVICE" "$0"',
        "it",
    ]
    env = {"DEVBOX_SECRETS": str(secrets), "MEMPALACE_PI_DEVICE": "given", "MEMPALACE_FEED": "0"}
    assert ran(home, *words, **env)[:2] == (0, "tok-EXAMPLE $(id) 'q'|given|it")


def test_a_catch_up_that_fails_keeps_nothing_from_starting(home: Path, tmp_path: Path) -> None:
    (home / "bin/mempalace").write_text("#!/bin/sh\nexit 9\n")
    code, out, err = ran(home, ENTRY, "echo", "up", DEVBOX_SECRETS=str(tmp_path / "none"))
    assert (code, out) == (0, "up\n")
    assert "mempalace ended with exit code 9" in err


@pytest.mark.parametrize("shell", ["dash", "bash"])
def test_a_shell_exports_the_same(home: Path, secrets: Path, shell: str) -> None:
    words = [shell, "-euc", f'. {ENV}; env | grep -c "^MEMPALACE_REMOTE_TOKEN=tok-EXAMPLE"']
    code, out, err = ran(home, *words, DEVBOX_SECRETS=str(secrets))
    assert (code, out.strip()) == (0, "1"), err
    assert os.access(ENTRY, os.X_OK)
