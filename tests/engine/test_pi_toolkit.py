"""pi's base configuration brought into real homes: by oh-my-zsh, zsh alone, and bash."""

import json
from pathlib import Path

import pytest
from support.homes import Homes

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
    assert told[("omz", "toolkit.loader")] == "pass"
    assert told[("zsh", "toolkit.loader")] == "not-applicable"
    assert {told[(n, f"toolkit.{g}")] for n in NAMES for g in ("keybindings", "settings")} == {
        "pass"
    }
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
