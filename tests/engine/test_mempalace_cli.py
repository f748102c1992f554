"""mempalace's own programs, for real: by uv and by pipx, side by side, and gone again."""

from pathlib import Path

import pytest
from support.homes import Homes

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
