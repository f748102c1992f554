"""Gates of pi's base and of clients, asked of real files by the real probe, each way.

What only a running program can show is in the tests of its own system.
"""

import json
from pathlib import Path

import pytest
from support.case_homes import HUGE, NOBODY, Case, names
from support.mcp_files import server
from support.tools import mempalace_tool, opencode_tool

from fleet.inventory.model import Value
from fleet.verifier.model import Verdict

pytestmark = pytest.mark.network

PASS, WARN, FAIL, NONE = Verdict.PASS, Verdict.WARN, Verdict.FAIL, Verdict.NOT_APPLICABLE
UNSEEN, ERROR = Verdict.NOT_CHECKED, Verdict.ERROR
URL = "https://palace.example.net/mcp"
AGENT = ".pi/agent"

# --- pi's base, its skill, and programs -------------------------------------------------------

KEYS: dict[str, Value] = {"pi_toolkit": "~/kit"}
LINK = {f"{AGENT}/keybindings.json": "-> {home}/kit/keybindings.json"}
SKILL = ".agents/skills/mempalace/SKILL.md"
TOLD = "---\nname: mempalace\ndescription: What is kept.\n---\nKeep it.\n"
OPENCODE = ".config/opencode"
LOCAL = {"type": "local", "command": ["mempalace-mcp"]}
REMOTE = {"type": "remote", "url": URL}


def mempalace_of_today(_home: Path) -> Path:
    return mempalace_tool()


def a_model_of_its_owner(home: Path) -> None:
    place = home / ".cache/chroma/onnx_models/all-MiniLM-L6-v2"
    place.mkdir(parents=True)
    (home / "model").mkdir(mode=0o700)
    (place / "onnx").symlink_to(home / "model")


OF_THE_BASE = [
    Case(
        "keys of the toolkit",
        "pi-toolkit",
        {"keybindings": PASS},
        files=LINK | {"kit/keybindings.json": '{"app.tools.expand": "ctrl+o"}'},
        variables=KEYS,
    ),
    Case(
        "keys that pi will rename",
        "pi-toolkit",
        {"keybindings": WARN},
        files=LINK | {"kit/keybindings.json": '{"expandTools": "ctrl+o"}'},
        variables=KEYS,
    ),
    Case(
        "too large to be read",
        "pi-toolkit",
        {"keybindings": UNSEEN, "settings": UNSEEN},
        files=LINK | {"kit/keybindings.json": HUGE, f"{AGENT}/settings.json": HUGE},
        variables=KEYS,
    ),
    Case("a skill that loads", "skills", {"mempalace": PASS}, files={SKILL: TOLD}),
    Case("too large to be read", "skills", {"mempalace": UNSEEN}, files={SKILL: TOLD + HUGE}),
    Case("kept from who asks", "skills", {"mempalace": ERROR}, files={SKILL: TOLD}, uid=NOBODY),
    Case(
        "beside a remote palace",
        "mempalace-cli",
        {"one": PASS, "version": PASS, "archive": WARN, "palace": NONE, "model": NONE},
        files={".mempalace/palace/chroma.sqlite3": "of before"},
        variables={"palace_url": URL},
        path=mempalace_of_today,
    ),
    Case(
        "another release, and another palace than the declared",
        "mempalace-cli",
        {"version": FAIL, "archive": NONE, "palace": FAIL},
        variables={"mempalace_version": "3.10.0", "local_palace": "/srv/palace"},
        exports="export MEMPALACE_PALACE_PATH=/srv/other\n",
        path=mempalace_of_today,
    ),
    Case(
        "a shell that ends before it tells",
        "mempalace-cli",
        {"one": UNSEEN, "palace": UNSEEN},
        variables={"local_palace": "/srv/palace"},
        exports="exit 3\n",
        path=mempalace_of_today,
    ),
    Case(
        "a shell that ends before it tells, beside a remote palace",
        "mempalace-cli",
        {"archive": UNSEEN},
        variables={"palace_url": URL},
        exports="exit 3\n",
        path=mempalace_of_today,
    ),
    Case(
        "a program that tells no version, and a model of somebody else's",
        "mempalace-cli",
        {"one": PASS, "version": UNSEEN, "model": ERROR},
        a_model_of_its_owner,
        files={"bin/mempalace": "#!/bin/sh\n"},
        variables={"embedding_folder": "~/model"},
        uid=NOBODY,
    ),
    Case(
        "two palaces, and a plugin that leads nowhere",
        "opencode",
        {"program": PASS, "palace": WARN, "plugins": FAIL},
        files={
            f"{OPENCODE}/opencode.json": json.dumps(
                {"mcp": {"mempalace": REMOTE, "memory": REMOTE}}
            ),
            f"{OPENCODE}/plugins/mine.ts": "-> {home}/nowhere.ts",
        },
        variables={"palace_url": URL},
        path=lambda _home: opencode_tool(),
    ),
    Case(
        "a project whose servers stand beside",
        "opencode",
        {"project": PASS},
        files={
            f"{OPENCODE}/opencode.json": json.dumps({"mcp": {"mempalace": REMOTE}}),
            "work/opencode.json": json.dumps({"mcp": {"other": REMOTE}}),
        },
        variables={"palace_url": URL, "project_dir": "~/work"},
        path=lambda _home: opencode_tool(),
    ),
    Case(
        "a project's file that cannot be understood, in a shell that ends before it tells",
        "opencode",
        {"program": UNSEEN, "project": UNSEEN},
        files={f"{OPENCODE}/opencode.json": "{\0}"},
        variables={"palace_url": URL, "project_dir": "~/work"},
        exports="exit 3\n",
    ),
]
MASKED = {"type": "http", "url": "https://u:tok-EXAMPLE@palace.example.net/mcp"}
OF_CLIENTS = [
    Case(
        "configuration in the environment, which goes over every file",
        "opencode",
        {"palace": UNSEEN},
        files={f"{OPENCODE}/opencode.json": json.dumps({"mcp": {"mempalace": REMOTE}})},
        variables={"palace_url": URL},
        exports="export OPENCODE_CONFIG_CONTENT='{}'\n",
    ),
    Case(
        "a variable that was not asked for",
        "opencode",
        {"palace": PASS, "variables": UNSEEN},
        files={
            f"{OPENCODE}/opencode.json": json.dumps(
                {"mcp": {"mempalace": {**REMOTE, "headers": {"A": "{env:OTHER}"}}}}
            )
        },
        variables={"palace_url": URL},
    ),
    Case(
        "a variable that is not exported, and no opencode",
        "opencode",
        {"palace": PASS, "variables": FAIL, "program": FAIL},
        files={
            f"{OPENCODE}/opencode.json": json.dumps(
                {"mcp": {"mempalace": {**REMOTE, "headers": {"A": "{env:MEMPALACE_REMOTE_TOKEN}"}}}}
            )
        },
        variables={"palace_url": URL},
    ),
    Case(
        "plugins of somebody else's",
        "opencode",
        {"plugins": ERROR},
        lambda home: (home / OPENCODE / "plugins").mkdir(mode=0o700, parents=True),
        uid=NOBODY,
    ),
    *(
        Case(
            "a program, in a shell that ends before it tells",
            system,
            {"palace": PASS, "command": UNSEEN},
            files={name: json.dumps(told)},
            exports="exit 3\n",
        )
        for system, name, told in (
            ("opencode", f"{OPENCODE}/opencode.json", {"mcp": {"mempalace": LOCAL}}),
            ("claude-code", ".claude.json", server(command="mempalace-mcp")),
            ("mcp-clients", ".config/mcp/mcp.json", server(command="mempalace-mcp")),
        )
    ),
    *(
        Case(
            "a URL that may hold a credential",
            system,
            {"palace": UNSEEN},
            files={name: json.dumps({"mcpServers": {"mempalace": MASKED}})},
            variables={"palace_url": URL},
        )
        for system, name in (
            ("claude-code", ".claude.json"),
            ("mcp-clients", ".config/mcp/mcp.json"),
        )
    ),
]

CASES = [*OF_THE_BASE, *OF_CLIENTS]


@pytest.mark.parametrize("case", CASES, ids=names(CASES))
@pytest.mark.parametrize("shell", ["dash", "busybox"])
def test_what_lies_there_decides(tmp_path: Path, shell: str, case: Case) -> None:
    case.holds(tmp_path, shell)
