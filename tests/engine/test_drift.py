"""Drift over many targets: what is looked up once, and what saved facts can tell."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from support.facts import World
from support.toolkit_history import History, build_history

from fleet.cli.main import cli
from fleet.connectors.engine import endpoint
from fleet.connectors.engine_search import EngineSearch
from fleet.engine.context import load_context
from fleet.errors import Unreachable
from fleet.facts.images import ImageFact
from fleet.facts.running import ContainerFact
from fleet.facts.saved import dumps, file_name

LINK = "~/.pi/agent/extensions/mempalace.ts"
MANY = 150


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> History:
    return build_history(tmp_path_factory.mktemp("toolkit") / "toolkit")


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Every program that is run, while it is run all the same."""
    found: list[list[str]] = []
    real = subprocess.run

    def counting(words: list[str], **options: Any) -> Any:
        found.append(list(words))
        return real(words, **options)

    monkeypatch.setattr(subprocess, "run", counting)
    return found


def fleet(folder: Path, history: History, pairs: int) -> Path:
    """An inventory of images, each with its container, and their saved facts."""
    lines = [f"vars: {{toolkit_clone: {history.folder}}}", "containers:"]
    names = [f"box{n:03}" for n in range(pairs)]
    lines += [f"  c-{n}: {{container: {n}, systems: [mempalace-bridge]}}" for n in names]
    lines += ["images:"]
    lines += [
        f"  i-{n}: {{image: 'docker-daemon:{n}:1', systems: [mempalace-bridge]}}" for n in names
    ]
    (folder / "fleet.yml").write_text("\n".join(lines) + "\n")
    facts = folder / "facts"
    facts.mkdir()
    context = load_context(folder / "fleet.yml")
    assert context.inventory
    levels = history.levels
    for number, target in enumerate(context.inventory.targets):
        newest = target.name.startswith("i-") or number % 3
        level = levels[-1 if newest else number % len(levels)]
        world = World(target.kind.value).file(LINK, level.bridge)
        told: dict[str, object] = {"image": ImageFact(id=f"sha256:{number % pairs:064x}")}
        if target.name.startswith("c-"):
            name = target.address.name
            told["container"] = ContainerFact(name=name, state="running", image_name=f"{name}:1")
        made = world.facts(target).model_copy(update=told)
        (facts / file_name(target.name)).write_text(dumps(made))
    return folder


def told(folder: Path, *words: str) -> tuple[int, dict[str, Any]]:
    given = [*words, "--from", str(folder / "facts"), "-i", str(folder / "fleet.yml"), "-q"]
    result = CliRunner().invoke(cli, [*given, "--format", "json"])
    assert not result.exception or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, json.loads(result.output)


def test_300_targets_cost_one_look_up_of_the_toolkit(
    tmp_path: Path, history: History, asked: list[list[str]]
) -> None:
    folder = fleet(tmp_path, history, MANY)
    code, found = told(folder, "drift")
    assert code == 2
    assert (len(found["targets"]), len(found["drift"])) == (2 * MANY, MANY)
    assert [table["drifted"] for table in found["drift"]].count(False) >= MANY // 2
    git = [words for words in asked if words[0] == "git"]
    assert ["log" in words for words in git] == [False, True]  # which commit, then its history
    asked.clear()
    told(folder, "audit")
    assert ["log" in words for words in asked] == [False]  # kept since


def test_saved_facts_tell_of_drift_and_say_what_they_do_not(
    tmp_path: Path, history: History
) -> None:
    folder = fleet(tmp_path, history, 4)
    path = folder / "facts" / file_name("c-box001")
    path.unlink()
    _, found = told(folder, "drift", "c-box001")
    (table,) = found["drift"]
    assert [(s["target"], s["standing"]) for s in table["sides"]] == [
        ("i-box001", "same"),
        ("c-box001", "unseen"),
    ]
    assert (table["seen"], table["total"]) == (1, 2)


def test_an_engine_that_does_not_answer_is_asked_once(tmp_path: Path) -> None:
    search = EngineSearch(endpoint(f"unix://{tmp_path}/none.sock"), 5)
    for _ in range(3):
        with pytest.raises(Unreachable):
            search.made_of("x")
    assert search.lists == 1
