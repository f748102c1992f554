"""Gates of other memories, asked of real files by the real probe, each way they end.

What only a running program can show is in the tests of its own system.
"""

import json
import time
from pathlib import Path

import pytest
from support.case_homes import NOBODY, Case, names
from support.demarkus import BLIND, sources, write_package, write_program, write_state
from support.mcp_files import server
from support.mnemo import copied
from support.tools import mcp_adapter, pi_tool

from fleet.inventory.model import Value
from fleet.verifier.model import Verdict

pytestmark = pytest.mark.network

PASS, WARN, FAIL, NONE = Verdict.PASS, Verdict.WARN, Verdict.FAIL, Verdict.NOT_APPLICABLE
UNSEEN, ERROR = Verdict.NOT_CHECKED, Verdict.ERROR
AGENT, STATE = ".pi/agent", ".pi/agent/mnemo"
DAY = 24 * 3600


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


def of_further_code(home: Path) -> None:
    further = {"further.ts": "export default 1;"}
    write_package(home / "src/pi-memory", files=sources(BLIND) | further)


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
        {"host": PASS, "placed": FAIL, "declared": FAIL, "strict": FAIL},
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

OF_DEMARKUS += [
    Case(
        "its code is kept from who asks, and so are pi's settings",
        "demarkus",
        {"proxy": UNSEEN, "placed": UNSEEN},
        demarkus,
        {"src/pi-memory/src/index.ts": "export default 1", f"{AGENT}/settings.json": "{}"},
        MEMORY,
        path=pi_of_today,
        uid=NOBODY,
    ),
    Case(
        "code that no audit asks for, and pi's settings are kept from who asks",
        "demarkus",
        {"manifest": PASS, "proxy": UNSEEN, "placed": UNSEEN, "host": UNSEEN},
        of_further_code,
        {f"{AGENT}/settings.json": "{}"},
        MEMORY,
        path=pi_of_today,
        uid=NOBODY,
    ),
    Case(
        "what Claude Code has cannot be understood",
        "demarkus",
        {"shared": UNSEEN},
        registered,
        {".claude.json": "{\0}"},
        MEMORY,
        path=pi_of_today,
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


def a_package_of_its_owner(home: Path) -> None:
    mnemo(home)
    (home / AGENT / "extensions").chmod(0o700)


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

OF_MNEMO += [
    Case(
        "the package is kept from who asks",
        "pi-mnemo",
        {"placed": ERROR, "seen": UNSEEN, "prompts": ERROR},
        a_package_of_its_owner,
        variables=LINKED,
        path=pi_of_today,
        uid=NOBODY,
    ),
]


CASES = [*OF_DEMARKUS, *OF_MNEMO]


@pytest.mark.parametrize("case", CASES, ids=names(CASES))
@pytest.mark.parametrize("shell", ["dash", "busybox"])
def test_what_lies_there_decides(tmp_path: Path, shell: str, case: Case) -> None:
    case.holds(tmp_path, shell)
