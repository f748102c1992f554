"""mempalace's own programs, for real: by uv and by pipx, side by side, and gone again."""

import subprocess
from pathlib import Path

import pytest
from support.homes import Homes

from fleet.systems.mempalace_cli.gates import MODEL_FILES

pytestmark = [pytest.mark.network, pytest.mark.timeout(600)]

INVENTORY = """\
hosts:
  one:
    local: {folder}/one
    shell: bash -lc
    systems: [mempalace-cli, env]
    vars: {{mempalace_version: 3.11.0, mempalace_by: {by}, local_palace: {folder}/one/palace}}
"""


@pytest.fixture
def homes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Homes:
    monkeypatch.chdir(tmp_path)
    home = tmp_path / "one"
    (home / ".config/uv").mkdir(parents=True)
    (home / ".config/uv/uv.toml").write_text("native-tls = true\n")
    return Homes(tmp_path, tmp_path / "fleet.yml", ("one",))


def test_two_managers_bring_it_and_one_path_takes_the_first(homes: Homes) -> None:
    homes.inventory.write_text(INVENTORY.format(folder=homes.folder, by="uv"))
    code, output = homes.run("apply", "--yes", "--no-diff")
    assert code == 0, output
    code, found = homes.audit()
    told = {gate: f["verdict"] for (_, gate), f in found.items() if gate.startswith("cli.")}
    assert (code, told) == (
        0,
        {
            "cli.one": "pass",
            "cli.version": "pass",
            "cli.archive": "not-applicable",
            "cli.palace": "pass",
            "cli.model": "not-applicable",
        },
    )
    assert found["one", "cli.one"]["message"] == "one mempalace 3.11.0, and no other"
    code, output = homes.run("plan")
    assert (code, "nothing to change" in output) == (0, True), output

    own = homes.home("one") / "own"
    own.mkdir()
    older = own / "mempalace"
    older.write_text("#!/bin/sh\necho 'mempalace 3.8.0'\n")
    older.chmod(0o755)
    profile = homes.home("one") / ".profile"
    profile.write_text(profile.read_text() + f"PATH={own}:$PATH\n")
    code, found = homes.audit()
    assert code == 2
    lines = "\n".join(found["one", "cli.one"]["evidence"])  # type: ignore[arg-type]  # a list of lines
    assert f"{older} is the one that runs" in lines
    assert "(of uv's tool mempalace) is behind it" in lines
    assert "3.8.0 runs, the inventory means 3.11.0" in str(found["one", "cli.version"])

    code, output = homes.run("uninstall", "--yes")
    assert code == 0, output
    assert not (homes.home("one") / ".local/bin/mempalace").exists()


def test_pipx_brings_it_and_takes_it_away(homes: Homes) -> None:
    homes.inventory.write_text(INVENTORY.format(folder=homes.folder, by="pipx"))
    code, output = homes.run("apply", "--yes", "--no-diff")
    assert code == 0, output
    code, found = homes.audit()
    assert (code, found["one", "cli.version"]["verdict"]) == (0, "pass"), found
    code, output = homes.run("plan")
    assert (code, "nothing to change" in output) == (0, True), output
    homes.run("uninstall", "--yes")
    assert not (homes.home("one") / ".local/bin/mempalace").exists()


def test_a_model_that_is_given_is_the_one_that_mempalace_finds(homes: Homes) -> None:
    """Its library asks the network for none: the files are where it looks for them."""
    given = homes.home("one") / "model"
    given.mkdir()
    for name in MODEL_FILES:
        (given / name).write_text("{}")
    text = INVENTORY.format(folder=homes.folder, by="uv")
    homes.inventory.write_text(text.replace("vars: {", f"vars: {{embedding_folder: {given}, "))
    code, output = homes.run("apply", "--yes", "--no-diff")
    assert code == 0, output
    code, found = homes.audit()
    assert (code, found["one", "cli.model"]["verdict"]) == (0, "pass"), found["one", "cli.model"]
    assert _downloads(homes.home("one")) == ""

    (given / "vocab.txt").unlink()
    code, found = homes.audit()
    assert found["one", "cli.model"]["verdict"] == "fail"
    assert found["one", "cli.model"]["evidence"] == ["vocab.txt"]
    assert "wanted to download" in _downloads(homes.home("one"))
    code, output = homes.run("uninstall", "--yes")
    assert code == 0, output
    assert (given / "config.json").exists()
    assert not list((homes.home("one") / ".cache").rglob("onnx"))


def _downloads(home: Path) -> str:
    """Let the library of a home's mempalace make its model ready; what it would download."""
    script = """
from chromadb.utils.embedding_functions.onnx_mini_lm_l6_v2 import ONNXMiniLM_L6_V2 as Model
def download(self, url, fname, **_):
    raise SystemExit("wanted to download")
Model._download = download
Model()._download_model_if_not_exists()
"""
    python = home / ".local/share/uv/tools/mempalace/bin/python"
    ended = subprocess.run(
        [python, "-c", script], env={"HOME": str(home)}, capture_output=True, text=True, check=False
    )
    return ended.stderr
