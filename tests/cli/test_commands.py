"""The commands that connect to nothing, and ``facts``."""

import json
from pathlib import Path

import pytest
from support.cli import FakeEngine, invoke
from support.crafted import craft


def test_gates_lists_the_catalogue() -> None:
    result = invoke("gates")
    assert result.exit_code == 0
    assert "bridge.feed" in result.stdout
    assert "for feed" in result.stdout
    assert all(len(line) <= 80 for line in result.stdout.splitlines())


def test_gates_of_one_system_as_json() -> None:
    told = json.loads(invoke("gates", "--system", "env", "--format", "json").stdout)
    assert told["format"] == "fleet.gates/1"
    assert {gate["system"] for gate in told["gates"]} == {"env"}
    assert {"id", "asks", "required", "severity", "since", "remedy"} <= set(told["gates"][0])


def test_explaining_a_gate() -> None:
    text = invoke("explain", "bridge.feed").stdout
    for told in ("29e660e (2026-08-12)", "MEMPALACE_FEED", "never fed", "rebuild the image"):
        assert told in text
    assert (
        json.loads(invoke("explain", "bridge.feed", "--format", "json").stdout)["gives"] == "feed"
    )


def test_an_explanation_tells_who_can_fix_it_and_what_the_source_is() -> None:
    text = " ".join(invoke("explain", "env.mode").stdout.split())
    assert "by hand chmod 600 it" in text
    assert "by fleet `fleet fix env.mode` deploys file again" in text
    assert "decided by A file that holds secrets is its owner's alone." in text
    assert "failures from public bug reports" in text
    assert "none: a person has to" in " ".join(invoke("explain", "bridge.seen").stdout.split())


def test_gates_of_the_fleet_are_listed_and_explained() -> None:
    assert "fleet.devices" in invoke("gates").stdout
    text = " ".join(invoke("explain", "fleet.devices").stdout.split())
    assert "two machines share a mailbox" in text
    assert "are compared" in text
    told = json.loads(invoke("explain", "bridge.fresh", "--format", "json").stdout)
    assert (told["system"], told["fixed_by"]) == ("fleet", [])


def test_a_mistyped_gate_is_told_its_neighbour() -> None:
    result = invoke("explain", "bridge.fed")
    assert result.exit_code == 1
    assert "did you mean `bridge.feed`?" in result.stderr


def test_init_writes_once(here: Path) -> None:
    result = invoke("init")
    assert result.exit_code == 0
    assert (here / "inventory" / "fleet.yml").read_text(encoding="utf-8").startswith("# The fleet")
    assert "wrote inventory/fleet.yml" in result.stdout
    (here / "inventory" / "fleet.yml").write_text("mine", encoding="utf-8")
    again = invoke("init")
    assert again.exit_code == 1
    assert "it stays" in again.stderr
    assert (here / "inventory" / "fleet.yml").read_text(encoding="utf-8") == "mine"


def test_init_elsewhere(here: Path) -> None:
    assert invoke("init", "machines").exit_code == 0
    assert (here / "machines" / "fleet.yml").exists()


def test_inventory_check_list_and_schema() -> None:
    checked = invoke("inventory", "check").stdout
    assert checked == "note: a note\nfleet.yml: 3 targets, no mistakes\n"
    listed = invoke("inventory", "list", "--limit", "desk").stdout
    assert "desk  ssh://desk  mempalace-bridge" in listed
    assert "laptop" not in listed
    told = json.loads(invoke("inventory", "list", "--format", "json").stdout)
    assert [t["name"] for t in told["targets"]] == ["laptop", "desk", "vault"]
    assert json.loads(invoke("inventory", "schema").stdout)["properties"]


def test_inventory_show() -> None:
    assert "ssh://laptop" in invoke("inventory", "show", "laptop").stdout
    result = invoke("inventory", "show", "laptp")
    assert result.exit_code == 1
    assert "did you mean `laptop`?" in result.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_script(shell: str) -> None:
    text = invoke("completion", shell).stdout
    assert "_FLEET_COMPLETE" in text
    assert "fleet" in text


def test_facts_are_saved_one_file_a_target(here: Path) -> None:
    result = invoke("facts", "laptop", "-o", "saved", engine=FakeEngine(craft("mixed")))
    assert result.exit_code == 3  # attic could not be asked
    assert "attic: the host key is not the one that is known" in result.stderr
    saved = sorted((here / "saved").glob("*.json"))
    assert len(saved) == 5
    assert {path.stat().st_mode & 0o777 for path in saved} == {0o600}
    assert json.loads(saved[0].read_text(encoding="utf-8"))["format"] == "fleet.facts/1"


def test_nobody_is_asked_where_facts_cannot_be_saved(here: Path) -> None:
    (here / "saved").mkdir()
    (here / "saved/contents").write_text("in the way")
    result = invoke("facts", "-o", "saved", engine=FakeEngine(craft("mixed")))
    assert result.exit_code == 1
    assert "saved/contents" in result.stderr
    assert "could not be asked" not in result.stderr
    assert [path.name for path in (here / "saved").iterdir()] == ["contents"]


def test_facts_on_stdout_are_one_document_a_line() -> None:
    lines = invoke("facts", engine=FakeEngine(craft("image"))).stdout.splitlines()
    assert [json.loads(line)["target"] for line in lines] == ["pi-devbox:2026-08-10"]


@pytest.mark.parametrize(("words", "code"), [((), 0), (("--keep",), 2)])
def test_the_demo_decides_its_exit_code(words: tuple[str, ...], code: int) -> None:
    assert invoke("demo", *words).exit_code == code


def test_version() -> None:
    result = invoke("--version")
    assert result.exit_code == 0
    assert result.stdout.startswith("fleet ")


@pytest.mark.parametrize("more", [(), ("--system", "nonsense"), ("--require", "nonsense")])
def test_check_tells_a_wrong_address_before_what_to_look_for(more: tuple[str, ...]) -> None:
    result = invoke("check", "local:~", "nonsense:x", *more)
    assert result.exit_code == 1
    assert "`x` is no port" in result.stderr
    assert "--system" not in result.stderr


def test_check_of_a_good_address_asks_what_to_look_for() -> None:
    result = invoke("check", "local:~")
    assert result.exit_code == 1
    assert "nothing says what to look for" in result.stderr
