"""Gates of other memories and of pi's base, asked of real files by the real probe, each way.

What only a running program can show is in the tests of its own system.
"""

import json
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from support.demarkus import write_package, write_program, write_state
from support.living import Living, let_others_see
from support.mcp_files import server
from support.mnemo import copied
from support.probing import shells
from support.tools import mcp_adapter, mempalace_tool, opencode_tool, pi_tool

from fleet.inventory.model import Value
from fleet.verifier.model import Verdict

pytestmark = pytest.mark.network

PASS, WARN, FAIL, NONE = Verdict.PASS, Verdict.WARN, Verdict.FAIL, Verdict.NOT_APPLICABLE
UNSEEN, ERROR = Verdict.NOT_CHECKED, Verdict.ERROR
NOBODY = 65534
URL = "https://palace.example.net/mcp"
#: More than an audit reads of one file.
HUGE = " " * 600 * 1024
AGENT, STATE = ".pi/agent", ".pi/agent/mnemo"
DAY = 24 * 3600

Arrange = Callable[[Path], None]


@dataclass(frozen=True)
class Case:
    """A home, and what is to be said of it.

    Attributes:
        files: text by path; of a link, what it leads to after ``->``.
        exports: lines of the login shell's file, after the PATH.
        path: folders of the PATH.
        uid: who asks; 0 is the one who runs the tests.
    """

    name: str
    system: str
    wanted: Mapping[str, Verdict]
    arrange: Arrange = lambda _home: None
    files: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, Value] = field(default_factory=dict)
    exports: str = ""
    path: Callable[[Path], Path] = lambda home: home / "bin"
    uid: int = 0


def pi_of_today(_home: Path) -> Path:
    return pi_tool().bin_dir


def pi_without_a_host(_home: Path) -> Path:
    return pi_tool("0.84.0").bin_dir


def pi_of_then(home: Path) -> Path:
    """Place a pi that fired fewer events, as npm lays it out."""
    package = home / "lib/node_modules/@earendil-works/pi-coding-agent"
    (package / "dist").mkdir(parents=True)
    told = {"name": "@earendil-works/pi-coding-agent", "version": "0.80.3"}
    (package / "package.json").write_text(json.dumps(told))
    (package / "dist/cli.js").write_text("#!/usr/bin/env node\n")
    (package / "dist/cli.js").chmod(0o755)
    (home / "bin").mkdir()
    (home / "bin/pi").symlink_to(package / "dist/cli.js")
    return home / "bin"


# --- demarkus --------------------------------------------------------------------------------

MEMORY: dict[str, Value] = {"demarkus_memory": "~/src/pi-memory"}
BLOCK = "export DEMARKUS_MEMORY_STRICTNESS=block\n"


def demarkus(home: Path) -> None:
    write_package(home / "src/pi-memory")
    write_program(home)
    write_state(home)
    (home / ".demarkus").chmod(0o755)


def registered(home: Path, command: str = "~/.demarkus/bin/demarkus-plugin") -> None:
    demarkus(home)
    (home / AGENT).mkdir(parents=True, exist_ok=True)
    told = json.dumps(server("demarkus-memory", command=command, args=["mcp-serve"]))
    (home / AGENT / "mcp.json").write_text(told)


def adapted(home: Path) -> None:
    demarkus(home)
    (home / AGENT).mkdir(parents=True)
    (home / AGENT / "npm").symlink_to(mcp_adapter())


def of_its_owner(home: Path) -> None:
    registered(home)
    (home / ".demarkus").chmod(0o700)


def of_claude(**fields: object) -> dict[str, str]:
    own = {"command": "~/.demarkus/bin/demarkus-plugin", **fields}
    return {".claude.json": json.dumps({"mcpServers": {"demarkus-memory": own}})}


OF_DEMARKUS = [
    Case(
        "as it should be",
        "demarkus",
        dict.fromkeys(("manifest", "host", "declared", "program", "state", "strict"), PASS)
        | {"shared": PASS, "detours": NONE},
        registered,
        of_claude(),
        MEMORY,
        BLOCK,
        pi_of_today,
    ),
    Case(
        "a pi that has no host, and no adapter",
        "demarkus",
        {"host": FAIL},
        registered,
        variables=MEMORY,
        path=pi_without_a_host,
    ),
    Case(
        "declared nowhere, and its strictness is no word that it knows",
        "demarkus",
        {"host": PASS, "declared": FAIL, "strict": FAIL},
        demarkus,
        {".demarkus/plugin-memory.strictness": "loud\n"},
        MEMORY,
        path=pi_of_today,
    ),
    Case(
        "Claude Code starts another program",
        "demarkus",
        {"shared": FAIL},
        registered,
        of_claude(command="/opt/other/demarkus-plugin"),
        MEMORY,
        path=pi_of_today,
    ),
    Case(
        "Claude Code has a token of its own",
        "demarkus",
        {"shared": FAIL},
        registered,
        of_claude(env={"DEMARKUS_TOKEN": "tok-EXAMPLE-of-its-own"}),
        MEMORY,
        path=pi_of_today,
    ),
    Case(
        "the adapter's settings cannot be understood",
        "demarkus",
        {"detours": UNSEEN, "declared": UNSEEN},
        adapted,
        {
            f"{AGENT}/settings.json": json.dumps({"packages": ["npm:pi-mcp-adapter"]}),
            f"{AGENT}/mcp.json": "{\0}",
        },
        MEMORY,
        path=pi_of_today,
    ),
    Case(
        "none of it is declared",
        "demarkus",
        dict.fromkeys(("manifest", "placed", "proxy", "program", "state", "declared"), NONE),
        variables={"demarkus_memory": "", "demarkus_knowledge": ""},
    ),
    Case(
        "kept from who asks",
        "demarkus",
        {"manifest": ERROR, "program": ERROR, "state": UNSEEN, "strict": UNSEEN},
        of_its_owner,
        {".demarkus/plugin-memory.strictness": "block\n", "src/pi-memory/package.json": "{}"},
        MEMORY,
        path=pi_of_today,
        uid=NOBODY,
    ),
]


# --- pi-mnemo --------------------------------------------------------------------------------

LINKED: dict[str, Value] = {"mnemo_install": "link", "mnemo_folder": "~/src/pi-mnemo"}
GOOD = {
    f"{STATE}/MEMORY.md": "- [Who](who.md)\n",
    f"{STATE}/who.md": "words\n",
    f"{STATE}/.state.json": "{}",
}


def mnemo(home: Path) -> None:
    (home / "src").mkdir()
    copied(home / "src/pi-mnemo")
    (home / AGENT / "extensions").mkdir(parents=True)
    (home / AGENT / "extensions/pi-mnemo").symlink_to(home / "src/pi-mnemo")


def of_its_owner_too(home: Path) -> None:
    mnemo(home)
    (home / STATE).mkdir(mode=0o700)


def dreamt(days: float) -> str:
    return json.dumps({"dream": {"-home-u": (time.time() - days * DAY) * 1000}})


OF_MNEMO = [
    Case(
        "as it should be",
        "pi-mnemo",
        dict.fromkeys(("placed", "seen", "events", "settings", "background", "worker"), PASS)
        | dict.fromkeys(("prompts", "private", "index", "state", "lock"), PASS),
        mnemo,
        GOOD,
        LINKED,
        path=pi_of_today,
    ),
    Case(
        "a pi that never tells that it settled, background work off, prompts of nobody",
        "pi-mnemo",
        {"events": FAIL, "background": WARN, "prompts": FAIL, "worker": FAIL, "settings": PASS},
        mnemo,
        variables=LINKED | {"mnemo_pi_bin": "/nowhere/pi", "mnemo_prompts_dir": "/nowhere"},
        exports="export PI_MNEMO_DISABLED=1 PI_MNEMO_PI_BIN=/nowhere/pi"
        " PI_MNEMO_PROMPTS_DIR=/nowhere\n",
        path=pi_of_then,
    ),
    Case(
        "a last dream of long ago",
        "pi-mnemo",
        {"dream": FAIL, "state": PASS},
        mnemo,
        GOOD | {f"{STATE}/.state.json": dreamt(9)},
        LINKED,
        path=pi_of_today,
    ),
    Case(
        "a state that was cut off, and an index of what is not there",
        "pi-mnemo",
        {"state": FAIL, "dream": UNSEEN, "index": FAIL},
        mnemo,
        GOOD | {f"{STATE}/.state.json": '{"dream": {', f"{STATE}/MEMORY.md": "[a](gone.md)\n"},
        LINKED,
        path=pi_of_today,
    ),
    Case(
        "a shell that ends before it tells",
        "pi-mnemo",
        dict.fromkeys(("events", "settings", "background", "worker"), UNSEEN),
        mnemo,
        GOOD,
        LINKED,
        "exit 3\n",
        pi_of_today,
    ),
    Case(
        "kept from who asks",
        "pi-mnemo",
        {"private": ERROR, "index": ERROR, "state": ERROR, "dream": ERROR, "lock": ERROR},
        of_its_owner_too,
        GOOD,
        LINKED,
        path=pi_of_today,
        uid=NOBODY,
    ),
]


# --- pi's base, its skill, and programs -------------------------------------------------------

KEYS: dict[str, Value] = {"pi_toolkit": "~/kit"}
LINK = {f"{AGENT}/keybindings.json": "-> {home}/kit/keybindings.json"}
SKILL = ".agents/skills/mempalace/SKILL.md"
TOLD = "---\nname: mempalace\ndescription: What is kept.\n---\nKeep it.\n"
OPENCODE = ".config/opencode"
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
CASES = [*OF_DEMARKUS, *OF_MNEMO, *OF_THE_BASE]
PREFIX = {"pi-mnemo": "mnemo", "pi-toolkit": "toolkit", "mempalace-cli": "cli"}


@pytest.mark.parametrize("case", CASES, ids=[f"{case.system}: {case.name}" for case in CASES])
@pytest.mark.parametrize("shell", ["dash", "busybox"])
def test_what_lies_there_decides(tmp_path: Path, shell: str, case: Case) -> None:
    if case.uid and os.geteuid() != 0:
        pytest.skip("only root can ask as somebody else")
    (tmp_path / "tools").mkdir()
    found = shells(tmp_path / "tools")
    if shell not in found:
        pytest.skip(f"there is no {shell} here")
    home = tmp_path / "home"
    home.mkdir()
    case.arrange(home)
    for name, text in case.files.items():
        _write(home, name, text)
    here = Living(home, found[shell], (case.system,)).path(case.path(home), "/usr/bin", "/bin")
    with (home / ".bash_profile").open("a") as profile:
        profile.write(case.exports)
    if case.uid:
        let_others_see(home)
    told = here.findings(here.declared(**case.variables), uid=case.uid or None)
    prefix = PREFIX.get(case.system, case.system)
    asked = {gate: told[f"{prefix}.{gate}"] for gate in case.wanted}
    assert {gate: finding.verdict for gate, finding in asked.items()} == case.wanted, asked
    assert "tok-EXAMPLE" not in str(told)


def _write(home: Path, name: str, text: str) -> None:
    path = home / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if text.startswith("-> "):
        path.symlink_to(text.removeprefix("-> ").format(home=home))
        return
    path.write_text(text)
    path.chmod(0o755 if text.startswith("#!") else 0o600)
