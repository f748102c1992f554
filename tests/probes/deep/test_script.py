"""The shell's side of a deep check, and the reading of answers that may be forged."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from support.probing import shells

from fleet.errors import ProbeError, UsageError
from fleet.facts.deep import DeepFact
from fleet.facts.request import CONTAINER
from fleet.probes.deep.script import deep_script, read_deep

NONCE = "nonce-of-a-test"


def script(launch: str = CONTAINER, seconds: int = 10) -> str:
    return deep_script(
        nonce=NONCE, seconds=seconds, launch=launch, agent_dir="~/.pi/agent", assume=False
    )


def answer(text: str, kind: str = "result", nonce: str = NONCE) -> bytes:
    return f"motd\n@fleet-deep {nonce} {kind} {text}\n".encode()


def ran(words: list[str], folder: Path, text: str, path: str) -> DeepFact:
    ended = subprocess.run(
        words,
        input=text.encode(),
        capture_output=True,
        env={"HOME": str(folder), "TMPDIR": str(folder), "PATH": path},
        timeout=60,
        check=False,
    )
    assert [p for p in folder.iterdir() if p.name.startswith("fleet-deep")] == []
    return read_deep(ended.stdout, nonce=NONCE, launch="sh")


@pytest.mark.parametrize("kind", ["dash", "bash", "busybox", "zsh"])
@pytest.mark.parametrize(
    ("launch", "why"),
    [
        (CONTAINER, "there is no node on the PATH"),
        ("sh -c", "there is no node on the PATH"),
        ("no-such-shell -c", "there is no no-such-shell here"),
        ("sh -c 'exit 3'", "its shell ran nothing: it ended with status 3"),
        (
            "sh -c 'kill -9 $$'",
            "its shell ran nothing: it ended with status 137, that of signal 9 (KILL)",
        ),
    ],
)
def test_every_shell_says_why_nothing_ran_and_leaves_nothing(
    tmp_path: Path, kind: str, launch: str, why: str
) -> None:
    found = shells(tmp_path)
    if kind not in found:
        pytest.skip(f"no {kind} on this machine")
    home = tmp_path / "home"
    home.mkdir()
    (home / "sh").symlink_to("/bin/sh")
    assert ran([*found[kind].words], home, script(launch), str(home)).why == why


def test_a_launching_shell_that_hangs_costs_its_time_and_no_more(tmp_path: Path) -> None:
    found = shells(tmp_path)["dash"]
    home = tmp_path / "home"
    home.mkdir()
    fact = ran([*found.words], home, script("sh -c 'sleep 60'", seconds=1), found.path)
    assert fact.why == "no answer within 1 s"


def test_a_forged_or_broken_answer_is_refused() -> None:
    good = json.dumps({"state": "ran", "why": "x\u001b[31m"})
    assert read_deep(answer(good), nonce=NONCE, launch="bash -lc").launch == "bash -lc"
    for output, why in (
        (b"", "no answers"),
        (answer(good, nonce="another"), "no answers"),
        (answer(good) + answer(good), "2 answers"),
        (answer("{"), "no JSON"),
        (answer('{"state": "passed"}'), "state"),
        (answer('{"state": "ran", "verdict": "pass"}'), "verdict"),
        (answer(json.dumps({"state": "ran", "why": "x" * 2001})), "why"),
        (answer(json.dumps({"state": "ran", "runs": [{"name": "forged"}]})), "runs.0.name"),
        (answer("[" * 100_000), "no JSON"),
        (answer(json.dumps({"state": "ran", "why": "x" * 600_000})), "too large"),
    ):
        with pytest.raises(ProbeError, match=why):
            read_deep(output, nonce=NONCE, launch="bash -lc")


def test_a_reason_cannot_steer_a_terminal() -> None:
    fact = read_deep(answer("\x1b]0;x\x07 \u202e", "why"), nonce=NONCE, launch="sh -c")
    assert fact.why == "\\x1b]0;x\\x07 \\u202e"


def test_a_launch_that_is_not_quoted_right_is_refused() -> None:
    with pytest.raises(UsageError, match="not quoted right"):
        script("sh -c '")
    with pytest.raises(UsageError, match="empty"):
        script("  ")
