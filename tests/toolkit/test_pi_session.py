"""The transcript exporter: what it keeps, what it leaves out, where it puts it."""

from __future__ import annotations

import fcntl
import json
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.http import Json
from support.pi import HELPER

LONG = "The lock keeper opens the northern gate at six and closes it when the heron sleeps. " * 3
IDENTITY = "0199aaaa-bbbb-7ccc-8ddd-eeeeffff0001"


@dataclass(frozen=True, slots=True)
class Machine:
    """A scratch home with pi sessions, and a PATH of its own."""

    home: Path

    @property
    def stage(self) -> Path:
        return self.home / ".local/state/mempalace-pi-session/export"

    @property
    def programs(self) -> Path:
        return self.home / "bin"

    def session(
        self, *turns: tuple[str, object], stem: str = f"2026-11-30T10-00-00-000Z_{IDENTITY}"
    ) -> Path:
        """Write a session of the 1.x layout, with all that surrounds the conversation."""
        header = {"type": "session", "version": 3, "id": IDENTITY, "cwd": "/home/u/lock"}
        entries: list[Json] = [
            {**header, "timestamp": "2026-11-30T10:00:00.000Z"},
            message("system", "", sections={"preamble": "SYSTEM-PROMPT"}),
            {"type": "model_change", "provider": "p", "modelId": "m"},
            {"type": "custom_message", "customType": "mempalace-wakeup", "content": "WAKE-UP"},
            *(message(role, content) for role, content in turns),
        ]
        path = self.home / ".pi/agent/sessions/--home-u-lock--" / f"{stem}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
        return path

    def run(self, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
        base = {"PATH": f"{self.programs}:/usr/bin:/bin", "HOME": str(self.home)}
        return subprocess.run(
            [HELPER, *arguments],
            env={**base, **env},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )

    def prepare(self, **env: str) -> subprocess.CompletedProcess[str]:
        return self.run("--prepare", "--reason", "test", "--wing", "wing_x", **env)

    def exported(self, **env: str) -> str:
        """Prepare, and return the text of the only export."""
        ended = self.prepare(**env)
        assert ended.returncode == 0, ended.stderr
        (path,) = self.stage.glob("*.pi.txt")
        return path.read_text()

    def program(self, name: str, exit_code: int = 0) -> Path:
        """Place a program that writes its arguments, one a line, into a log."""
        self.programs.mkdir(exist_ok=True)
        log = self.home / f"{name}.log"
        (self.programs / name).write_text(
            f"#!/bin/sh\nprintf '%s\\n' \"$@\" >> '{log}'\nexit {exit_code}\n"
        )
        (self.programs / name).chmod(0o755)
        return log


def message(role: str, content: object, **more: object) -> Json:
    return {"type": "message", "message": {"role": role, "content": content, **more}}


def text(words: str) -> list[Json]:
    return [{"type": "text", "text": words}]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_a_session_becomes_a_readable_transcript(machine: Machine) -> None:
    answer = [
        {"type": "thinking", "thinking": "THOUGHT"},
        {"type": "notice", "text": "NOT-SAID"},
        {"type": "text", "text": f"{LONG}\n> quoted"},
        {"type": "toolCall", "name": "bash", "arguments": {"command": "ARGUMENT"}},
    ]
    machine.session(
        ("user", "When does the gate open?\nAnd close?"),
        ("assistant", answer),
        ("toolResult", text("TOOL-OUTPUT")),
        ("user", text("Thanks.")),
    )
    ended = machine.prepare(MEMPALACE_PI_DEVICE="laptop")
    (path,) = machine.stage.glob("*.pi.txt")
    assert ended.stdout == f"MINE_SOURCE={machine.stage}\n"
    assert path.name == f"2026-11-30T10-00-00-000Z_{IDENTITY}.pi.txt"
    assert path.read_text() == (
        "# When does the gate open?\n"
        f"pi session {IDENTITY} on laptop\n"
        "started 2026-11-30T10:00:00.000Z in /home/u/lock\n\n"
        "> When does the gate open?\nAnd close?\n\n"
        f"{LONG}\n\\> quoted\n\n"
        "> Thanks.\n"
    )


def test_the_layout_of_older_versions_is_read(machine: Machine) -> None:
    path = machine.session()
    lines: list[Json] = [
        {"type": "session", "id": "old", "timestamp": "2026-01-01T00:00:00Z", "cwd": "/w"},
        {"type": "message", **message("user", "When?")},
        {"type": "message", **message("assistant", text(LONG))},
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert LONG.strip() in machine.exported()


@pytest.mark.parametrize(
    ("turns", "kept"),
    [
        ([("user", "hi"), ("assistant", text("Hello."))], False),
        ([("user", LONG)], False),
        ([("assistant", text(LONG))], False),
        ([("user", f"<private>{LONG}</private>"), ("assistant", text("Noted."))], False),
        ([("user", "When?"), ("assistant", text(LONG))], True),
    ],
    ids=["too short", "no answer", "no question", "only private", "worth keeping"],
)
def test_the_quality_threshold(
    machine: Machine, turns: list[tuple[str, object]], kept: bool
) -> None:
    machine.session(*turns)
    ended = machine.prepare()
    assert (ended.returncode, bool(ended.stdout)) == (0, kept)
    assert len(list(machine.stage.glob("*"))) == kept


def test_the_threshold_can_be_moved(machine: Machine) -> None:
    machine.session(("user", "hi"), ("assistant", text("Hello.")))
    assert machine.run("--prepare", "--min-chars", "5").stdout.startswith("MINE_SOURCE=")
    assert machine.run("--prepare", "--min-chars", "5", "--min-turns", "2").stdout == ""


@pytest.mark.parametrize(
    "said",
    [
        "before <private>the vault is under the mill</private> after",
        "before <Private >\nthe vault is under the mill\n</ private> after",
        "after, before <private>the vault is under the mill",
    ],
)
def test_private_text_is_left_out_also_when_repeated(machine: Machine, said: str) -> None:
    echo = "As you said: the vault is under the mill"
    machine.session(("user", said), ("assistant", text(LONG + echo)), ("user", "ok, bye"))
    exported = machine.exported()
    assert "vault" not in exported
    assert "As you said: [private]" in exported
    assert all(word in exported for word in ("before", "after"))


KEYS = [
    "sk-ant-api03-EXAMPLEexampleEXAMPLE",
    "sk_live_EXAMPLEexample0000",
    "ghp_EXAMPLEexample0123456789abcdef",
    "github_pat_EXAMPLE_example0123456789",
    "glpat-EXAMPLEexample01234",
    "xoxb-1234567890-EXAMPLE",
    "AKIAEXAMPLEEXAMPLE12",
    "AIzaEXAMPLEexample0123456789abcdefghij",
    "eyJhbGciOiJFWEFNUExF.eyJzdWIiOiJFWEFNUExF.c2lnbmF0dXJl",
    "tok-EXAMPLE-palace",
    "Q7xR2mV9kLp4Zt8WbN3sYc6HdJf1GaEu5TgB0oXiKqM",
]


@pytest.mark.parametrize("key", KEYS)
def test_what_looks_like_a_key_is_redacted(machine: Machine, key: str) -> None:
    machine.session(("user", f"Use {key}, please"), ("assistant", text(f"{LONG} `{key}`")))
    exported = machine.exported()
    assert key not in exported
    assert "Use [redacted], please" in exported
    assert LONG.strip() in exported


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("password: hunter2hunter2", "password: [redacted]"),
        ('{"api_key": "abcdef ghijk"}', '{"api_key": [redacted]}'),
        ("export DB_PASSWORD='pa ss'", "export DB_PASSWORD=[redacted]"),
        ("Authorization: Bearer abcdefghijk", "Authorization: Bearer [redacted]"),
        ("git clone https://me:pw123456@example.net/x", "https://[redacted]@example.net/x"),
        ("at -----BEGIN RSA PRIVATE KEY-----\nMIIE\n", "at [redacted]"),
        ("my-own-value-9", "[redacted]"),
    ],
)
def test_secrets_are_known_by_their_place(machine: Machine, said: str, shown: str) -> None:
    machine.session(("user", said), ("assistant", text(LONG)))
    assert shown in machine.exported(SOME_API_KEY="my-own-value-9")


@pytest.mark.parametrize(
    "harmless",
    [
        "commit 3f2a9c1d4e5b60718293a4b5c6d7e8f901234567",
        IDENTITY,
        "/home/user/projects/mempalace-toolkit/extensions/pi/mempalace.ts",
        "MEMPALACE_FEED_PREPARE_TIMEOUT_MS",
        "max_tokens: 4096, and a secret is a secret",
        "the token budget and passwords in general",
        "the-quick-brown-fox-jumps-over-the-lazy-dog",
    ],
)
def test_ordinary_text_is_kept(machine: Machine, harmless: str) -> None:
    machine.session(("user", harmless), ("assistant", text(LONG)))
    assert harmless in machine.exported()


def test_damage_costs_only_the_damaged_line(machine: Machine) -> None:
    path = machine.session(("user", "When?"), ("assistant", text(LONG)))
    with path.open("ab") as out:
        out.write(b'\xff\xfe not json\n[1]\n{"type": "message", "message": 5}\n')
        out.write(b'{"type": "message", "message": {"role": "user", "content": "cut of')
    (path.parent / "other.jsonl").write_text("{}\n")
    ended = machine.prepare()
    assert "1 sessions staged" in ended.stderr
    assert "1 not readable" in ended.stderr


def test_a_session_that_no_longer_passes_leaves_the_stage(machine: Machine) -> None:
    path = machine.session(("user", "When?"), ("assistant", text(LONG)))
    machine.session(("user", "Who?"), ("assistant", text(LONG)), stem="other")
    machine.prepare()
    before = {p.name: p.stat().st_mtime_ns for p in machine.stage.iterdir()}
    path.unlink()
    machine.prepare()
    after = {p.name: p.stat().st_mtime_ns for p in machine.stage.iterdir()}
    assert set(before) - set(after) == {f"{path.stem}.pi.txt"}
    assert after["other.pi.txt"] == before["other.pi.txt"]


def test_the_stage_is_for_its_owner_only(machine: Machine) -> None:
    machine.session(("user", "When?"), ("assistant", text(LONG)))
    old = os.umask(0)
    try:
        machine.prepare()
    finally:
        os.umask(old)
    modes = [path.stat().st_mode & 0o777 for path in (machine.stage, *machine.stage.iterdir())]
    assert modes == [0o700, 0o600]


def test_a_second_export_gives_way(machine: Machine) -> None:
    machine.session(("user", "When?"), ("assistant", text(LONG)))
    machine.prepare()
    with (machine.stage.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        ended = machine.prepare()
    assert (ended.returncode, ended.stdout) == (0, "")
    assert "another export is running" in ended.stderr
    assert machine.prepare().stdout != ""


def test_a_machine_without_sessions_is_no_error(machine: Machine) -> None:
    ended = machine.prepare()
    assert (ended.returncode, ended.stdout) == (0, "")
    assert "pi has kept no session yet" in ended.stderr


def test_sessions_are_found_where_pi_was_told_to_keep_them(machine: Machine) -> None:
    path = machine.session(("user", "When?"), ("assistant", text(LONG)))
    moved = machine.home / "elsewhere"
    path.parent.parent.rename(moved)
    assert "MINE_SOURCE" in machine.prepare(PI_CODING_AGENT_SESSION_DIR=str(moved)).stdout
    assert machine.prepare().stdout == ""


class TestSharedPalace:
    REMOTE = "https://palace.example.net/mcp"

    def remote(
        self, machine: Machine, *arguments: str, **env: str
    ) -> subprocess.CompletedProcess[str]:
        machine.session(("user", "When?"), ("assistant", text(LONG)))
        given = {
            "MEMPALACE_REMOTE_URL": self.REMOTE,
            "MEMPALACE_PI_SSH_TARGET": "me@palace.example.net",
            "MEMPALACE_PI_DEVICE": "laptop",
            **env,
        }
        return machine.run(*arguments, **given)

    def test_the_stage_is_copied_and_the_path_there_is_printed(self, machine: Machine) -> None:
        log = machine.program("rsync")
        ended = self.remote(machine, "--prepare")
        arguments = log.read_text().splitlines()
        assert ended.stdout == "MINE_SOURCE=~/mempalace-inbox/pi/laptop\n"
        assert arguments[-2:] == [
            f"{machine.stage}/",
            "me@palace.example.net:mempalace-inbox/pi/laptop/",
        ]
        assert "--rsync-path=mkdir -p ./mempalace-inbox/pi/laptop && rsync" in arguments
        assert "--delete" not in arguments

    def test_ssh_configuration_and_inbox_are_the_users(self, machine: Machine) -> None:
        log = machine.program("rsync")
        env = {
            "MEMPALACE_PI_SSH_CONFIG": "~/my config",
            "MEMPALACE_PI_REMOTE_PATH": "/srv/inbox/",
        }
        ended = self.remote(machine, "--prepare", **env)
        assert ended.stdout == "MINE_SOURCE=/srv/inbox/laptop\n"
        assert f"-F '{machine.home}/my config'" in log.read_text()

    def test_without_a_target_nothing_is_fed(self, machine: Machine) -> None:
        log = machine.program("rsync")
        ended = self.remote(machine, "--prepare", MEMPALACE_PI_SSH_TARGET="")
        assert (ended.returncode, ended.stdout, log.exists()) == (0, "", False)
        assert "MEMPALACE_PI_SSH_TARGET is not set" in ended.stderr

    def test_without_a_shared_palace_nothing_is_copied(self, machine: Machine) -> None:
        log = machine.program("rsync")
        ended = self.remote(machine, "--prepare", MEMPALACE_REMOTE_URL="")
        assert ended.stdout == f"MINE_SOURCE={machine.stage}\n"
        assert not log.exists()

    def test_a_failed_copy_prints_no_source(self, machine: Machine) -> None:
        machine.program("rsync", exit_code=12)
        ended = self.remote(machine, "--prepare")
        assert (ended.returncode, ended.stdout) == (1, "")
        assert "rsync ended with exit code 12" in ended.stderr

    @pytest.mark.parametrize(
        "env",
        [
            {"MEMPALACE_PI_SSH_TARGET": "-oProxyCommand=touch"},
            {"MEMPALACE_PI_SSH_TARGET": "host:path"},
            {"MEMPALACE_PI_REMOTE_PATH": "/srv/$(reboot)"},
            {"MEMPALACE_PI_REMOTE_PATH": "/srv/../etc"},
        ],
    )
    def test_a_hostile_setting_is_refused(self, machine: Machine, env: dict[str, str]) -> None:
        log = machine.program("rsync")
        ended = self.remote(machine, "--prepare", **env)
        assert (ended.returncode, ended.stdout, log.exists()) == (1, "", False)
        assert next(iter(env)) in ended.stderr
        assert "Traceback" not in ended.stderr

    def test_alone_it_mines_on_the_palace_host(self, machine: Machine) -> None:
        machine.program("rsync")
        log = machine.program("ssh")
        ended = self.remote(machine, "--wing", "wing_x")
        assert (ended.returncode, ended.stdout) == (0, "")
        assert log.read_text().splitlines()[-1] == (
            "mempalace mine mempalace-inbox/pi/laptop --mode convos --wing wing_x"
        )


def test_alone_it_mines_the_local_palace(machine: Machine) -> None:
    log = machine.program("mempalace")
    machine.session(("user", "When?"), ("assistant", text(LONG)))
    assert machine.run("--wing", "wing_x").stdout == ""
    arguments = ["mine", str(machine.stage), "--mode", "convos", "--wing", "wing_x"]
    assert log.read_text().splitlines() == arguments


def test_prepare_touches_no_palace(machine: Machine) -> None:
    log = machine.program("mempalace")
    machine.session(("user", "When?"), ("assistant", text(LONG)))
    machine.prepare()
    assert not log.exists()


def test_help_names_every_option_and_variable_in_80_columns(machine: Machine) -> None:
    ended = machine.run("--help", COLUMNS="80")
    source = HELPER.read_text()
    options = ("--prepare", "--reason", "--wing", "--sessions", "--stage", "--min-turns")
    read = set(re.findall(r'"((?:MEMPALACE|PI_CODING|XDG)_[A-Z_]+)"', source))
    assert ended.returncode == 0
    assert len(read) >= 8
    assert all(word in ended.stdout for word in (*options, *read, "MINE_SOURCE"))
    assert max(len(line) for line in ended.stdout.splitlines()) <= 80


@pytest.mark.parametrize("arguments", [("--nope",), ("--min-turns", "x"), ("extra",)])
def test_wrong_arguments_are_told(machine: Machine, arguments: tuple[str, ...]) -> None:
    ended = machine.run(*arguments)
    assert ended.returncode == 2
    assert "Traceback" not in ended.stderr
