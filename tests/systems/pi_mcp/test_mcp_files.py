"""Which file decides about each MCP server, in the order of the real adapter."""

import json
import shutil
import subprocess
from collections.abc import Mapping
from datetime import date
from pathlib import Path

import pytest
from support.facts import World, findings, target
from support.living import Living
from support.mcp_files import (
    ADAPTER,
    AGENT,
    AGENTS,
    AGENTS_FOLDER,
    FILES,
    GENERIC,
    PROJECT,
    PROJECT_PI,
    SETTINGS,
    declare,
    server,
    unreadable,
)
from support.places import CASES
from support.probing import shells
from support.tools import PiTool, pi_package, pi_tool

from fleet.systems.ask import request_for
from fleet.systems.catalogue import load_catalogue
from fleet.systems.resolve import resolve
from fleet.verifier.look import Look
from fleet.verifier.mcp_servers import adapter_servers
from fleet.verifier.model import Finding, Verdict

ONE, TWO = "https://one.example.net/mcp", "https://two.example.net/mcp"


def judged(
    files: Mapping[str, object], *, adapter: bool = True, world: World | None = None
) -> Finding:
    there = world or World().launch()
    if adapter:
        there.file(SETTINGS, ADAPTER)
    for path, content in files.items():
        declare(there, path, content)
    return findings(target("pi-mcp", project_dir="/work"), there)["mcp.files"]


@pytest.fixture
def here(tmp_path: Path) -> Living:
    (tmp_path / "tools").mkdir()
    (tmp_path / "home").mkdir()
    return Living(tmp_path / "home", shells(tmp_path / "tools")["dash"], ("pi-mcp",))


def test_d07_the_last_file_wins_and_the_others_are_named(here: Living) -> None:
    shutil.copytree(CASES / "D07/home", here.home, dirs_exist_ok=True)
    here.configure("settings.json", ADAPTER.decode())
    project = str(CASES / "D07/project")
    gate = here.findings(here.declared(project_dir=project))["mcp.files"]
    assert gate.verdict is Verdict.WARN
    others = "~/.config/mcp/mcp.json, ~/.agents/mcp.json, ~/.pi/agent/mcp.json"
    assert gate.evidence == (f"server mempalace: {project}/.mcp.json wins over {others}",)


def test_a_moved_agent_folder_is_honoured(here: Living) -> None:
    shutil.copytree(CASES / "D07/home", here.home, dirs_exist_ok=True)
    shutil.copytree(here.agent, here.home / "moved")
    (here.home / "moved/settings.json").write_bytes(ADAPTER)
    gate = here.findings(here.declared(agent_dir="~/moved"))["mcp.files"]
    assert "~/moved/mcp.json wins over" in gate.evidence[0]


def test_what_only_the_adapter_reads_is_told() -> None:
    files = {GENERIC: server("generic", url=ONE), AGENT: server(url=TWO)}
    gate = judged(files, adapter=False)
    assert gate.verdict is Verdict.WARN
    told = "server generic in ~/.config/mcp/mcp.json: pi's own MCP host never reads that file"
    assert gate.evidence == (told,)
    assert judged(files).verdict is Verdict.PASS


def test_no_server_is_not_applicable() -> None:
    assert judged({}).verdict is Verdict.NOT_APPLICABLE
    assert judged({AGENT: server(url=ONE, disabled=True)}).verdict is Verdict.NOT_APPLICABLE
    off = World().launch().file(SETTINGS, b'{"extensions": ["-builtin:mcp"]}')
    files = {AGENT: server(url=ONE)}
    assert judged(files, adapter=False, world=off).verdict is Verdict.NOT_APPLICABLE


def test_an_exclusive_adapter_reads_one_file() -> None:
    files = {GENERIC: server(url=ONE), AGENT: server(url=TWO), PROJECT: server(url=ONE)}
    assert judged(files).verdict is Verdict.WARN
    world = World().launch(variables={"PI_MCP_CONFIG_MODE": " Exclusive"})
    assert judged(files, world=world).evidence == (f"mempalace: {AGENT}",)


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"imports": ["cursor"]}, "it imports the servers of other programs (imports)"),
        ({"settings": {"hostConfigDiscovery": "on"}}, "it discovers the servers"),
        ({"settings": {"ancestorConfigRoots": ["~/src"]}}, "(ancestorConfigRoots)"),
        ({"settings": {"agentPluginPaths": ["~/p"]}}, "(agentPluginPaths)"),
        ({"claudePlugins": [{"path": "x"}]}, "(claudePlugins)"),
    ],
)
def test_servers_from_elsewhere_were_not_looked_at(more: dict[str, object], told: str) -> None:
    gate = judged({AGENT: server(url=ONE) | more})
    assert gate.verdict is Verdict.NOT_CHECKED
    assert told in gate.message
    assert judged({AGENT: server(url=ONE) | more}, adapter=False).verdict is Verdict.PASS


def test_discovery_that_is_off_is_none() -> None:
    for value in ("off", "prompt"):
        settings: dict[str, object] = {
            "settings": {"hostConfigDiscovery": value, "ancestorConfigRoots": []}
        }
        assert judged({AGENT: server(url=ONE) | settings}).verdict is Verdict.PASS


def test_a_file_that_cannot_be_understood_is_not_checked() -> None:
    assert judged({AGENT: "{ broken"}).verdict is Verdict.NOT_CHECKED
    assert judged({AGENT: '{"mcpServers": {},}'}).verdict is Verdict.NOT_CHECKED
    world = unreadable(World().launch(), AGENTS)
    assert judged({AGENT: server(url=ONE)}, world=world).verdict is Verdict.NOT_CHECKED


# --- the same order as the real adapter's -------------------------------------------------------

MERGED: dict[str, dict[str, object]] = {
    "all six": {path: server(url=f"https://{n}.example.net/mcp") for n, path in enumerate(FILES)},
    "without the project": {path: server(url=ONE) for path in FILES[:4]},
    "a field of its own": {
        AGENTS: server(url=ONE, directTools=True),
        AGENTS_FOLDER: server(directTools=False),
    },
    "a command after a url": {GENERIC: server(url=ONE), AGENT: server(command="mempalace-mcp")},
    "a url after a command": {GENERIC: server(command="mempalace-mcp"), PROJECT: server(url=ONE)},
    "a variable of another url": {
        GENERIC: server(url=ONE, bearerTokenEnv="A"),
        AGENT: server(url=TWO),
    },
    "a variable of the same url": {
        GENERIC: server(url=ONE, bearerTokenEnv="A"),
        AGENT: server(url=ONE, directTools=["x"]),
    },
    "a socket after a url": {
        GENERIC: server(url=ONE, bearerTokenEnv="A", oauth=False),
        AGENT: server(socket="${SOCKET}"),
    },
    "no oauth of another url": {
        GENERIC: server(url=ONE, oauth=False, auth="${AUTH}", bearerTokenEnv="A"),
        AGENT: server(url=TWO),
    },
    "what is only of commands": {
        GENERIC: server(command="x", inheritEnv=["A"], cwd="/"),
        AGENT: server(url=ONE),
    },
    "two servers": {GENERIC: server("a", url=ONE), PROJECT_PI: server("b", url=TWO)},
}
SCRIPT = """
import { loadMcpConfig } from "./src/config.ts";
console.log(JSON.stringify(loadMcpConfig(undefined, process.argv[2])));
"""


@pytest.fixture(scope="module")
def adapter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The adapter's own code, where node reads its types."""
    package = pi_package("pi-mcp-adapter", "2.36.0")
    folder = tmp_path_factory.mktemp("adapter")
    shutil.copytree(package, folder / "src")
    (folder / "node_modules").symlink_to(package.parent)
    (folder / "load.mjs").write_text(SCRIPT)
    return folder


@pytest.mark.parametrize("name", MERGED)
def test_servers_are_merged_as_the_real_adapter_does(
    adapter: Path, tmp_path: Path, name: str
) -> None:
    pi: PiTool = pi_tool()
    project = tmp_path / "project"
    project.mkdir()
    world = World().launch()
    for path, content in MERGED[name].items():
        declare(world, path, content)
        real = Path(path.replace("~", str(tmp_path)).replace("/work", str(project)))
        real.parent.mkdir(parents=True, exist_ok=True)
        real.write_text(json.dumps(content))
    options = ["--no-warnings", "--experimental-transform-types"]
    told = subprocess.run(
        [pi.node, *options, adapter / "load.mjs", project],
        env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        check=True,
    )
    real_servers = json.loads(told.stdout)["mcpServers"]
    assert merged(world) == real_servers


def merged(world: World) -> dict[str, object]:
    where = target("pi-mcp", project_dir="/work")
    (resolved,) = resolve([load_catalogue().system("pi-mcp")], where)
    world.nothing_else([q.path for q in request_for(where, [resolved], nonce="n0nce").paths])
    look = Look(where, resolved, world.facts(where), date(2026, 12, 1))
    return {n: dict(s.fields) for n, s in adapter_servers(look).servers.items()}
