"""A good target is described by lines that load, and it holds by them."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.homes import Homes
from support.loopback import free_port

from fleet.cli.main import cli
from fleet.inventory.load import load_inventory

TOKEN = "tok-EXAMPLE-learned-77"


ONLY = ("--system", "env,mempalace-bridge")
"""Other tests may run a palace, or a pi, as this user on this machine."""


def invoke(*words: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(cli, list(words))
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture
def alone(homes: Homes) -> Path:
    """A home with a bridge and a palace of its own; the inventory is gone."""
    lines = [line for line in homes.inventory.read_text().splitlines() if "palace_" not in line]
    text = "\n".join(lines).replace("device: one", "agent_name: pim")
    homes.inventory.write_text(text)
    homes.run("provision", "--limit", "one", "--yes")
    homes.inventory.unlink()
    return homes.home("one")


def test_the_lines_load_and_the_target_holds_by_them(alone: Path, tmp_path: Path) -> None:
    code, text, _ = invoke("learn", f"local:{alone}", *ONLY, "--name", "desk")
    assert code == 0, text
    (tmp_path / "learned.yml").write_text(text)
    (target,) = load_inventory(tmp_path / "learned.yml").targets
    assert target.name == "desk"
    assert target.systems == ("env", "mempalace-bridge")
    assert target.variables == {"toolkit": "~/mempalace-toolkit", "agent_name": "pim"}
    assert {"stamp", "notify", "remote"} <= set(target.require)
    assert "bash -lc" in target.launches
    code, output, _ = invoke("audit", "-i", str(tmp_path / "learned.yml"), "--format", "json")
    told = json.loads(output)
    assert code == 0, [f for f in told["findings"] if f["required"] and f["verdict"] != "pass"]
    assert told["targets"][0]["require"] == list(target.require)


def test_the_comments_tell_what_was_seen(alone: Path) -> None:
    _, text, _ = invoke("learn", f"local:{alone}", *ONLY, "--quiet")
    assert text.startswith(f"# local:{alone}, as it was on ")
    assert "~/.pi/agent/extensions/mempalace.ts leads there" in text
    assert "MEMPALACE_AGENT_NAME of " in text


def test_a_secret_is_a_reference_and_the_url_is_kept(
    homes: Homes, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("FLEET_TEST_TOKEN", TOKEN)
    homes.run("provision", "--limit", "one", "--yes")
    monkeypatch.delenv("FLEET_TEST_TOKEN")
    monkeypatch.setenv("MEMPALACE_REMOTE_TOKEN", TOKEN)
    code, text, _ = invoke(
        "learn", f"local:{homes.home('one')}", *ONLY, "-o", str(tmp_path / "out.yml")
    )
    text = (tmp_path / "out.yml").read_text()
    assert code == 2  # its palace does not run
    assert "# fail: flip.path: " in text
    assert TOKEN not in text
    (target,) = load_inventory(tmp_path / "out.yml").targets
    assert str(target.variables["palace_token"]) == "!secret env:MEMPALACE_REMOTE_TOKEN"
    assert str(target.variables["palace_url"]).startswith("http://127.0.0.1:")
    assert target.variables["device"] == "one"


def test_what_a_target_says_is_never_a_template_or_a_line_of_its_own(
    alone: Path, tmp_path: Path
) -> None:
    hostile = "a: b # c {{ lookup }}"
    (alone / ".config/pi/.env").write_text(
        f"MEMPALACE_AGENT_NAME='{hostile}'\nMEMPALACE_PI_SSH_TARGET='x: [y, #z'\n"
    )
    _, text, _ = invoke("learn", f"local:{alone}", *ONLY)
    assert "agent_name is left out" in text
    (tmp_path / "l.yml").write_text(text)
    (target,) = load_inventory(tmp_path / "l.yml").targets
    assert target.variables["pi_ssh_target"] == "x: [y, #z"
    assert "agent_name" not in target.variables


def test_who_cannot_be_asked_teaches_nothing() -> None:
    code, text, error = invoke("learn", f"ssh://u@127.0.0.1:{free_port()}")
    assert code != 0
    assert text == ""
    assert "127.0.0.1" in error


def test_a_name_that_cannot_be_one_is_refused(alone: Path) -> None:
    code, _, error = invoke("learn", f"local:{alone}", *ONLY, "--name", "a,b")
    assert code == 1
    assert "cannot be a name" in error
