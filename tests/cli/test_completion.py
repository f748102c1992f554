"""What a shell is offered."""

from pathlib import Path
from typing import Any

import pytest
from click.shell_completion import ShellComplete
from support.cli import FakeEngine

from fleet.cli.engine import Engine
from fleet.cli.main import cli


class Broken(FakeEngine):
    """An engine whose every answer is an error."""

    def context(self, inventory: object, variables: object) -> Any:
        """Fail."""
        raise RuntimeError("broken")

    def catalogue(self) -> object:  # type: ignore[override]  # it never returns
        """Fail."""
        raise RuntimeError("broken")


def offered(words: list[str], incomplete: str, engine: Engine | None = None) -> list[str]:
    complete = ShellComplete(cli, {"obj": engine or FakeEngine()}, "fleet", "_FLEET_COMPLETE")
    return [item.value for item in complete.get_completions(words, incomplete)]


@pytest.mark.parametrize(
    ("words", "incomplete", "expected"),
    [
        ([], "aud", ["audit"]),
        (["audit", "--limit"], "la", ["laptop"]),
        (["audit", "--limit"], "desk,la", ["desk,laptop"]),
        (["audit", "--limit"], "!la", ["!laptop"]),
        (["audit", "--system"], "en", ["env"]),
        (["audit", "--require"], "fe", ["feed"]),
        (["explain"], "bridge.fee", ["bridge.feed"]),
        (["inventory", "show"], "d", ["desk"]),
        (["facts"], "va", ["vault"]),
        (["audit", "--format"], "j", ["json"]),
    ],
)
def test_offers(words: list[str], incomplete: str, expected: list[str]) -> None:
    assert [v for v in offered(words, incomplete) if v in expected] == expected


@pytest.mark.parametrize(
    "words", [["audit", "--limit"], ["audit", "--system"], ["audit", "--require"], ["explain"]]
)
def test_a_broken_inventory_offers_nothing_and_says_nothing(
    words: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    assert offered(words, "", Broken()) == []
    assert capfd.readouterr() == ("", "")


def test_no_inventory_offers_nothing(here: Path) -> None:
    (here / "fleet.yml").unlink()
    assert offered(["audit", "--limit"], "") == []
