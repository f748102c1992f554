"""The base configuration: valid for the installed pi, and loaded by the shells as intended."""

from __future__ import annotations

import json
import plistlib
import re
import shutil
import subprocess
from pathlib import Path

import jsonschema
import pytest
from support.places import ROOT
from support.tools import PiTool

TOOLKIT = ROOT / "toolkit"


@pytest.mark.network
@pytest.mark.parametrize(
    ("name", "schema"), [("keybindings", "keybindings"), ("settings.example", "settings")]
)
def test_it_is_valid_for_the_installed_pi(pi: PiTool, name: str, schema: str) -> None:
    given = json.loads((TOOLKIT / "pi" / f"{name}.json").read_text())
    rules = json.loads((pi.package / "schemas" / f"{schema}.schema.json").read_text())
    jsonschema.validate(given, rules)
    assert set(given) <= set(rules["properties"])


@pytest.fixture(params=["bash", "zsh"])
def shell(request: pytest.FixtureRequest) -> str:
    if shutil.which(request.param) is None:
        pytest.skip(f"{request.param} is not installed")
    return str(request.param)


def source_twice(shell: str, home: Path, then: str, before: str = "") -> str:
    loader = TOOLKIT / "pi" / f"pi-env.{shell}"
    quiet = "--norc" if shell == "bash" else "-f"
    ended = subprocess.run(
        [shell, quiet, "-c", f"{before}\n. '{loader}'\n. '{loader}'\n{then}"],
        env={"HOME": str(home), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=20,
        check=True,
    )
    assert ended.stderr == ""
    return ended.stdout


def env_file(home: Path, content: bytes) -> None:
    path = home / ".config" / "pi" / ".env"
    path.parent.mkdir(parents=True)
    path.write_bytes(content)


def test_the_loader_exports_the_env_file(shell: str, tmp_path: Path) -> None:
    env_file(tmp_path, b'A=\'one two\'\nexport B="$A three"\nTRAIL="$TRAIL."\n')
    assert source_twice(shell, tmp_path, "printenv A B") == "one two\none two three\n"
    assert source_twice(shell, tmp_path, "C=1; printenv C || echo not exported") == (
        "not exported\n"
    )


def test_the_loader_leaves_a_set_allexport_alone(shell: str, tmp_path: Path) -> None:
    env_file(tmp_path, b"A=1\n")
    assert source_twice(shell, tmp_path, "C=1; printenv C", "set -a") == "1\n"


@pytest.mark.parametrize("content", [None, b"\0GITCRYPT\0touch it\n"], ids=["absent", "locked"])
def test_the_loader_is_silent_about_no_usable_file(
    shell: str, tmp_path: Path, content: bytes | None
) -> None:
    if content:
        env_file(tmp_path, content)
    assert source_twice(shell, tmp_path, "typeset -f _pi_env_load || echo clean", "set -u") == (
        "clean\n"
    )


def scheduled() -> dict[str, str]:
    """Return the command line of each recipe, as its scheduler hands it to sh."""
    bare = "PATH=/usr/bin:/bin:/usr/sbin:/sbin; "
    contrib = TOOLKIT / "contrib"
    cron = (contrib / "mempalace-pi-session.cron").read_text().splitlines()[-1]
    unit = (contrib / "mempalace-pi-session.service").read_text().splitlines()
    start = next(line for line in unit if line.startswith("ExecStart=/bin/sh -c '"))
    start = start.removeprefix("ExecStart=/bin/sh -c '").removesuffix("'")
    agent = plistlib.loads((contrib / "mempalace-pi-session.plist").read_bytes())
    assert agent["ProgramArguments"][:2] == ["/bin/sh", "-c"]
    assert "%" not in cron
    path = next(line for line in unit if line.startswith("Environment=PATH="))
    path = path.removeprefix("Environment=").replace("%h", "$HOME")
    return {
        "cron": bare + cron.removeprefix("*/30 * * * * "),
        "timer": f"{path}; {start}",
        "launchd": bare + agent["ProgramArguments"][2],
    }


@pytest.mark.parametrize("name", ["cron", "timer", "launchd"])
def test_the_schedulers_run_the_exporter(tmp_path: Path, name: str) -> None:
    """Run each recipe's command line as its scheduler would: by sh, with a bare environment."""
    programs = tmp_path / ".local" / "bin"
    programs.mkdir(parents=True)
    (programs / "mempalace-pi-session").write_text('#!/bin/sh\necho "$* url=$A_URL"\n')
    (programs / "mempalace-pi-session").chmod(0o755)
    env_file(tmp_path, b"A_URL=x\n")
    ended = subprocess.run(
        ["/bin/sh", "-c", scheduled()[name]],
        env={"HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    log = tmp_path / "Library" / "Logs" / "mempalace-pi-session.log"
    told = log.read_text() if name == "launchd" else ended.stdout
    assert told == f"--reason {name} url=x\n", ended.stderr


def test_the_launch_agent_runs_twice_an_hour() -> None:
    agent = plistlib.loads((TOOLKIT / "contrib" / "mempalace-pi-session.plist").read_bytes())
    assert agent["StartInterval"] == 1800
    assert agent["Label"] == "local.mempalace-pi-session"


#: What the bridge reads, with its default; None where it has none.
KNOBS = {
    "MEMPALACE_REMOTE_URL": None,
    "MEMPALACE_REMOTE_TOKEN": None,
    "MEMPALACE_PI_DEVICE": None,
    "MEMPALACE_AGENT_NAME": "pi",
    "MEMPALACE_MCP_TIMEOUT_MS": "60000",
    "MEMPALACE_MCP_INIT_TIMEOUT_MS": "300000",
    "MEMPALACE_MCP_MAX_RESPAWNS": "2",
    "MEMPALACE_MCP_RESPAWN_BACKOFF_MS": "1000",
    "MEMPALACE_FEED": "1",
    "MEMPALACE_FEED_BIN": "mempalace-pi-session",
    "MEMPALACE_FEED_WING": "wing_conversations",
    "MEMPALACE_FEED_DEBOUNCE_MS": "600000",
    "MEMPALACE_FEED_PREPARE_TIMEOUT_MS": "120000",
    "MEMPALACE_FEED_MINE_TIMEOUT_MS": "30000",
    "MEMPALACE_MAILBOX": "1",
    "MEMPALACE_MAILBOX_POLL_MS": "300000",
    "MEMPALACE_MAILBOX_NOTIFY": None,
    "MEMPALACE_EXT_DEBUG": None,
}


def test_every_setting_of_the_bridge_is_in_the_readme_with_its_default() -> None:
    bridge = (TOOLKIT / "extensions" / "pi" / "mempalace.ts").read_text()
    numbers = re.findall(r'count\("(MEMPALACE_\w+)", ([\d_]+)\)', bridge)
    words = re.findall(r'text\("(MEMPALACE_\w+)"\)(?: \?\? "(.*?)")?', bridge)
    read = {name: value.replace("_", "") for name, value in numbers}
    read |= {name: value or None for name, value in words}
    readme = (TOOLKIT / "README.md").read_text()
    rows = re.findall(r"^\| `(MEMPALACE_\w+)` \| (?:`(.*?)`)? ?\|", readme, re.MULTILINE)
    told = {name: value or None for name, value in rows}
    switches = {"MEMPALACE_FEED", "MEMPALACE_MAILBOX"}
    assert told == KNOBS
    assert read == {name: None if name in switches else KNOBS[name] for name in KNOBS}
