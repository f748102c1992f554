"""Deep checks from the engine's side: one more round trip, and reasons where there can be none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from fleet.cli.main import cli
from fleet.connectors.base import Connector
from fleet.connectors.registry import connect
from fleet.demo.layout import BakedImage, Member, layer, write_docker_archive
from fleet.inventory.model import Target

Found = dict[str, dict[str, object]]


def check(address: str, *words: str) -> Found:
    """Check one address; findings by gate."""
    command = ["check", "--format", "json", "--system", "mempalace-bridge", *words, address]
    result = CliRunner().invoke(cli, command)
    assert not result.exception or isinstance(result.exception, SystemExit), result.exception
    return {f["gate"]: f for f in json.loads(result.stdout)["findings"]}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home in which the launching shell finds nothing."""
    made = tmp_path / "home"
    made.mkdir()
    (made / ".profile").write_text("PATH=/nowhere\n")
    return made


def test_a_deep_check_is_one_round_trip_more(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Connector] = []

    def counting(target: Target, *, timeout: float) -> Connector:
        made.append(connect(target, timeout=timeout))
        return made[-1]

    monkeypatch.setattr("fleet.connectors.registry.connect", counting)
    check(f"local:{home}")
    found = check(f"local:{home}", "--deep")
    assert [(c.connects, c.round_trips) for c in made] == [(1, 1), (1, 2)]
    assert found["deep.loaded"]["verdict"] == "not-checked"
    assert found["deep.loaded"]["message"] == "there is no node on the PATH"
    beside = {gate for gate in found if gate.startswith("deep.")} - {"deep.loaded"}
    assert {found[gate]["follows"] for gate in beside} == {"deep.loaded"}
    assert {found[gate]["verdict"] for gate in beside} == {"not-checked"}


def test_a_target_that_cannot_be_reached_lists_no_deep_gate(tmp_path: Path) -> None:
    found = check(f"local:{tmp_path / 'gone'}", "--deep")
    assert not [gate for gate in found if gate.startswith("deep.")]


def test_a_target_that_answers_no_deep_check_keeps_its_other_findings(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fleet.probes.deep.script.deep_script", lambda **_: "echo forged\n")
    found = check(f"local:{home}", "--deep")
    assert found["deep.loaded"]["verdict"] == "not-checked"
    assert "gave no answers" in str(found["deep.loaded"]["message"])
    assert found["bridge.placed"]["verdict"] == "fail"


def test_what_is_no_engines_image_is_not_started_and_says_what_to_do(tmp_path: Path) -> None:
    archive = tmp_path / "image.tar"
    files = layer([Member("etc/passwd", b"root:x:0:0::/root:/bin/sh\n")])
    write_docker_archive(archive, [BakedImage(tag="box:1", layers=(files,))])
    (tmp_path / "root").mkdir()
    for address, why in (
        (f"docker-archive:{archive}", "load it into an engine and name it as docker-daemon:"),
        (f"rootfs:{tmp_path / 'root'}", "no image that an engine could start"),
    ):
        found = check(address, "--deep")
        assert found["deep.loaded"]["verdict"] == "not-checked"
        assert why in str(found["deep.loaded"]["message"])


def test_deep_and_saved_facts_contradict_each_other(tmp_path: Path) -> None:
    result = CliRunner().invoke(cli, ["audit", "--deep", "--from", str(tmp_path)])
    assert result.exit_code == 1
    assert "--deep runs pi on targets" in result.output
