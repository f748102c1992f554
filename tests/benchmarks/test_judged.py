"""What the peers' scripts make of texts, where no host of the rig has such a one."""

import json
import runpy
from collections.abc import Callable
from typing import cast

import pytest

from benchmarks.hosts.tools import PEERS, work

Judge = Callable[..., bool]


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> dict[str, Judge]:
    monkeypatch.setenv("BENCH_WORK", work())
    return cast("dict[str, Judge]", runpy.run_path(str(PEERS / "judged.py")))


@pytest.mark.parametrize(
    ("names", "texts", "settings", "loaded"),
    [
        ([], {}, "", True),
        ([], {}, "{ cut", True),
        (["index.js"], {}, "", False),
        ([], {"package.json": "{ cut"}, "", True),
        ([], {"package.json": '{"pi": {"extensions": ["./mempalace.ts"]}}'}, "", True),
        ([], {"package.json": '{"pi": {"extensions": ["other.ts"]}}'}, "", False),
        ([], {".fdignore": "*.md\n*.ts\n"}, "", False),
        ([], {".gitignore": "*.md\n"}, "", True),
        ([], {}, '{"extensions": ["-extensions/mempalace.ts"]}', False),
    ],
)
def test_what_hides_an_extension(
    judged: dict[str, Judge],
    names: list[str],
    texts: dict[str, str],
    settings: str,
    loaded: bool,
) -> None:
    assert judged["seen"](["mempalace.ts", *names], texts, settings) is loaded


@pytest.mark.parametrize(
    ("server", "owned"),
    [
        ({"directTools": True}, True),
        ({"exposure": "direct"}, True),
        ({"exposure": "codemode"}, False),
    ],
)
def test_who_declares_the_tools_too(
    judged: dict[str, Judge], server: dict[str, object], owned: bool
) -> None:
    text = json.dumps({"mcpServers": {"mempalace": server}})
    assert judged["owned"](["", text]) is owned


def test_versions_are_compared_by_their_numbers(judged: dict[str, Judge]) -> None:
    assert judged["at_least"]("v22.19.0", ">=22.19.0")
    assert judged["at_least"]("tmux 3.10a", "3.2")
    assert not judged["at_least"]("0.80.3", "0.80.4")


def test_copies_carry_one_token_where_there_are_two(judged: dict[str, Judge]) -> None:
    token = "// MCP-STREAMABLE-HTTP-CLIENT-SYNC: "
    assert judged["synced"]("nothing", "")
    assert judged["synced"](f"{token}1", f"{token}1")
    assert not judged["synced"](f"{token}1", f"{token}2")
    assert not judged["synced"]("nothing", f"{token}1")
