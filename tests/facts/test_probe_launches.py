"""What a way of launching exports is asked of the real shell, with its real rc files."""

import shutil
import time
from pathlib import Path

import pytest
from support.places import CASES
from support.probing import NONCE, Shell, answer, ended, otherwise

from fleet.facts.compile import probe_script
from fleet.facts.paths import State
from fleet.facts.request import CommandQuestion, LaunchQuestion, Read, Request
from fleet.facts.running import EnvValue, LaunchFact
from fleet.secrets import keyed_digest

TOKEN = "tok-EXAMPLE-canary"


def launched(
    shell: Shell, home: Path, question: LaunchQuestion, *, seconds: int = 10, **more: str
) -> LaunchFact:
    request = Request(NONCE, launches=(question,), seconds=seconds)
    return shell.facts(request, home=home, more=more).launches[question.launch]


def secret(value: str) -> EnvValue:
    return EnvValue(set=True, length=len(value.encode()), digest=keyed_digest(NONCE, value))


def program(path: Path, text: str = "#!/bin/sh\n") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def test_only_what_is_exported_is_seen(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / ".bash_profile").write_text(
        f"export PUBLIC='a  b\n c\n\n' SECRET=\"{TOKEN}\n\" EMPTY=\nPLAIN=x\n"
    )
    question = LaunchQuestion(
        "bash -lc", public=("PUBLIC", "PLAIN", "EMPTY"), secret=("SECRET", "MISSING", "HOME")
    )
    fact = launched(shell, tmp_path, question)
    assert fact.state == "ok"
    assert fact.variables == {
        "PUBLIC": EnvValue(set=True, length=9, value="a  b\n c\n\n"),
        "PLAIN": EnvValue(set=False),
        "EMPTY": EnvValue(set=True, value=""),
        "SECRET": secret(f"{TOKEN}\n"),
        "MISSING": EnvValue(set=False),
        "HOME": secret(str(tmp_path)),
    }


def test_a_secret_is_nowhere_in_program_or_answer(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / ".bash_profile").write_text(f"export SECRET={TOKEN}; echo {TOKEN[:3]}; set -x\n")
    request = Request(NONCE, launches=(LaunchQuestion("bash -lc", secret=("SECRET",)),))
    done = shell.run(probe_script(request), home=tmp_path)
    assert TOKEN.encode() not in done.stdout + done.stderr
    assert keyed_digest(NONCE, TOKEN).encode() in done.stdout


def test_b12_loader_that_is_never_sourced(shell: Shell) -> None:
    home = CASES / "B12" / "home"
    url = ("MEMPALACE_REMOTE_URL",)
    sourced = launched(shell, home, LaunchQuestion("bash -ic", public=url))
    assert sourced.variables[url[0]].value == "https://palace.example.net/mcp"
    for launch in ("bash -lc", "bash -c", "zsh -ic"):
        if shutil.which(launch.split()[0]):
            fact = launched(shell, home, LaunchQuestion(launch, public=url))
            assert (fact.state, fact.variables[url[0]].set) == ("ok", False), launch


def test_noise_from_rc_files_is_no_answer(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / ".bash_profile").write_text(
        "printf 'no end of line'; echo '@fleet x'; echo warning >&2\nexport A=1\n"
    )
    fact = launched(shell, tmp_path, LaunchQuestion("bash -lc", public=("A",)))
    assert fact.variables["A"].value == "1"


def test_container_launch_is_the_probes_own_environment(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / ".bash_profile").write_text("export A=rc\n")
    question = LaunchQuestion("container", public=("A", "LC_ALL", "PATH"))
    fact = launched(shell, tmp_path, question, A="own", LC_ALL="C.UTF-8")
    assert fact.variables["A"].value == "own"
    assert fact.variables["LC_ALL"].value == "C.UTF-8"
    assert fact.variables["PATH"].value == shell.path


def test_the_probe_leaves_no_trace_in_the_environment(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / ".bash_profile").write_text("env >~/seen\n")
    launched(shell, tmp_path, LaunchQuestion("bash -lc"))
    names = {line.split("=")[0] for line in (tmp_path / "seen").read_text().splitlines()}
    assert not [name for name in names if name.lower().startswith("fleet")]
    assert "LC_ALL" not in names


@pytest.mark.parametrize("launch", ["env -i HOME=~ bash -lc", "env - /bin/sh -c"])
def test_a_launch_that_clears_the_environment_is_seen_as_it_is(
    shell: Shell, tmp_path: Path, launch: str
) -> None:
    (tmp_path / ".bash_profile").write_text("export A='own, by rc'\n")
    question = LaunchQuestion(
        launch.replace("~", str(tmp_path)), public=("A", "B"), secret=("HOME",)
    )
    fact = launched(shell, tmp_path, question, B="the probe's own")
    assert fact.state == "ok", fact.why
    assert fact.variables["A"].value == ("own, by rc" if "bash" in launch else None)
    assert not fact.variables["B"].set


@pytest.mark.skipif(shutil.which("zsh") is None, reason="no zsh on this machine")
def test_zsh_without_rc_files_does_not_ask_its_new_user(dash: Shell, tmp_path: Path) -> None:
    fact = launched(dash, tmp_path, LaunchQuestion("zsh -ilc", public=("HOME",)))
    assert (fact.state, fact.variables["HOME"].value) == ("ok", str(tmp_path))


def test_missing_shell(shell: Shell, tmp_path: Path) -> None:
    fact = launched(shell, tmp_path, LaunchQuestion("fish -ic", public=("A",)))
    assert (fact.state, fact.variables) == ("missing", {})
    assert "fish" in (fact.why or "")


def test_failed_launch(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / ".bash_profile").write_text("exit 3\n")
    fact = launched(shell, tmp_path, LaunchQuestion("bash -lc", public=("A",)))
    assert fact.state == "failed"
    assert fact.why == "it ended with status 3 without running its command"


@pytest.mark.parametrize(
    ("rc", "how"),
    [
        ("kill -9 $$", "status 137, that of signal 9 (KILL),"),
        ("kill -15 $$", "status 143, that of signal 15 (TERM),"),
        ("kill -11 $$", "status 139, that of signal 11 (SEGV),"),
        ("exit 124", "status 124"),
        ("exit 255", "status 255"),
    ],
)
@pytest.mark.parametrize("found", ['_program timeout "$PATH"', "false"], ids=["timeout", "none"])
def test_a_launch_that_its_own_rc_file_ends_was_not_slow(
    shell: Shell, tmp_path: Path, rc: str, how: str, found: str
) -> None:
    (tmp_path / ".bash_profile").write_text(f"{rc}\n")
    request = Request(NONCE, launches=(LaunchQuestion("bash -lc", public=("A",)),), seconds=9)
    script = otherwise(probe_script(request), '_program timeout "$PATH"', found)
    fact = answer(shell.run(script, home=tmp_path).stdout, request).launches["bash -lc"]
    assert fact.state == "failed"
    assert fact.why == f"it ended with {how} without running its command"


def test_launch_that_hangs_is_ended(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / ".bash_profile").write_text("trap '' TERM INT HUP; echo $$ >~/pid; sleep 30\n")
    started = time.monotonic()
    fact = launched(shell, tmp_path, LaunchQuestion("bash -lc", public=("A",)), seconds=1)
    assert fact.state == "timeout"
    assert "1 s" in (fact.why or "")
    assert time.monotonic() - started < 10
    assert ended((tmp_path / "pid").read_text())


def test_time_limit_without_timeout_of_coreutils(
    all_shells: dict[str, Shell], tmp_path: Path
) -> None:
    busybox = all_shells.get("busybox")
    if busybox is None or "dash" not in all_shells:
        pytest.skip("no busybox or no dash on this machine")
    tools = tmp_path / "tools"
    shutil.copytree(busybox.path, tools, symlinks=True)
    (tools / "timeout").unlink()
    old = Shell(all_shells["dash"].words, str(tools))  # busybox's own sh has timeout built in
    script_home = tmp_path / "home"
    script_home.mkdir()
    (script_home / ".bash_profile").write_text("export A=1\n")
    request = Request(NONCE, launches=(LaunchQuestion("bash -lc", public=("A",)),), seconds=3)
    # The probe looks in the usual folders too, where this machine has a `timeout`.
    usual = "PATH=$PATH:/usr/local/bin:/usr/bin:/bin"
    script = otherwise(probe_script(request), usual, "PATH=$PATH")
    assert b"launch\tl0\t=ok" in old.run(script, home=script_home).stdout
    (script_home / ".bash_profile").write_text("sleep 30\n")
    started = time.monotonic()
    assert b"launch\tl0\t=timeout" in old.run(script, home=script_home).stdout
    assert time.monotonic() - started < 10


def test_what_rc_files_leave_in_the_background_does_not_hold_the_answer(
    shell: Shell, tmp_path: Path
) -> None:
    (tmp_path / ".bash_profile").write_text("sleep 20 & echo $! >~/pid\nexport A=1\n")
    started = time.monotonic()
    fact = launched(shell, tmp_path, LaunchQuestion("bash -lc", public=("A",)))
    assert fact.variables["A"].value == "1"
    assert time.monotonic() - started < 10


def test_commands_are_looked_up_on_the_path_of_the_launch(shell: Shell, tmp_path: Path) -> None:
    package = tmp_path / "lib/node_modules/pi"
    program(package / "dist/cli.js", "#!/usr/bin/env node\n")
    (package / "package.json").write_text('{"name": "pi"}\n')
    (tmp_path / "my bin").mkdir()
    (tmp_path / "my bin/pi").symlink_to("../lib/node_modules/pi/dist/cli.js")
    (tmp_path / "first").mkdir()
    (tmp_path / "first/pi").write_text("not executable")
    (tmp_path / "first/node").mkdir()
    program(tmp_path / "second/pi", f"#!/bin/sh\ntouch {tmp_path}/was-run\n")
    path = f"{tmp_path}/nowhere:{tmp_path}/first:{tmp_path}/my bin:{tmp_path}/second"
    (tmp_path / ".bash_profile").write_text(f"export PATH='{path}'\n")
    question = LaunchQuestion(
        "bash -lc",
        commands=(
            CommandQuestion("pi", Read.HASH, manifest=True),
            CommandQuestion("node"),
            CommandQuestion("two words", manifest=True),
        ),
    )
    facts = shell.facts(Request(NONCE, launches=(question,)), home=tmp_path)
    commands = facts.launches["bash -lc"].commands
    pi = commands["pi"]
    assert pi.file is not None
    assert pi.file.path == f"{tmp_path}/my bin/pi"
    assert pi.file.final == str(package / "dist/cli.js")
    assert pi.file.sha256 is not None
    assert facts.content(pi.manifest) == b'{"name": "pi"}\n'
    assert commands["node"].file is None
    assert commands["two words"].file is None
    assert commands["two words"].manifest is None
    assert not (tmp_path / "was-run").exists()


def test_a_command_without_manifest(shell: Shell, tmp_path: Path) -> None:
    program(tmp_path / "bin/pi")
    (tmp_path / ".bash_profile").write_text("export PATH=~/bin\n")
    question = LaunchQuestion("bash -lc", commands=(CommandQuestion("pi", manifest=True),))
    pi = launched(shell, tmp_path, question).commands["pi"]
    assert pi.file is not None
    assert pi.file.state is State.PRESENT
    assert pi.manifest is None
