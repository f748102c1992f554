"""Gates of what runs beside the bridge, asked of real files by the real probe: each way they end.

What only a running program can show is in the tests of its own system.
"""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from support.living import Living, let_others_see
from support.mcp_files import server
from support.probing import NOBODY, need_root, shells

from fleet.inventory.model import Value
from fleet.verifier.model import Verdict

PASS, WARN, FAIL, UNSEEN = Verdict.PASS, Verdict.WARN, Verdict.FAIL, Verdict.NOT_CHECKED
NONE = Verdict.NOT_APPLICABLE
URL = "https://palace.example.net/mcp"
OTHER = "https://elsewhere.example.net/mcp"
LITERAL = {"Authorization": "Bearer tok-EXAMPLE-written-out"}
NAMED = {"Authorization": "Bearer ${NOT_EXPORTED}"}
CLIENTS: dict[str, Value] = {"mcp_clients": "cursor", "palace_url": URL}
LOCAL: dict[str, Value] = {"mcp_clients": "cursor", "mempalace_mcp": "/opt/m/mempalace-mcp"}
CLAUDE, CURSOR, AGENT = ".claude.json", ".cursor/mcp.json", ".pi/agent"
OPENCODE = ".config/opencode/opencode.json"
PLUGIN = ".config/opencode/plugins/mine.ts"
BOTH = ("claude-code", "mcp-clients")
NUL = "{\0}"


def http(**fields: object) -> str:
    return json.dumps({"mcpServers": {"mempalace": {"type": "http", "url": URL, **fields}}})


def twice(**fields: object) -> str:
    entry = {"type": "http", "url": URL, **fields}
    return json.dumps({"mcpServers": {"mempalace": entry, "memory": entry}})


def program(command: str) -> str:
    return json.dumps(server(command=command))


def remote(**fields: object) -> str:
    return json.dumps({"mcp": {"mempalace": {"type": "remote", "url": URL, **fields}}})


CASES: list[tuple[str, tuple[str, ...], dict[str, str], dict[str, Value], dict[str, Verdict]]] = [
    (
        "as they should be",
        BOTH,
        {CLAUDE: http(), CURSOR: http()},
        CLIENTS,
        {f"{s}.{g}": PASS for s in ("claude-code", "clients") for g in ("form", "palace", "token")},
    ),
    (
        "in the form of another client",
        BOTH,
        {
            CLAUDE: json.dumps(server(url=URL)),
            CURSOR: json.dumps(server(serverUrl=URL)),
        },
        CLIENTS,
        {"claude-code.form": FAIL, "clients.form": FAIL},
    ),
    (
        "to another palace, with a token in it",
        BOTH,
        {CLAUDE: http(url=OTHER, headers=LITERAL), CURSOR: http(url=OTHER, headers=LITERAL)},
        CLIENTS,
        {f"{s}.{g}": FAIL for s in ("claude-code", "clients") for g in ("palace", "token")},
    ),
    (
        "with a variable that was not asked for",
        BOTH,
        {CLAUDE: http(headers=NAMED), CURSOR: http(headers=NAMED)},
        CLIENTS,
        {"claude-code.variables": UNSEEN, "clients.variables": UNSEEN},
    ),
    (
        "with a variable that is not exported",
        BOTH,
        {
            CLAUDE: http(headers={"Authorization": "Bearer ${MEMPALACE_REMOTE_TOKEN}"}),
            CURSOR: http(headers={"Authorization": "Bearer ${env:MEMPALACE_REMOTE_TOKEN}"}),
        },
        CLIENTS,
        {"claude-code.variables": FAIL, "clients.variables": FAIL},
    ),
    (
        "a program that is not there",
        BOTH,
        {CLAUDE: program("/opt/m/mempalace-mcp"), CURSOR: program("/opt/m/mempalace-mcp")},
        LOCAL,
        {"claude-code.command": FAIL, "clients.command": FAIL},
    ),
    (
        "a program that is there",
        BOTH,
        {CLAUDE: program("/bin/sh"), CURSOR: program("/bin/sh")},
        {"mcp_clients": "cursor", "mempalace_mcp": "/bin/sh"},
        {f"{s}.{g}": PASS for s in ("claude-code", "clients") for g in ("command", "palace")},
    ),
    (
        "registered twice, in files of the owner's alone with a token in them",
        BOTH,
        {CLAUDE: twice(headers=LITERAL), CURSOR: twice(headers=LITERAL)},
        CLIENTS,
        {f"{s}.{g}": WARN for s in ("claude-code", "clients") for g in ("palace", "token")},
    ),
    (
        "nothing is registered",
        BOTH,
        {},
        CLIENTS,
        {"claude-code.palace": FAIL, "clients.palace": FAIL, "clients.token": NONE},
    ),
    (
        "a file that holds a NUL",
        BOTH,
        {CLAUDE: NUL, CURSOR: NUL},
        CLIENTS,
        {
            f"{s}.{g}": UNSEEN
            for s in ("claude-code", "clients")
            for g in ("form", "palace", "token")
        },
    ),
    (
        "nobody hosts the servers",
        ("pi-mcp",),
        {f"{AGENT}/mcp.json": http(), f"{AGENT}/settings.json": '{"extensions": ["-builtin:mcp"]}'},
        {"palace_url": URL},
        {"mcp.host": FAIL},
    ),
    (
        "which pi hosts them is not seen",
        ("pi-mcp",),
        {f"{AGENT}/mcp.json": http(exposure="direct")},
        {"palace_url": URL},
        {"mcp.host": UNSEEN, "mcp.tools": UNSEEN, "mcp.answers": UNSEEN, "mcp.values": PASS},
    ),
    (
        "the model gets no tool, and the file is not the host's",
        ("pi-mcp",),
        {f"{AGENT}/mcp.json": http(), ".config/mcp/mcp.json": json.dumps(server("x", url=OTHER))},
        {"palace_url": URL},
        {"mcp.tools": FAIL, "mcp.files": WARN},
    ),
    (
        "a file of servers that holds a NUL",
        ("pi-mcp",),
        {f"{AGENT}/mcp.json": NUL},
        {"palace_url": URL},
        {"mcp.files": UNSEEN, "mcp.values": UNSEEN, "mcp.tools": UNSEEN, "mcp.answers": UNSEEN},
    ),
    (
        "opencode with a token in it, and a plugin",
        ("opencode",),
        {OPENCODE: remote(headers=LITERAL), PLUGIN: ""},
        {"palace_url": URL},
        {"opencode.token": FAIL, "opencode.plugins": PASS, "opencode.oauth": WARN},
    ),
    (
        "opencode led elsewhere, with the palace's plugin beside it",
        ("opencode",),
        {OPENCODE: remote(url=OTHER), PLUGIN.replace("mine", "mempalace"): ""},
        {"palace_url": URL},
        {"opencode.palace": FAIL, "opencode.plugins": WARN},
    ),
    (
        "a file of opencode's that holds a NUL",
        ("opencode",),
        {OPENCODE: NUL},
        {"palace_url": URL},
        {f"opencode.{g}": UNSEEN for g in ("config", "palace", "token", "oauth")},
    ),
    (
        "keys of its own, and settings without a provider",
        ("pi-toolkit",),
        {f"{AGENT}/keybindings.json": "{}", f"{AGENT}/settings.json": "{}"},
        {},
        {"toolkit.keybindings": FAIL, "toolkit.loader": FAIL, "toolkit.settings": FAIL},
    ),
    (
        "settings that name one",
        ("pi-toolkit",),
        {f"{AGENT}/settings.json": '{"defaultProvider": "anthropic"}'},
        {},
        {"toolkit.keybindings": FAIL, "toolkit.settings": PASS},
    ),
    (
        "no skill",
        ("skills",),
        {},
        {},
        {"skills.mempalace": FAIL},
    ),
    (
        "no program of mempalace's",
        ("mempalace-cli",),
        {},
        {"embedding_folder": "/opt/model"},
        {"cli.one": FAIL, "cli.model": FAIL},
    ),
]


@pytest.fixture(params=["dash", "busybox"])
def here(tmp_path: Path, request: pytest.FixtureRequest) -> Living:
    (tmp_path / "tools").mkdir()
    (tmp_path / "home").mkdir()
    found = shells(tmp_path / "tools")
    if request.param not in found:
        pytest.skip(f"there is no {request.param} here")
    return Living(tmp_path / "home", found[request.param]).path(tmp_path / "bin")


@pytest.mark.parametrize(
    ("systems", "files", "variables", "wanted"), [c[1:] for c in CASES], ids=[c[0] for c in CASES]
)
def test_what_lies_there_decides(
    here: Living,
    systems: tuple[str, ...],
    files: dict[str, str],
    variables: dict[str, Value],
    wanted: dict[str, Verdict],
) -> None:
    for name, text in files.items():
        path = here.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o600 if "memory" in text else 0o644)
    there = Living(here.home, here.shell, systems)
    found = there.findings(there.declared(**variables))
    assert {gate: found[gate].verdict for gate in wanted} == wanted, [found[g] for g in wanted]
    assert "tok-EXAMPLE" not in str(found)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can ask as somebody else")
@pytest.mark.parametrize(
    ("systems", "file", "gates"),
    [
        (("claude-code",), CLAUDE, ("claude-code.form", "claude-code.palace", "claude-code.token")),
        (("opencode",), OPENCODE, ("opencode.config", "opencode.palace", "opencode.token")),
        (("pi-mcp",), f"{AGENT}/mcp.json", ("mcp.files", "mcp.values")),
        (("pi-toolkit",), f"{AGENT}/settings.json", ("toolkit.settings",)),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_a_file_of_somebody_elses_is_not_checked(
    here: Living, systems: tuple[str, ...], file: str, gates: tuple[str, ...]
) -> None:
    path = here.home / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{}")
    path.chmod(0o600)
    let_others_see(here.home)
    there = Living(here.home, here.shell, systems)
    found = there.findings(there.declared(palace_url=URL), uid=65534)
    good = {Verdict.NOT_CHECKED, Verdict.ERROR}
    assert {found[gate].verdict for gate in gates} <= good, [found[gate] for gate in gates]


def test_what_only_somebody_else_may_read_is_not_judged(here: Living) -> None:
    need_root()
    plugins = here.home / PLUGIN
    plugins.parent.mkdir(parents=True)
    for folder in (here.home, *here.home.parents):
        if folder.stat().st_uid == 0 and folder not in (Path("/"), Path("/tmp")):
            folder.chmod(folder.stat().st_mode | 0o055)
    (here.home / ".pi").mkdir()
    custom = here.home / ".oh-my-zsh/custom"
    custom.mkdir(parents=True)
    for path in (plugins.parent.parent, here.home / ".pi", custom):
        path.chmod(0o700)
    there = Living(here.home, here.shell, ("opencode", "pi-toolkit", "pi-mnemo"))
    where = replace(there.declared(palace_url=URL), launches=("zsh -ic",))
    found = there.findings(where, uid=NOBODY)
    for gate in ("opencode.plugins", "mnemo.placed", "toolkit.loader"):
        assert found[gate].verdict is Verdict.ERROR, found[gate]
        assert "permission denied" in found[gate].message
