"""``fleet check docker://…`` from the command line to a real registry and back."""

import json
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.registry import DebianRegistry, debian_registry, push

from fleet.cli.engine import Engine
from fleet.cli.main import cli
from fleet.data import shipped
from fleet.demo.bake import bake
from fleet.demo.history import BRIDGE
from fleet.demo.layout import BakedImage

GATE = ("--system", "mempalace-bridge", "--require", "feed,stamp", "--timeout", "60")


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[DebianRegistry]:
    """One that holds the image of a release of today, as ``team/devbox:ci``."""
    archive = tmp_path / "devbox.tar"
    bake(archive, (shipped("toolkit") / BRIDGE).read_bytes(), date="2026-09-01", docker="x:ci")
    with tarfile.open(archive) as saved:
        content = {m.name: saved.extractfile(m).read() for m in saved.getmembers()}  # type: ignore[union-attr]  # all are files
    (image,) = json.loads(content["manifest.json"])
    told = json.loads(content[image["Config"]])
    layers = [content[name] for name in image["Layers"]]
    (tmp_path / "registry").mkdir()
    with debian_registry(tmp_path / "registry") as running:
        baked = BakedImage(layers, config=told["config"], compression="gzip")
        push(running, "team/devbox", "ci", [baked])
        yield running


def check(*words: str) -> tuple[int, str]:
    told = CliRunner().invoke(cli, ["check", *words, *GATE], obj=Engine())
    return told.exit_code, told.output


def test_an_image_in_a_registry_is_gated(
    registry: DebianRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path / "none"))
    monkeypatch.chdir(tmp_path / "registry")
    name = f"docker://{registry.authority}/team/devbox"
    code, told = check(f"{name}:ci", "--platform", "linux/amd64")
    assert (code, "required gates hold" in told) == (0, True), told
    for words, said in (
        ([f"{name}:nightly"], "there is no nightly in team/devbox"),
        ([f"{name}:ci", "--platform", "linux/arm64"], "it has no image for linux/arm64"),
    ):
        code, told = check(*words)
        assert (code, said in " ".join(told.split())) == (3, True), told
