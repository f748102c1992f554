"""What is there to be copied keeps the schema of whoever reads it, and is linked from the guide."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.ci import CI, load
from support.places import ROOT

from fleet.systems.catalogue import load_catalogue

SCHEMAS = {
    "github-workflow.yml": ("vendor.github-workflows",),
    "gitlab-ci.yml": ("vendor.gitlab-ci", "--data-transform", "gitlab-ci"),
}
WRONG = {
    "github-workflow.yml": ("runs-on:", "run-on:"),
    "gitlab-ci.yml": ("stages: [build, check]", "stages: {build: 1}"),
}


def checked(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", *map(str, words)], capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("name", SCHEMAS)
def test_it_keeps_its_schema(name: str, tmp_path: Path) -> None:
    words = ("check_jsonschema", "--builtin-schema", *SCHEMAS[name])
    ended = checked(*words, CI / name)
    assert ended.returncode == 0, ended.stdout
    broken = tmp_path / name
    text = (CI / name).read_text("utf-8")
    wrong = text.replace(*WRONG[name])
    assert wrong != text
    broken.write_text(wrong, encoding="utf-8")
    assert checked(*words, broken).returncode == 1


@pytest.mark.parametrize(
    ("command", "path"),
    [
        ("validate-manifest", ROOT / ".pre-commit-hooks.yaml"),
        ("validate-config", CI / "pre-commit-config.yaml"),
    ],
)
def test_pre_commit_takes_it(command: str, path: Path) -> None:
    ended = checked("pre_commit", command, path)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_the_hook_it_names_is_the_one_there_is() -> None:
    (hook,) = load("../.pre-commit-hooks.yaml")
    (repo,) = load("pre-commit-config.yaml")["repos"]
    assert [one["id"] for one in repo["hooks"]] == [hook["id"]]


@pytest.mark.parametrize("path", sorted(CI.iterdir()), ids=lambda path: path.name)
def test_the_guide_leads_to_it(path: Path) -> None:
    assert f"(../../ci/{path.name})" in (ROOT / "docs/guide/ci.md").read_text("utf-8")


@pytest.mark.parametrize("path", sorted(CI.glob("*.*")), ids=lambda path: path.name)
def test_what_it_asks_for_is_there_to_be_asked(path: Path) -> None:
    catalogue = load_catalogue()
    known = {
        "system": set(catalogue.systems),
        "require": set(catalogue.capabilities()),
    }
    for option, words in re.findall(r"--(system|require) (\S+)", path.read_text("utf-8")):
        assert set(words.split(",")) <= known[option], words
