"""The deployed bytes are named: by a clone of the toolkit on the controller, on a real home."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.toolkit_history import History, build_history

from fleet.cli.main import cli

FOLDER = ".pi/agent/extensions"


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> History:
    return build_history(tmp_path_factory.mktemp("toolkit") / "kit")


def found(home: Path, clone: Path | str) -> Mapping[str, object]:
    """Check a home; what was found of the commit."""
    words = ["check", f"local:{home}", "--system", "mempalace-bridge", "--format", "json"]
    result = CliRunner().invoke(cli, [*words, "-e", f"toolkit_clone={clone}"])
    assert result.stdout, result.output
    told: dict[str, Mapping[str, object]] = {
        f["gate"]: f for f in json.loads(result.stdout)["findings"]
    }
    return told["bridge.commit"]


def test_the_newest_is_named_by_its_commit(history: History, tmp_path: Path) -> None:
    history.place("mailbox", tmp_path / FOLDER)
    told = found(tmp_path, history.folder)
    newest = history.level("mailbox")
    assert told["verdict"] == "pass", told
    assert told["message"] == f"is toolkit {newest.commit[:7]} of {newest.date}, the newest"


def test_an_older_one_tells_how_far_behind_it_is_and_what_it_lacks_since_when(
    history: History, tmp_path: Path
) -> None:
    history.place("feed", tmp_path / FOLDER)
    told = found(tmp_path, history.folder)
    assert (told["verdict"], told["message"]) == ("warn", "2 commits behind")
    lines = str(told["evidence"])
    assert history.level("feed").commit[:7] in lines
    for capability, level in (("stamp", "stamp"), ("mailbox", "mailbox")):
        assert capability in lines
        assert history.level(level).date in lines


def test_bytes_that_no_commit_carries_are_unknown(history: History, tmp_path: Path) -> None:
    bridge = history.place("mailbox", tmp_path / FOLDER)
    bridge.write_bytes(bridge.read_bytes() + b"// by hand\n")
    told = found(tmp_path, history.folder)
    assert (told["verdict"], told["message"]) == ("warn", "unknown content")


def test_without_a_history_they_are_not_named(history: History, tmp_path: Path) -> None:
    history.place("mailbox", tmp_path / FOLDER)
    told = found(tmp_path, tmp_path / "nowhere")
    assert told["verdict"] == "not-checked"
    assert "no such folder" in str(told["message"])
