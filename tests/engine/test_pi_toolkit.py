"""pi's base configuration brought into real homes: by oh-my-zsh, zsh alone, and bash."""

import json
import shutil
from pathlib import Path

import pytest
from support.homes import Homes
from support.http import FakeModel
from support.pi import PiHome
from support.places import ROOT
from support.tools import pi_tool

INVENTORY = """\
vars: {{pi_toolkit_source: builtin, pi_provider: amazon-bedrock, pi_model: eu.anthropic.x}}
groups:
  machines:
    systems: [pi-toolkit]
    hosts:
      omz: {{local: {folder}/omz, shell: zsh -ic}}
      zsh: {{local: {folder}/zsh, shell: zsh -ic}}
      bash: {{local: {folder}/bash, shell: [bash -ic, bash -lc], systems: [env]}}
"""
NAMES = ("omz", "zsh", "bash")
#: As pi called its keys before they had namespaces.
OLD = {"expandTools": "ctrl+o", "newLine": ["ctrl+j"]}


@pytest.fixture
def homes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Homes:
    monkeypatch.chdir(tmp_path)
    inventory = tmp_path / "fleet.yml"
    inventory.write_text(INVENTORY.format(folder=tmp_path))
    for name in NAMES:
        (tmp_path / name / ".config/pi").mkdir(parents=True)
        if name != "bash":  # there the system env writes it, and a block of its own beside
            (tmp_path / name / ".config/pi/.env").write_text("MARK='from the file'\n")
    (tmp_path / "omz/.oh-my-zsh/custom").mkdir(parents=True)
    (tmp_path / "bash/.bash_profile").write_text("# mine\n")
    return Homes(tmp_path, inventory, NAMES)


def test_each_shell_gets_the_loader_where_it_reads_and_gives_it_back(homes: Homes) -> None:
    before = {name: _files(homes.home(name)) for name in NAMES}
    code, output = homes.run("apply", "--yes")
    assert code == 0, output
    assert _files(homes.home("omz")) - before["omz"] >= {".oh-my-zsh/custom/pi-env.zsh"}
    assert ".zshrc" not in _files(homes.home("omz"))
    assert "pi-env.zsh" in (homes.home("zsh") / ".zshrc").read_text()
    for rc in (".bashrc", ".bash_profile"):
        assert "pi-env.bash" in (homes.home("bash") / rc).read_text()
    for name in NAMES:
        link = homes.home(name) / ".pi/agent/keybindings.json"
        assert link.readlink() == homes.home(name) / "pi-toolkit/keybindings.json"
    code, output = homes.run("plan")
    assert (code, "nothing to change" in output) == (0, True), output
    code, found = homes.audit()
    assert code == 0, found
    told = {(name, gate): f["verdict"] for (name, gate), f in found.items() if "toolkit." in gate}
    gates = ("keybindings", "loader", "settings")
    assert {told[(n, f"toolkit.{g}")] for n in NAMES for g in gates} == {"pass"}
    code, output = homes.run("uninstall", "--yes")
    assert code == 0, output
    assert {name: _files(homes.home(name)) for name in NAMES} == before
    assert (homes.home("bash") / ".bash_profile").read_text() == "# mine\n"


def test_settings_are_given_once_and_are_the_users_from_then_on(homes: Homes) -> None:
    settings = homes.home("zsh") / ".pi/agent/settings.json"
    homes.run("apply", "--limit", "zsh", "--yes")
    assert json.loads(settings.read_text())["defaultModel"] == "eu.anthropic.x"
    settings.write_text('{"defaultProvider": "mine"}')
    code, output = homes.run("apply", "--limit", "zsh", "--yes")
    assert (code, settings.read_text()) == (0, '{"defaultProvider": "mine"}'), output
    code, output = homes.run("uninstall", "--limit", "zsh", "--yes")
    assert code == 0, output
    assert settings.exists()
    assert not (settings.parent / "keybindings.json").is_symlink()


def test_settings_that_are_there_are_left_as_they_are(homes: Homes) -> None:
    settings = homes.home("zsh") / ".pi/agent/settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_text("{}")
    code, output = homes.run("apply", "--limit", "zsh", "--yes")
    assert (code, settings.read_text()) == (0, "{}"), output
    homes.run("uninstall", "--limit", "zsh", "--yes")
    assert settings.read_text() == "{}"


def _files(home: Path) -> set[str]:
    found = {str(path.relative_to(home)) for path in home.rglob("*") if not path.is_dir()}
    return {path for path in found if not path.startswith((".zcompdump", ".cache"))}


def declare(homes: Homes, name: str, keys: object) -> None:
    """Let the machines have a toolkit with these keys; a folder is read once a run."""
    kit = homes.folder / name
    shutil.copytree(ROOT / "toolkit/pi", kit)
    (kit / "keybindings.json").write_text(json.dumps(keys))
    text = INVENTORY.format(folder=homes.folder).replace("builtin", str(kit))
    homes.inventory.write_text(text)


@pytest.mark.network
def test_keys_that_pi_named_anew_are_those_that_were_pushed(
    homes: Homes,
) -> None:
    declare(homes, "kit", OLD)
    before = _files(homes.home("bash"))
    assert homes.run("apply", "--limit", "bash", "--yes")[0] == 0
    pushed = homes.home("bash") / "pi-toolkit/keybindings.json"
    assert _run_pi(homes.home("bash"), pushed) == {
        "app.tools.expand": "ctrl+o",
        "tui.input.newLine": ["ctrl+j"],
    }
    code, output = homes.run("plan", "--limit", "bash")
    assert (code, "nothing to change" in output) == (0, True), output
    code, found = homes.audit("--limit", "bash")
    assert (code, found[("bash", "toolkit.keybindings")]["verdict"]) == (0, "pass"), found
    declare(homes, "newer", {"expandTools": "ctrl+e"})
    code, output = homes.run("apply", "--limit", "bash", "--yes")
    assert (code, json.loads(pushed.read_text())) == (0, {"expandTools": "ctrl+e"}), output
    assert _run_pi(homes.home("bash"), pushed) == {"app.tools.expand": "ctrl+e"}
    code, output = homes.run("uninstall", "--limit", "bash", "--yes")
    assert code == 0, output
    left = {path for path in _files(homes.home("bash")) - before if "/agent/" not in path}
    assert (left, (homes.home("bash") / ".pi/agent/keybindings.json").is_symlink()) == (
        set(),
        False,
    )


def test_keys_that_somebody_changed_are_not_those_that_were_pushed(homes: Homes) -> None:
    declare(homes, "kit", OLD)
    homes.run("apply", "--limit", "bash", "--yes")
    pushed = homes.home("bash") / "pi-toolkit/keybindings.json"
    for mine in (
        '{"app.tools.expand": "ctrl+p", "tui.input.newLine": ["ctrl+j"]}',
        "[",
        "[" * 10**5,
    ):
        pushed.write_text(mine)
        code, output = homes.run("plan", "--limit", "bash")
        assert (code, "was edited since fleet wrote it" in " ".join(output.split())) == (2, True)
        homes.run("uninstall", "--limit", "bash", "--yes")
        assert pushed.read_text() == mine


def _run_pi(folder: Path, keys: Path) -> object:
    """Start pi in a home, and return what it made of the keys."""
    with FakeModel() as model:
        PiHome(folder, pi_tool()).run(model, "hello")
    return json.loads(keys.read_text())
