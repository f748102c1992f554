"""Shipped playbooks for the systems beside the bridge: the first machine decides for the others."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from support.demarkus import UNWRAPS, sources, write_package, write_program, write_state
from support.homes import CANARY, VARIABLE, Homes
from support.mcp_server import ScriptedMcpServer, palace_rules
from support.mnemo import PACKAGE
from support.places import ROOT
from support.tools import npm_bin, opencode_tool, pi_tool

pytestmark = [pytest.mark.network, pytest.mark.timeout(600)]

NAMES = ("one", "two")


@pytest.fixture
def homes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Homes:
    """Two homes whose login shells find pi, npm and opencode."""
    monkeypatch.setenv(VARIABLE, CANARY)
    monkeypatch.chdir(tmp_path)
    found = ":".join(map(str, (pi_tool().bin_dir, npm_bin(), opencode_tool())))
    for name in NAMES:
        (tmp_path / name).mkdir()
        (tmp_path / name / ".profile").write_text(f"PATH={found}:$PATH\n")
    return Homes(tmp_path, tmp_path / "fleet.yml", NAMES)


def declare(homes: Homes, *systems: str, **variables: object) -> None:
    hosts = {
        name: {
            "local": str(homes.home(name)),
            "shell": "bash -lc",
            "systems": list(systems),
            "vars": {"device": name, **variables},
        }
        for name in NAMES
    }
    homes.inventory.write_text(json.dumps({"hosts": hosts}).replace('"SECRET"', SECRET))


SECRET = f"!secret env:{VARIABLE}"


def touched(homes: Homes) -> list[str]:
    return [n for n in NAMES if (homes.home(n) / ".local/state/fleet/ledger.json").exists()]


def carried_out(homes: Homes, playbook: str) -> int:
    code, _output = homes.run("provision", playbook, "--yes", "--no-diff")
    assert all(CANARY not in printed for printed in homes.printed)
    return code


@pytest.mark.parametrize(
    ("token", "code", "done"), [(CANARY, 0, ["one", "two"]), ("x", 2, ["one"])]
)
def test_clients_are_registered_while_the_palace_answers_them(
    homes: Homes, token: str, code: int, done: list[str]
) -> None:
    with ScriptedMcpServer(palace_rules(token)) as server:
        palace = {"palace_url": server.url, "palace_token": "SECRET"}
        declare(homes, "opencode", "claude-code", "env", **palace)
        assert carried_out(homes, "register-clients") == code, homes.printed
    assert touched(homes) == done
    for name in done:
        assert "mempalace" in (homes.home(name) / ".config/opencode/opencode.json").read_text()


def test_programs_stop_where_an_older_one_still_runs(homes: Homes) -> None:
    older = homes.home("one") / "own/mempalace"
    older.parent.mkdir()
    older.write_text("#!/bin/sh\necho 'mempalace 3.8.0'\n")
    older.chmod(0o755)
    with (homes.home("one") / ".profile").open("a") as profile:
        profile.write(f"PATH={older.parent}:$PATH\n")
    for name in NAMES:
        (homes.home(name) / ".config/uv").mkdir(parents=True)
        (homes.home(name) / ".config/uv/uv.toml").write_text("native-tls = true\n")
    declare(homes, "mempalace-cli", "env", mempalace_version="3.11.0", mempalace_by="uv")
    assert carried_out(homes, "upgrade-mempalace") == 2
    assert touched(homes) == ["one"]
    older.unlink()
    assert carried_out(homes, "upgrade-mempalace") == 0, homes.printed
    assert touched(homes) == ["one", "two"]


@pytest.mark.parametrize(
    ("zone", "code", "done"), [("Europe/Berlin", 0, ["one", "two"]), ("Berlin", 2, ["one"])]
)
def test_mnemo_goes_on_only_with_settings_that_hold(
    homes: Homes, zone: str, code: int, done: list[str]
) -> None:
    placed = {"mnemo_install": "link", "mnemo_folder": "~/src/m", "mnemo_source": str(PACKAGE)}
    declare(homes, "pi-mnemo", "env", **placed, mnemo_dream_tz=zone)
    assert carried_out(homes, "install-mnemo") == code, homes.printed
    assert touched(homes) == done


@pytest.mark.parametrize(
    ("files", "code", "done"),
    [(sources(UNWRAPS), 0, ["one", "two"]), (sources("export default 1\n"), 2, ["one"])],
    ids=["good", "bad"],
)
def test_demarkus_goes_on_only_with_a_gate_that_holds(
    homes: Homes, files: Mapping[str, str], code: int, done: list[str]
) -> None:
    folder = write_package(homes.folder / "src/pi-memory", files=files)
    for name in NAMES:
        write_program(homes.home(name))
        write_state(homes.home(name))
    own = {"demarkus_mcp_file": "~/.pi/agent/mcp.json", "demarkus_strictness": "block"}
    declare(homes, "demarkus", "env", demarkus_memory=str(folder), **own)
    assert carried_out(homes, "install-demarkus") == code, homes.printed
    assert touched(homes) == done


@pytest.mark.parametrize(("require", "judged"), [("stamp", False), ("", True)])
def test_containers_are_judged_once_their_image_holds(
    homes: Homes, require: str, judged: bool
) -> None:
    root = ROOT / "inventory/sample-root"
    image = {"image": f"rootfs:{root}", "systems": ["mempalace-bridge"], "require": require.split()}
    box = {"container": "no-such-box", "systems": ["mempalace-bridge"]}
    told = {"images": {"baked": image}, "containers": {"box": box}}
    homes.inventory.write_text(json.dumps(told))
    code, output = homes.run("provision", "renew-devboxes", "--yes", "--format", "json")
    assert code in (2, 3)
    targets = {target["name"] for target in json.loads(output)["targets"]}
    assert targets == {"baked", "box"} if judged else {"baked"}


@pytest.mark.parametrize("words", [("provision", "rotate-token"), ("apply", "--system", "env")])
def test_a_new_token_reaches_the_clients_and_nothing_else_is_lost(
    homes: Homes, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    with ScriptedMcpServer(palace_rules(CANARY)) as server:
        palace = {"palace_url": server.url, "palace_token": "SECRET"}
        links = {"toolkit": "~/mempalace-toolkit", "toolkit_source": "builtin"}
        declare(homes, "mempalace-bridge", "env", **palace, **links)
        monkeypatch.setenv(VARIABLE, "tok-EXAMPLE-before")
        assert homes.run("apply", "--yes", "--no-diff")[0] == 0
        files = [homes.home(name) / ".config/pi/.env" for name in NAMES]
        before = [file.read_text() for file in files]
        assert all("tok-EXAMPLE-before" in text for text in before)
        monkeypatch.setenv(VARIABLE, CANARY)
        code, _ = homes.run(*words, "--yes", "--no-diff")
        assert code == 0, homes.printed
        assert homes.run("plan")[0] == 0
        assert homes.run("audit", "--system", "env")[0] == 0, homes.printed
    assert [f.read_text() for f in files] == [
        text.replace("tok-EXAMPLE-before", CANARY) for text in before
    ]
    assert all(CANARY not in printed for printed in homes.printed)


@pytest.mark.parametrize(
    ("token", "code", "done"), [(CANARY, 0, ["one", "two"]), ("x", 2, ["one"])]
)
def test_clients_are_flipped_while_the_palace_answers_the_first(
    homes: Homes, token: str, code: int, done: list[str]
) -> None:
    with ScriptedMcpServer(palace_rules(token)) as server:
        palace = {"palace_url": server.url, "palace_token": "SECRET"}
        links = {"toolkit": "~/mempalace-toolkit", "toolkit_source": "builtin"}
        declare(homes, "mempalace-bridge", "env", **palace, **links)
        assert carried_out(homes, "flip-to-remote") == code, homes.printed
    assert touched(homes) == done
    told = "prove the palace: no target of this run has mempalace-serve, so nothing was done or"
    assert told in " ".join("".join(homes.printed).split())
