"""The real opencode takes what fleet deploys, and merges its files as fleet says it does."""

import json
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from support.facts import NONCE, target
from support.homes import CANARY, VARIABLE, Homes
from support.mcp_server import ScriptedMcpServer, palace_rules
from support.opencode import resolved, run
from support.probing import Shell, answer, shells
from support.tools import opencode_tool

from fleet.demo.stage import snapshot
from fleet.facts.compile import probe_script
from fleet.systems.ask import request_for
from fleet.systems.catalogue import load_catalogue
from fleet.systems.opencode.entries import faults
from fleet.systems.opencode.files import configuration
from fleet.systems.resolve import resolve
from fleet.verifier.judge import Expectations, look_of

pytestmark = [pytest.mark.network, pytest.mark.timeout(600)]

FILES = (
    "home/.config/opencode/config.json",
    "home/.config/opencode/opencode.json",
    "home/.config/opencode/opencode.jsonc",
    "named.json",
    "project/opencode.json",
    "project/opencode.jsonc",
    "project/.opencode/opencode.json",
    "project/.opencode/opencode.jsonc",
    "home/.opencode/opencode.json",
    "home/.opencode/opencode.jsonc",
    "further/opencode.json",
    "further/opencode.jsonc",
)


def write(root: Path, name: str, document: object) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(document, indent=1)
    path.write_text(f"// a comment\n{text}\n" if name.endswith("c") else text)


def by_fleet(root: Path, shell: Shell) -> dict[str, object]:
    where = target(
        "opencode",
        address="local:",
        project_dir=str(root / "project"),
        opencode_config=str(root / "named.json"),
        opencode_config_dir=str(root / "further"),
    )
    systems = resolve([load_catalogue().system("opencode")], where)
    request = request_for(where, systems, nonce=NONCE)
    done = shell.run(probe_script(request), home=root / "home")
    facts = answer(done.stdout, request)
    look = look_of(where, systems[0], facts, Expectations(today=datetime.now(UTC).date()))
    found = configuration(look)
    assert not found.broken
    assert not found.unread
    return {name: found.entry(name) for name in found.names()}


def by_opencode(root: Path) -> dict[str, object] | None:
    named = {"OPENCODE_CONFIG": "named.json", "OPENCODE_CONFIG_DIR": "further"}
    env = {variable: str(root / name) for variable, name in named.items()}
    return resolved(root / "home", folder=root / "project", env=env)


def test_files_are_laid_over_one_another_as_opencode_does(tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir()
    shell = shells(tmp_path / "tools")["dash"]
    for number, name in enumerate(FILES):
        own: dict[str, object] = {"type": "remote", "url": f"https://s{number}.example.net/mcp"}
        pair = {**own, "enabled": False, "timeout": number + 1} if number % 4 == 0 else own
        write(tmp_path, name, {"mcp": {f"own-{number}": own, f"pair-{number // 2}": pair}})
    for number, name in enumerate(FILES[1::2]):  # each is the one that decides of its pair
        told = json.loads((tmp_path / name).read_text().removeprefix("// a comment\n"))
        told["mcp"]["shared"] = {"type": "local", "command": [f"c{number}"]}
        write(tmp_path, name, told)
    while True:
        told = by_opencode(tmp_path)
        assert told == by_fleet(tmp_path, shell)
        left = [name for name in FILES if (tmp_path / name).exists()]
        if len(left) < 5:  # OPENCODE_CONFIG must name a file that is there
            break
        for name in left[-2:]:
            (tmp_path / name).unlink()


TAKEN: list[dict[str, object]] = [
    {"type": "local", "command": ["x"], "environment": {"A": "1"}, "enabled": False},
    {"type": "local", "command": ["x", "y"], "timeout": 1000, "enabled": True},
    {"type": "remote", "url": "https://a.example.net/mcp", "oauth": False, "enabled": False},
    {"enabled": False},
]
DROPPED: list[dict[str, object]] = [
    {"type": "local", "command": ["x"], "env": {"A": "1"}},
    {"type": "local", "command": ["x"], "args": ["y"]},
    {"type": "local", "command": ["x"], "url": "https://a.example.net/mcp"},
    {"type": "remote", "url": "https://a.example.net/mcp", "environment": {"A": "1"}},
    {"type": "remote", "url": "https://a.example.net/mcp", "disabled": True},
]
REFUSED: list[dict[str, object]] = [
    {"type": "local", "command": "x"},
    {"type": "local"},
    {"type": "stdio", "command": ["x"]},
    {"command": ["x"]},
    {"type": "remote"},
]


def test_what_opencode_takes_is_no_fault_and_what_it_drops_is_told(tmp_path: Path) -> None:
    servers = {f"s{number}": fields for number, fields in enumerate(TAKEN + DROPPED)}
    write(tmp_path, ".config/opencode/opencode.json", {"mcp": servers})
    told = resolved(tmp_path)
    assert told is not None
    for name, fields in servers.items():
        lines = list(faults(fields))
        kept = told[name]
        assert isinstance(kept, dict)
        gone = sorted(set(fields) - set(kept))
        assert bool(gone) == (fields in DROPPED), fields
        assert [line.split("`")[1] for line in lines] == gone


@pytest.mark.parametrize("fields", REFUSED, ids=json.dumps)
def test_what_opencode_refuses_is_told(tmp_path: Path, fields: dict[str, object]) -> None:
    write(tmp_path, ".config/opencode/opencode.json", {"mcp": {"a": fields}})
    assert resolved(tmp_path) is None
    assert list(faults(fields))


@pytest.fixture
def homes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Homes:
    """One home with opencode on its PATH, a file of its own, and a palace that is declared."""
    monkeypatch.setenv(VARIABLE, CANARY)
    monkeypatch.chdir(tmp_path)
    home = tmp_path / "one"
    (home / ".config/opencode").mkdir(parents=True)
    # Without a schema opencode would write one in.
    theirs = '{\n  // mine\n  "$schema": "https://opencode.ai/config.json",\n}\n'
    (home / ".config/opencode/opencode.jsonc").write_text(theirs)
    (home / ".profile").write_text(f"PATH={opencode_tool()}:$PATH\n")
    return Homes(tmp_path, tmp_path / "fleet.yml", ("one",))


def declare(homes: Homes, palace: str) -> None:
    homes.inventory.write_text(
        f"vars:\n{palace}hosts:\n  one:\n    local: {homes.home('one')}\n"
        "    shell: bash -lc\n    systems: [opencode, env]\n"
    )


def contents(home: Path) -> dict[str, str]:
    """Return what lies in a home, without times and without opencode's own state."""
    return {
        name: " ".join(told.split()[:3])
        for name, told in snapshot(home).items()
        if not name.startswith((".local", ".cache"))
    }


def connected(home: Path, env: dict[str, str]) -> str:
    """Return what opencode tells of its servers, once it is connected; it fails now and then."""
    for _ in range(4):
        told = run(home, "mcp", "list", env=env).stdout
        if "connected" in told:
            return told
        time.sleep(0.5)
    return told


def test_what_is_deployed_is_taken_by_opencode_and_comes_away_again(homes: Homes) -> None:
    home = homes.home("one")
    with ScriptedMcpServer(palace_rules(CANARY)) as server:
        palace = f"  palace_url: {server.url}\n  palace_token: !secret env:{VARIABLE}\n"
        declare(homes, palace)
        before = contents(home)
        code, output = homes.run("provision", "--yes")
        assert code == 0, output
        path = home / ".config/opencode/opencode.jsonc"
        text = path.read_text()
        assert text.startswith('{\n  // mine\n  "$schema": "https://opencode.ai/config.json",\n')
        assert CANARY not in text
        assert not (path.parent / "opencode.json").exists()
        _, found = homes.audit()
        for gate in ("program", "config", "palace", "answers", "variables", "token", "oauth"):
            assert found["one", f"opencode.{gate}"]["verdict"] == "pass", gate

        told = connected(home, {"MEMPALACE_REMOTE_TOKEN": CANARY})
        assert "mempalace" in told
        assert "connected" in told, told
        assert f"Bearer {CANARY}" in {heard.authorization for heard in server.heard}
        again, output = homes.run("plan")
        assert again == 0, output

        homes.run("uninstall", "--yes")
    for made in (".gitignore",):  # opencode's own
        (home / ".config/opencode" / made).unlink(missing_ok=True)
    assert contents(home) == before
    assert all(CANARY not in printed for printed in homes.printed)


def test_a_palace_that_becomes_remote_is_registered_anew(homes: Homes) -> None:
    declare(homes, "  mempalace_mcp: /opt/mempalace/bin/mempalace-mcp\n")
    homes.run("provision", "--yes")
    told = resolved(homes.home("one"))
    command = ["/opt/mempalace/bin/mempalace-mcp"]
    assert told == {"mempalace": {"type": "local", "command": command, "enabled": True}}
    declare(homes, "  palace_url: https://palace.example.net/mcp\n")
    code, output = homes.run("plan")
    assert code == 2, output
    homes.run("provision", "--yes")
    told = resolved(homes.home("one"))
    url = "https://palace.example.net/mcp"
    assert told == {"mempalace": {"type": "remote", "url": url, "oauth": False, "enabled": True}}
    _, found = homes.audit()
    assert found["one", "opencode.palace"]["verdict"] == "pass", found["one", "opencode.palace"]
    assert found["one", "opencode.config"]["verdict"] == "pass"
    assert found["one", "opencode.answers"]["verdict"] == "fail", "there is no such host"
