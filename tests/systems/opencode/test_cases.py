"""Failures that others met with opencode's registration, asked of real files by the real probe."""

import shutil
from pathlib import Path

import pytest
from support.living import Living
from support.places import CASES
from support.probing import shells

from fleet.inventory.model import Value
from fleet.verifier.model import Finding, Verdict

URL = "https://palace.example.net/mcp"


@pytest.fixture(params=["dash", "busybox"])
def here(tmp_path: Path, request: pytest.FixtureRequest) -> Living:
    (tmp_path / "tools").mkdir()
    (tmp_path / "home").mkdir()
    found = shells(tmp_path / "tools")
    if request.param not in found:
        pytest.skip(f"there is no {request.param} here")
    return Living(tmp_path / "home", found[request.param], systems=("opencode",))


def judged(here: Living, case: str, name: str, **variables: Value) -> dict[str, Finding]:
    folder = here.home / ".config/opencode"
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(CASES / case / name, folder / Path(name).name)
    return here.findings(here.declared(palace_url=URL, **variables))


def test_d01_each_wrong_entry_is_named_with_its_key(here: Living) -> None:
    gate = judged(here, "D01", "opencode.json")["opencode.config"]
    assert gate.verdict is Verdict.FAIL
    told = "\n".join(gate.evidence)
    assert "mcp.w1: `env` is dropped without a word: `environment` is meant" in told
    assert "mcp.w2: `command` is no list" in told
    assert "mcp.w2: `args` is dropped" in told
    assert "mcp.w3: `type` is 'stdio'" in told
    assert "mcp.w4: `type` is missing" in told
    assert "mcp.ok" not in told
    assert len(gate.evidence) == 5


def test_d03_a_file_with_comments_is_read(here: Living) -> None:
    found = judged(here, "D03", "opencode.jsonc")
    assert found["opencode.config"].verdict is Verdict.PASS
    assert found["opencode.palace"].verdict is Verdict.FAIL
    assert "no file names a server" in found["opencode.palace"].evidence[0]


def test_d03_a_broken_file_fails_with_its_place(here: Living) -> None:
    gate = judged(here, "D03", "broken.jsonc")["opencode.config"]
    assert gate.verdict is Verdict.PASS, "opencode does not read a file of that name"
    (here.home / ".config/opencode/broken.jsonc").rename(
        here.home / ".config/opencode/opencode.jsonc"
    )
    found = here.findings(here.declared(palace_url=URL))
    assert found["opencode.config"].verdict is Verdict.FAIL
    assert "line 2, column 1" in found["opencode.config"].evidence[0]
    assert found["opencode.palace"].follows == "opencode.config"


def test_d11_a_static_token_without_oauth_false_is_a_warning(here: Living) -> None:
    gate = judged(here, "D11", "opencode.json")["opencode.oauth"]
    assert gate.verdict is Verdict.WARN
    assert gate.remedy == "set `oauth: false` for a static token"


def test_d12_both_files_and_the_folder_are_named(here: Living) -> None:
    shutil.copytree(CASES / "D12/home", here.home, dirs_exist_ok=True)
    project = str(CASES / "D12/proj")
    gate = here.findings(here.declared(palace_url=URL, project_dir=project))["opencode.project"]
    assert gate.verdict is Verdict.WARN
    both = f"{project}/opencode.jsonc names servers, mempalace is in ~/.config/opencode/opencode"
    assert gate.evidence[0].startswith(both)
    assert gate.evidence[-1] == f"looked at as in {project}"


def test_d10_a_program_that_is_not_on_the_path_of_the_launch_fails(here: Living) -> None:
    folder = here.home / ".config/opencode"
    folder.mkdir(parents=True)
    local = '{"mcp": {"mempalace": {"type": "local", "command": ["mempalace-mcp"]}}}'
    (folder / "opencode.json").write_text(local)
    elsewhere = here.home / "venv/bin"
    elsewhere.mkdir(parents=True)
    shutil.copy(CASES / "D10/bin/mempalace", elsewhere / "mempalace-mcp")
    gate = here.path("/usr/bin", "/bin").findings()["opencode.command"]
    assert gate.verdict is Verdict.FAIL
    assert gate.evidence == ("bash -lc: mempalace-mcp is not on the PATH",)
    gate = here.path(elsewhere, "/usr/bin", "/bin").findings()["opencode.command"]
    assert gate.verdict is Verdict.PASS
