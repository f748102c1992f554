"""The pages that come from the code are those that are kept."""

from pathlib import Path

import pytest

from fleet.cli.reference import PAGES, pages

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("name", PAGES)
def test_page_is_not_stale(name: str) -> None:
    kept = (DOCS / name).read_text(encoding="utf-8")
    assert kept == pages()[name], "run: python -m fleet.cli.reference"


def test_every_command_has_its_chapter() -> None:
    text = pages()["commands.md"]
    for command in ("audit", "check", "provision", "inventory show", "completion"):
        assert f"## fleet {command}\n" in text
    assert "130" in text
