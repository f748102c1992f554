"""The ground under pi: which pi, which node, which programs, and whose folder."""

import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.version import Version
from support.facts import World, findings, target
from support.living import SYSTEM, Living
from support.probing import NOBODY, need_root, shells
from support.tools import PiTool, pi_tool

from fleet.facts.paths import State
from fleet.verifier.model import Verdict
from fleet.verifier.ranges import satisfies, version_in

PI = "@earendil-works/pi-coding-agent"
FROZEN = "@mariozechner/pi-coding-agent"


@pytest.fixture(scope="module")
def pi() -> PiTool:
    return pi_tool()


@pytest.fixture
def here(tmp_path: Path) -> Living:
    for name in ("tools", "home", "bin"):
        (tmp_path / name).mkdir()
    return Living(tmp_path / "home", shells(tmp_path / "tools")["dash"])


def program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def package(folder: Path, name: str, version: str, **more: object) -> Path:
    """A package of pi under ``folder``, and its program in ``folder/bin``."""
    cli = program(folder / "lib/dist/cli.js", "exit 1")
    manifest = {"name": name, "version": version, **more}
    (folder / "lib/package.json").write_text(json.dumps(manifest))
    (folder / "bin").mkdir()
    (folder / "bin/pi").symlink_to(cli)
    return folder / "bin"


def test_the_real_pi_on_the_real_node(here: Living, pi: PiTool) -> None:
    found = here.path(pi.bin_dir, SYSTEM).findings()
    assert found["pi.one"].verdict is Verdict.PASS, found["pi.one"]
    assert found["pi.one"].message == f"{PI} 1.6.0, and no other"
    assert found["pi.node"].verdict is Verdict.PASS, found["pi.node"]
    assert "pi 1.6.0, which needs >=22.19.0" in found["pi.node"].message
    assert found["pi.node"].required


def test_a_node_that_is_first_and_too_old_fails(here: Living, pi: PiTool, tmp_path: Path) -> None:
    old = program(tmp_path / "bin/node", "echo v20.20.2")
    gate = here.path(old.parent, pi.bin_dir, SYSTEM).findings()["pi.node"]
    assert gate.verdict is Verdict.FAIL
    assert gate.evidence == (f"bash -lc: {old} is node 20.20.2, pi 1.6.0 needs >=22.19.0",)


def test_no_node_at_all_fails(here: Living, tmp_path: Path) -> None:
    folder = package(tmp_path / "one", PI, "1.6.0", engines={"node": ">=22.19.0"})
    program(tmp_path / "bin/head", f'exec {shutil.which("head")} "$@"')
    gate = here.path(folder).findings()["pi.node"]
    assert (gate.verdict, gate.evidence) == (Verdict.FAIL, ("bash -lc: no node on the PATH",))


@pytest.mark.parametrize("text", ["exit 1", "echo hello", "sleep 20"])
def test_a_node_that_tells_no_version_is_not_checked(
    here: Living, pi: PiTool, tmp_path: Path, text: str
) -> None:
    mute = program(tmp_path / "bin/node", text)
    gate = here.path(mute.parent, pi.bin_dir, SYSTEM).findings()["pi.node"]
    assert gate.verdict is Verdict.NOT_CHECKED
    assert str(mute) in gate.message


def test_a_pi_that_names_no_range_is_not_checked(here: Living, pi: PiTool, tmp_path: Path) -> None:
    for name, manifest in (("bare", {}), ("odd", {"engines": {"node": "~22 - nightly"}})):
        folder = package(tmp_path / name, PI, "1.6.0", **manifest)
        gate = here.path(folder, pi.node.parent).findings()["pi.node"]
        assert gate.verdict is Verdict.NOT_CHECKED, gate


def test_two_copies_on_one_path_fail_by_name(here: Living, pi: PiTool, tmp_path: Path) -> None:
    old = package(tmp_path / "old", FROZEN, "0.73.1")
    gate = here.path(pi.bin_dir, old, SYSTEM).findings()["pi.one"]
    assert (gate.verdict, gate.required) == (Verdict.FAIL, True)
    assert f"{PI} 1.6.0" in gate.evidence[0]
    assert f"{FROZEN} 0.73.1, frozen at its old name" in gate.evidence[1]


def test_one_copy_that_is_found_twice_is_one(here: Living, pi: PiTool, tmp_path: Path) -> None:
    (tmp_path / "bin/pi").symlink_to(pi.pi_cli)
    gate = here.path(tmp_path / "bin", pi.bin_dir, pi.bin_dir, SYSTEM).findings()["pi.one"]
    assert gate.verdict is Verdict.PASS, gate


@pytest.mark.parametrize(
    ("name", "verdict", "told"),
    [
        (FROZEN, Verdict.WARN, "frozen"),
        ("pi-calculator", Verdict.FAIL, "pi-calculator 3.0.0, another program"),
        ("@oh-my-pi/pi-coding-agent", Verdict.FAIL, "another program"),
    ],
)
def test_a_package_of_another_name_is_told(
    here: Living, tmp_path: Path, name: str, verdict: Verdict, told: str
) -> None:
    gate = here.path(package(tmp_path / "other", name, "3.0.0")).findings()["pi.one"]
    assert gate.verdict is verdict
    assert told in " ".join((gate.message, *gate.evidence))


def test_no_pi_is_told_once(here: Living) -> None:
    found = here.path(SYSTEM, here.home).findings()
    if found["pi.one"].verdict is Verdict.PASS:
        pytest.fail("this machine has a pi in its system folders")
    assert (found["pi.one"].verdict, found["pi.one"].message) == (Verdict.FAIL, "no pi on the PATH")
    assert found["pi.node"].follows == "pi.one"


def test_a_program_that_nobody_can_name_is_not_checked(here: Living, tmp_path: Path) -> None:
    program(tmp_path / "bin/pi", "exit 1")
    assert here.path(tmp_path / "bin").findings()["pi.one"].verdict is Verdict.NOT_CHECKED


def test_a_launch_that_could_not_be_asked_is_not_checked() -> None:
    found = findings(target("pi"), World().launch(state="timeout"))
    for gate in ("pi.one", "pi.node", "pi.prereqs"):
        assert found[gate].verdict is Verdict.NOT_CHECKED, gate


def test_launches_that_start_different_copies_are_told() -> None:
    def manifest(version: str) -> dict[str, bytes]:
        return {"pi": json.dumps({"name": PI, "version": version}).encode()}

    world = World()
    for launch, version in (("bash -lc", "1.6.0"), ("bash -ic", "1.5.0")):
        at = {"pi": (f"/opt/{version}/cli.js", b"")}
        world.launch(launch, commands=at, manifests=manifest(version))
        held = world.launches[launch]
        told = held.commands["pi"].model_copy(update={"others": ()})
        world.launches[launch] = held.model_copy(update={"commands": {"pi": told}})
    gate = findings(target("pi", launches=["bash -lc", "bash -ic"]), world)["pi.one"]
    assert gate.verdict is Verdict.WARN
    assert gate.evidence == ("bash -lc: /opt/1.6.0/cli.js", "bash -ic: /opt/1.5.0/cli.js")


# --- programs and credentials ------------------------------------------------------------------


def ground(tmp_path: Path, tmux: str = "tmux 3.3a", without: str = "") -> Path:
    for name, text in (("git", "exit 1"), ("uv", "exit 1"), ("tmux", f"echo {tmux}")):
        if name != without:
            program(tmp_path / "bin" / name, text)
    return tmp_path / "bin"


def test_the_programs_that_pi_needs(here: Living, tmp_path: Path) -> None:
    gate = here.path(ground(tmp_path)).findings()["pi.prereqs"]
    assert (gate.verdict, gate.message) == (Verdict.PASS, "git, uv and tmux are there")


@pytest.mark.parametrize("name", ["git", "uv", "tmux"])
def test_a_program_that_is_not_there_fails(here: Living, tmp_path: Path, name: str) -> None:
    gate = here.path(ground(tmp_path, without=name)).findings()["pi.prereqs"]
    assert gate.verdict is Verdict.FAIL
    assert gate.evidence == (f"bash -lc: {name} is not on the PATH",)


@pytest.mark.parametrize(
    ("tmux", "verdict"),
    [
        ("tmux 3.2", Verdict.PASS),
        ("tmux next-3.5", Verdict.PASS),
        ("tmux 3.1c", Verdict.FAIL),
        ("tmux 2.9", Verdict.FAIL),
        ("tmux master", Verdict.NOT_CHECKED),
    ],
)
def test_tmux_is_new_enough(here: Living, tmp_path: Path, tmux: str, verdict: Verdict) -> None:
    assert here.path(ground(tmp_path, tmux)).findings()["pi.prereqs"].verdict is verdict


def test_a_bedrock_provider_needs_credentials(here: Living, tmp_path: Path) -> None:
    here.path(ground(tmp_path))
    here.configure("settings.json", {"defaultProvider": "amazon-bedrock"})
    gate = here.findings()["pi.prereqs"]
    assert gate.verdict is Verdict.FAIL
    assert "AWS_PROFILE" in gate.evidence[0]
    with (here.home / ".bash_profile").open("a") as profile:
        profile.write("export AWS_PROFILE=work\n")
    gate = here.findings()["pi.prereqs"]
    assert gate.verdict is Verdict.FAIL
    assert "AWS_PROFILE is 'work', and neither ~/.aws/config nor" in gate.evidence[0]
    here.configure("settings.json", "{ broken")
    assert here.findings()["pi.prereqs"].verdict is Verdict.PASS


@pytest.mark.parametrize(
    ("files", "profile", "verdict"),
    [
        ({"config": "[profile work]\n"}, "work", Verdict.PASS),
        ({"credentials": "[work]\nkey = tok-EXAMPLE-1\n"}, "work", Verdict.PASS),
        ({"config": "[work]\n"}, "work", Verdict.FAIL),
        ({"credentials": "[profile work]\n", "config": "[default]\n"}, "work", Verdict.FAIL),
        ({"config": "[default]\n"}, "default", Verdict.PASS),
    ],
)
def test_the_profile_is_a_section_of_the_files(
    here: Living, tmp_path: Path, files: dict[str, str], profile: str, verdict: Verdict
) -> None:
    here.path(ground(tmp_path))
    here.configure("settings.json", {"defaultProvider": "amazon-bedrock"})
    with (here.home / ".bash_profile").open("a") as rc:
        rc.write(f"export AWS_PROFILE={profile}\n")
    (here.home / ".aws").mkdir()
    for name, text in files.items():
        (here.home / ".aws" / name).write_text(text)
    gate = here.findings()["pi.prereqs"]
    assert gate.verdict is verdict, gate
    assert "EXAMPLE" not in str(gate)


def test_a_profile_in_a_file_elsewhere_is_not_checked(here: Living, tmp_path: Path) -> None:
    here.path(ground(tmp_path))
    here.configure("settings.json", {"defaultProvider": "amazon-bedrock"})
    with (here.home / ".bash_profile").open("a") as rc:
        rc.write("export AWS_PROFILE=work AWS_CONFIG_FILE=/etc/aws\n")
    gate = here.findings()["pi.prereqs"]
    assert gate.verdict is Verdict.NOT_CHECKED
    assert "/etc/aws was not read" in str(gate.evidence)


# --- the agent folder -------------------------------------------------------------------------


@pytest.fixture
def open_home() -> Iterator[Path]:
    """Yield a home that every user may search, unlike ``tmp_path``."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


def test_the_agent_folder_is_writable_by_who_runs_pi(here: Living, open_home: Path) -> None:
    need_root()
    there = Living(open_home, here.shell)
    assert there.findings()["pi.writable"].verdict is Verdict.NOT_APPLICABLE
    there.agent.mkdir(parents=True)
    there.agent.chmod(0o755)
    good = there.findings()["pi.writable"]
    assert (good.verdict, good.required) == (Verdict.PASS, True)
    bad = there.findings(uid=NOBODY)["pi.writable"]
    assert bad.verdict is Verdict.FAIL
    assert "belongs to root, mode 0755" in bad.evidence[1]


@pytest.mark.parametrize(
    ("mode", "uid", "verdict"),
    [
        (0o755, 1000, Verdict.PASS),
        (0o555, 1000, Verdict.FAIL),
        (0o755, 0, Verdict.FAIL),
        (0o757, 0, Verdict.PASS),
        (0o775, 0, Verdict.NOT_CHECKED),
        (None, 0, Verdict.NOT_CHECKED),
    ],
)
def test_where_nobody_could_try_the_mode_tells(
    mode: int | None, uid: int, verdict: Verdict
) -> None:
    world = World().folder("~/.pi/agent")
    fact = world.paths["~/.pi/agent"]
    world.paths["~/.pi/agent"] = fact.model_copy(update={"mode": mode, "uid": uid})
    assert findings(target("pi"), world)["pi.writable"].verdict is verdict


@pytest.mark.parametrize(
    ("state", "verdict"),
    [
        (State.DANGLING, Verdict.FAIL),
        (State.UNREADABLE, Verdict.ERROR),
        (State.UNSUPPORTED, Verdict.NOT_CHECKED),
    ],
)
def test_an_agent_folder_that_leads_nowhere(state: State, verdict: Verdict) -> None:
    world = World().broken("~/.pi/agent", state)
    assert findings(target("pi"), world)["pi.writable"].verdict is verdict


def test_a_file_is_no_agent_folder() -> None:
    gate = findings(target("pi"), World().file("~/.pi/agent"))["pi.writable"]
    assert (gate.verdict, gate.message) == (Verdict.FAIL, "is a file, not a folder")


# --- ranges -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "wanted", "told"),
    [
        ("22.19.0", ">=22.19.0", True),
        ("22.18.9", ">=22.19.0", False),
        ("24.1.0", ">= 22.19", True),
        ("24.1.0", ">=22.19 <23 || >=24", True),
        ("23.1.0", ">=22.19 <23 || >=24", False),
        ("22.20.0", "^22.19.0", True),
        ("23.0.0", "^22.19.0", False),
        ("22.1.0", "22.1.0", True),
        ("22.1.0", "=22.1.0", True),
        ("22.1.0", "*", True),
        ("22.1.0", "22.x", None),
        ("22.1.0", "~22", None),
        ("22.1.0", "^0.2.1", False),
        ("0.84.3", "^0.84.1 || ^0.85.0", True),
        ("0.84.0", "^0.84.1 || ^0.85.0", False),
        ("0.86.0", "^0.84.1 || ^0.85", False),
        ("0.0.3", "^0.0.3", None),
        ("0.5.0", "^0", None),
        ("22.1.0", "~22 || >=20", True),
    ],
)
def test_ranges_of_npm(version: str, wanted: str, told: bool | None) -> None:
    assert satisfies(Version(version), wanted) is told


@pytest.mark.parametrize(
    ("text", "told"),
    [("v22.19.0", "22.19.0"), ("tmux 3.3a", "3.3"), ("tmux next-3.5", "3.5"), ("none", None)],
)
def test_versions_in_what_programs_print(text: str, told: str | None) -> None:
    found = version_in(text)
    assert (None if found is None else str(found)) == told
