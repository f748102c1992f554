"""mempalace's own programs, for real: by uv and by pipx, side by side, and gone again."""

import os
import subprocess
from pathlib import Path

import pytest
from support.embedding_model import write_model
from support.homes import Homes
from support.http import EmbeddingStub
from support.tools import cache_dir, mempalace_tool, pipx_tool

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
    cached = f"cache-dir = '{cache_dir() / 'uv'}'"
    (home / ".config/uv/uv.toml").write_text(f"native-tls = true\n{cached}\n")
    return Homes(tmp_path, tmp_path / "fleet.yml", ("one",))


def test_uv_brings_it_and_takes_it_away(homes: Homes) -> None:
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

    code, output = homes.run("uninstall", "--yes")
    assert code == 0, output
    assert not (homes.home("one") / ".local/bin/mempalace").exists()


def test_releases_side_by_side_are_told_apart(homes: Homes) -> None:
    """Of uv, of pipx, and of nobody, each of another release: the PATH decides which runs."""
    home = homes.home("one")
    homes.inventory.write_text(INVENTORY.format(folder=homes.folder, by="uv"))
    assert homes.run("apply", "--yes", "--no-diff")[0] == 0
    environment = {"HOME": str(home), "PATH": os.defpath, "PIPX_BIN_DIR": str(home / "pipx")}
    words = [str(pipx_tool()), "install", "--quiet", "mempalace==3.10.0"]
    subprocess.run(words, env={**os.environ, **environment}, capture_output=True, check=True)
    (home / "old").symlink_to(mempalace_tool("3.6"))
    profile = home / ".profile"
    profile.write_text(profile.read_text() + f"PATH={home}/pipx:{home}/old:$PATH\n")
    code, found = homes.audit()
    one, version = found["one", "cli.one"], found["one", "cli.version"]
    assert (code, one["verdict"], version["verdict"]) == (2, "fail", "fail")
    first, second, third = lines(one)
    assert first.endswith(
        "/pipx/venvs/mempalace/bin/mempalace (of pipx' mempalace) is the one that runs"
    )
    assert second.endswith(f"{mempalace_tool('3.6') / 'mempalace'} is behind it")
    assert third.endswith("(of uv's tool mempalace) is behind it")
    assert lines(version) == ["bash -lc: 3.10.0 runs, the inventory means 3.11.0"]

    (home / "pipx/mempalace").unlink()
    assert "3.6.0 runs" in lines(homes.audit()[1]["one", "cli.version"])[0]
    profile.write_text(profile.read_text() + f"PATH={home}/.local/bin:/usr/bin:/bin\n")
    _, found = homes.audit()
    assert found["one", "cli.one"]["verdict"] == found["one", "cli.version"]["verdict"] == "pass"


def test_a_pin_that_moves_moves_the_release(homes: Homes) -> None:
    text = INVENTORY.format(folder=homes.folder, by="uv")
    for release in ("3.10.0", "3.11.0"):
        homes.inventory.write_text(text.replace("3.11.0", release))
        assert homes.run("plan")[0] == 2
        assert homes.run("apply", "--yes", "--no-diff")[0] == 0, homes.printed
        assert launched(homes.home("one"), "mempalace --version").stdout.split()[1] == release
        assert homes.audit()[1]["one", "cli.version"]["message"] == f"{release} runs, as is meant"
    homes.inventory.write_text(text.replace("3.11.0", "3.10.0"))
    assert homes.audit()[1]["one", "cli.version"]["verdict"] == "fail"


def lines(finding: dict[str, object]) -> list[str]:
    held = finding["evidence"]
    assert isinstance(held, list)
    return held


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


#: All that these homes can reach is the machine itself.
NO_NETWORK = {"HTTP_PROXY": "http://127.0.0.1:9", "HTTPS_PROXY": "http://127.0.0.1:9"}
NOTES = {"birds": "The keeper of the northern lock saw a heron.", "bread": "The bread was burnt."}


def test_a_model_that_is_given_embeds_without_a_network(homes: Homes) -> None:
    home = homes.home("one")
    given = write_model(home / "model", " ".join(NOTES.values()).replace(".", "").split())
    declare(homes, embedding_folder=str(given))
    code, output = homes.run("apply", "--yes", "--no-diff")
    assert code == 0, output
    code, found = homes.audit()
    assert (code, found["one", "cli.model"]["verdict"]) == (0, "pass"), found["one", "cli.model"]
    assert mined(home).returncode == 0
    assert "birds.md" in launched(home, "mempalace search heron --results 1").stdout

    (given / "vocab.txt").unlink()
    code, found = homes.audit()
    assert found["one", "cli.model"]["verdict"] == "fail"
    assert found["one", "cli.model"]["evidence"] == ["vocab.txt"]
    assert mined(home, "again").returncode != 0
    code, output = homes.run("uninstall", "--yes")
    assert code == 0, output
    assert (given / "config.json").exists()
    assert not list((home / ".cache").rglob("onnx"))


def test_a_service_that_is_declared_embeds_in_its_place(homes: Homes) -> None:
    home = homes.home("one")
    with EmbeddingStub() as service:
        told = service.environment
        model = {
            "embedding_model": told["MEMPALACE_EMBEDDING_MODEL"],
            "embedding_url": told["MEMPALACE_EMBEDDING_API_URL"],
            "embedding_name": told["MEMPALACE_EMBEDDING_API_MODEL"],
        }
        declare(homes, **model)
        code, output = homes.run("apply", "--yes", "--no-diff")
        assert code == 0, output
        _, found = homes.audit()
        assert found["one", "cli.model"]["verdict"] == "pass", found["one", "cli.model"]
        ended = mined(home)
        assert ended.returncode == 0, ended.stderr
    assert mined(home, "again").returncode != 0
    declare(homes, embedding_model="openai-compat")
    _, found = homes.audit()
    assert found["one", "cli.model"]["verdict"] == "fail"


def declare(homes: Homes, **more: str) -> None:
    """Let the inventory say more of the home."""
    told = "".join(f"{name}: {value!r}, " for name, value in more.items())
    text = INVENTORY.format(folder=homes.folder, by="uv")
    homes.inventory.write_text(text.replace("vars: {", "vars: {" + told))


def launched(home: Path, command: str) -> subprocess.CompletedProcess[str]:
    """Run a command as a login in that home would, where no network is."""
    return subprocess.run(
        ["bash", "-lc", command],
        env={"HOME": str(home), "PATH": "/usr/bin:/bin", "NO_PROXY": "127.0.0.1", **NO_NETWORK},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def mined(home: Path, name: str = "notes") -> subprocess.CompletedProcess[str]:
    """Let the home's mempalace take in a folder of notes."""
    folder = home / name
    folder.mkdir()
    for note, text in NOTES.items():
        (folder / f"{note}.md").write_text(f"{text}\n" * 6)
    return launched(home, f"mempalace init --yes --no-llm {folder} && mempalace mine {folder}")
