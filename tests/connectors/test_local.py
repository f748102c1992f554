"""This machine, asked in a clean environment, bounded in size and time."""

import os
import selectors
import socket
import time
from pathlib import Path

import pytest
from support.busy import LAST_WORDS, LateSelector
from support.probing import NONCE, ended

from fleet.connectors import local
from fleet.connectors.bounded import KIBI
from fleet.connectors.local import LocalConnector
from fleet.errors import ProbeError, Unreachable
from fleet.facts.paths import State
from fleet.facts.request import LaunchQuestion, PathQuestion, Read, Request
from fleet.inventory.model import Address, Become, Scheme, Target
from fleet.secrets import Secret

BEGUN = f"@fleet\\t{NONCE}\\t1\\tbegin\\t=fleet.answer/1\\t.\\n"


def connector(
    home: Path | None = None, become: Become | None = None, timeout: float = 20
) -> LocalConnector:
    address = Address(Scheme.LOCAL, str(home or ""))
    return LocalConnector(Target("box", address, become=become), timeout=timeout)


def fake(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(0o755)


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder that is first on the PATH of what is run."""
    folder = tmp_path / "tools"
    folder.mkdir()
    monkeypatch.setattr(local, "PATH", f"{folder}:{local.PATH}")
    return folder


def test_collects_in_one_round_trip(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("x")
    here = connector(tmp_path)
    facts = here.collect(Request(NONCE, paths=(PathQuestion("~/f", Read.WHOLE),)))
    assert facts.target == "box"
    assert facts.address == f"local:{tmp_path}"
    assert (facts.platform.home, facts.platform.rule) == (str(tmp_path), "declared")
    assert facts.content(facts.paths["~/f"]) == b"x"
    assert (here.connects, here.round_trips) == (1, 1)
    here.close()
    here.close()


def test_home_of_the_current_user_is_found_not_declared() -> None:
    facts = connector().collect(Request(NONCE))
    assert facts.platform.rule == "HOME"
    assert facts.platform.home == os.environ["HOME"].rstrip("/")


def test_the_operators_own_environment_does_not_reach_a_launch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMPALACE_FEED", "1")
    launch = LaunchQuestion("bash -lc", public=("MEMPALACE_FEED", "FROM_RC"))
    (tmp_path / ".bash_profile").write_text("export FROM_RC=yes\n")
    facts = connector(tmp_path).collect(Request(NONCE, launches=(launch,)))
    variables = facts.launches["bash -lc"].variables
    assert not variables["MEMPALACE_FEED"].set
    assert variables["FROM_RC"].value == "yes"


def test_no_such_home(tmp_path: Path) -> None:
    with pytest.raises(Unreachable) as caught:
        connector(tmp_path / "gone").collect(Request(NONCE))
    assert caught.value.stage == "missing"


def test_apply_runs_script_and_payload_as_one_program(tmp_path: Path) -> None:
    outcome = connector(tmp_path).apply(
        "pwd; tr '\\0' ' ' </proc/$$/cmdline; ", Secret("printf %s tok-EXAMPLE-1 | wc -c\n")
    )
    assert outcome.output == f"{tmp_path}\nsh 13\n".encode()
    assert outcome.status == 0
    assert connector(tmp_path).apply("echo no >&2; exit 7\n", Secret("")).status == 7


def test_large_payload_does_not_block(tmp_path: Path) -> None:
    script = "yes | head -c 3000000\nwc -c <<'E'\n"
    outcome = connector(tmp_path).apply(script, Secret("x" * 3_000_000 + "\nE\n"))
    assert outcome.output.endswith(b"3000001\n")
    assert len(outcome.output) > 3_000_000


def test_silence_ends_at_the_deadline_with_all_children(tmp_path: Path) -> None:
    started = time.monotonic()
    with pytest.raises(Unreachable) as caught:
        connector(tmp_path, timeout=0.5).apply("sh -c 'echo $$ >pid; sleep 60'; :\n", Secret(""))
    assert caught.value.stage == "timeout"
    assert time.monotonic() - started < 10
    assert ended((tmp_path / "pid").read_text())


def test_what_ignores_term_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "_GRACE", 0.1)
    with pytest.raises(Unreachable):
        connector(tmp_path, timeout=0.3).apply(
            "trap '' TERM; echo $$ >pid; while :; do sleep 1; done\n", Secret("")
        )
    assert ended((tmp_path / "pid").read_text())


def test_a_target_that_prints_without_end_is_stopped(tmp_path: Path) -> None:
    here = LocalConnector(
        Target("box", Address(Scheme.LOCAL, str(tmp_path))), timeout=20, max_bytes=100 * KIBI
    )
    with pytest.raises(ProbeError) as caught:
        here.apply("yes\n", Secret(""))
    assert "100 KiB" in caught.value.what
    assert caught.value.where == "box"


def test_what_stays_in_the_background_does_not_hold_the_answer(tmp_path: Path) -> None:
    started = time.monotonic()
    outcome = connector(tmp_path).apply("sleep 30 & echo $! >pid; echo done\n", Secret(""))
    assert outcome.output == b"done\n"
    assert time.monotonic() - started < 10
    os.kill(int((tmp_path / "pid").read_text()), 9)


def test_last_words_are_heard_on_a_busy_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selectors, "DefaultSelector", LateSelector)
    assert connector(tmp_path).apply(LAST_WORDS, Secret("")).output == b"done\n"


@pytest.mark.parametrize(
    "ending, told",
    [("exit 2", "status 2; "), ("kill -9 $$", "status -9 (SIGKILL); "), ("exit 0", "try again")],
)
def test_how_a_shell_ended_that_did_not_answer_to_the_end_is_told(
    tools: Path, tmp_path: Path, ending: str, told: str
) -> None:
    fake(tools, "sh", f"read -r mark; eval $mark; read -r _; printf '{BEGUN}'; {ending}")
    with pytest.raises(ProbeError, match="cut off") as caught:
        connector(tmp_path).collect(Request(NONCE))
    assert told in caught.value.hint
    assert ("its sh ended with" in caught.value.hint) == (ending != "exit 0")


@pytest.mark.usefixtures("tools")
def test_noise_before_the_shell_is_dropped(tools: Path, tmp_path: Path) -> None:
    fake(tools, "sh", "echo Welcome; exec /bin/sh")
    assert connector(tmp_path).apply("echo hi\n", Secret("")).output == b"hi\n"


def test_no_shell_is_no_answer(tools: Path, tmp_path: Path) -> None:
    fake(tools, "sh", "echo 'This account is closed' >&2; exit 1")
    with pytest.raises(ProbeError) as caught:
        connector(tmp_path).collect(Request(NONCE))
    assert "This account is closed" in caught.value.what


def test_become_goes_through_sudo_and_keeps_a_declared_home(tools: Path, tmp_path: Path) -> None:
    fake(
        tools, "sudo", f'printf "%s " "$@" >{tmp_path}/words; shift 5; exec env HOME=/nowhere "$@"'
    )
    facts = connector(tmp_path, Become("vault")).collect(Request(NONCE))
    words = (tmp_path / "words").read_text()
    assert words == f"-n -H -u vault -- env HOME={tmp_path} sh "
    assert facts.platform.home == str(tmp_path)


def test_sudo_is_never_used_unasked(tools: Path, tmp_path: Path) -> None:
    fake(tools, "sudo", f"touch {tmp_path}/used")
    connector(tmp_path).collect(Request(NONCE, paths=(PathQuestion("/etc/shadow", Read.HASH),)))
    assert not (tmp_path / "used").exists()


def test_become_refused(tools: Path, tmp_path: Path) -> None:
    fake(tools, "sudo", "echo 'sudo: a password is required' >&2; exit 1")
    with pytest.raises(Unreachable) as caught:
        connector(tmp_path, Become("vault")).collect(Request(NONCE))
    assert caught.value.stage == "become"
    assert "a password is required" in caught.value.what
    assert "vault" in caught.value.hint


def test_no_sudo_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "PATH", str(tmp_path))
    with pytest.raises(Unreachable) as caught:
        connector(tmp_path, Become()).collect(Request(NONCE))
    assert caught.value.stage == "become"


def test_open_tcp(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with connector(tmp_path).open_tcp("127.0.0.1", port) as client:
            assert client.getpeername() == ("127.0.0.1", port)
    with pytest.raises(Unreachable) as refused:
        connector(tmp_path).open_tcp("127.0.0.1", port)
    assert refused.value.stage == "connect"
    with pytest.raises(Unreachable) as unknown:
        connector(tmp_path).open_tcp("palace.invalid", 1)
    assert unknown.value.stage == "resolve"


def test_the_answer_of_a_path_that_vanished(tmp_path: Path) -> None:
    facts = connector(tmp_path).collect(Request(NONCE, paths=(PathQuestion("~/gone"),)))
    assert facts.paths["~/gone"].state is State.ABSENT
