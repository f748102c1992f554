"""Each level of the toolkit's history, in the real pi: what it does, and what it cannot yet."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from support.bridge_stage import Stage
from support.event_log import EventLog
from support.http import EmbeddingStub, FakeModel, Json, Step, ToolCall
from support.loopback import free_port
from support.pi import BRIDGE, HELPER, PiHome, declared_tools, said_to_model
from support.toolkit_history import History, build_history
from support.tools import PiTool, pi_tool

from fleet.verifier.code import read_code
from fleet.verifier.markers import sight

pytestmark = [pytest.mark.network, pytest.mark.timeout(600)]

MARKERS = {
    "MEMPALACE_FEED": "feed",
    "MEMPALACE_PI_DEVICE": "stamp",
    "RemoteMcpClient": "stamp",
    "MEMPALACE_MAILBOX": "mailbox",
    "MEMPALACE_MAILBOX_NOTIFY": "mailbox",
}
FACT = "The heron nests behind the old granary, said the keeper of the northern lock. " * 4


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> History:
    return build_history(tmp_path_factory.mktemp("history") / "toolkit")


def test_each_commit_brings_one_capability(history: History) -> None:
    names = [level.name for level in history.levels]
    for level in history.levels:
        code = read_code(level.bridge, script=True)
        found = {marker for marker in MARKERS if sight(code, marker).found}
        due = {m for m, since in MARKERS.items() if names.index(since) <= names.index(level.name)}
        assert found == due, level.name


def test_the_newest_level_is_the_shipped_bridge(history: History) -> None:
    assert history.levels[-1].bridge == BRIDGE.read_bytes()
    assert (history.folder / "extensions/pi/mempalace.ts").read_bytes() == BRIDGE.read_bytes()
    assert [level.date for level in history.levels] == sorted({x.date for x in history.levels})


@dataclass(frozen=True, slots=True)
class Did:
    """What a bridge did in one session."""

    local: bool = False
    woke: bool = True
    fed: bool = False
    stamped: bool = False
    mail: bool = False


DID = {
    "connect": Did(local=True),
    "feed": Did(local=True, fed=True),
    "stamp": Did(fed=True, stamped=True),
    "mailbox": Did(fed=True, stamped=True, mail=True),
}


@pytest.mark.parametrize(
    ("name", "version"),
    [*((name, "1.6.0") for name in DID), ("feed", "0.84.0"), ("stamp", "0.84.0")],
)
def test_it_does_what_its_level_says(
    history: History, tmp_path: Path, name: str, version: str
) -> None:
    """One session where everything could happen: a shared palace with mail, and a local one."""
    stage = Stage(tmp_path, pi_tool(version))
    stage.exporter()
    home = PiHome(tmp_path / "home", stage.pi, (tmp_path / "bin",))
    home.link_extension(history.place(name, tmp_path / "deployed"))
    drawer: Json = {"wing": "w", "room": "r", "content": "c"}
    log = EventLog([{"to_agent": "pi@laptop", "status": "open", "body": "Review the lock."}])
    more: list[Json] = [
        {"name": f"mempalace_{tool}", "inputSchema": {"type": "object"}}
        for tool in ("add_drawer", "mine")
    ]
    script: list[Step] = [[ToolCall("mempalace_add_drawer", drawer)]]
    with log.serve(*more) as server, FakeModel(script) as model:
        env = {
            "MEMPALACE_REMOTE_URL": server.url,
            "MEMPALACE_PI_DEVICE": "laptop",
            "FAKE_MCP_DIR": str(tmp_path),
        }
        ended = home.run(model, "hello", env)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "OK\n", "")
    told = [said_to_model(body) for body in model.bodies]
    local = [(str(call["name"]), call["arguments"]) for call in stage.calls()]
    calls = [*local, *server.calls]
    (written,) = [args for tool, args in calls if tool == "mempalace_add_drawer"]
    assert isinstance(written, dict)
    assert "true" in told[-1]
    assert bool(local) is not bool(server.calls)
    assert DID[name] == Did(
        local=bool(local),
        woke="## mempalace_status" in told[0],
        fed="mempalace_mine" in [tool for tool, _ in calls],
        stamped=written == {**drawer, "added_by": "pi@laptop"},
        mail="> Review the lock." in told[0],
    )


def test_the_second_level_feeds_a_real_palace(
    history: History, pi: PiTool, mempalace_bin: Path, tmp_path: Path
) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / HELPER.name).symlink_to(HELPER)
    (programs / "mempalace-mcp").symlink_to(mempalace_bin / "mempalace-mcp")
    home = PiHome(tmp_path / "home", pi, (programs,))
    home.link_extension(history.place("feed", tmp_path / "deployed"))
    with EmbeddingStub() as embedding, FakeModel([FACT]) as model:
        env = {"MEMPALACE_PALACE_PATH": str(tmp_path / "palace"), **embedding.environment}
        ended = home.run(model, "Where does the heron nest?", env)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert declared_tools(model.bodies[0])["mempalace_diary_read"] >= {"agent_name"}
    assert b"behind the old granary" in (tmp_path / "palace" / "chroma.sqlite3").read_bytes()


@pytest.mark.parametrize("name", ["connect", "stamp"])
def test_without_a_palace_pi_goes_on(
    history: History, pi: PiTool, tmp_path: Path, name: str
) -> None:
    home = PiHome(tmp_path / "home", pi)
    home.link_extension(history.place(name, tmp_path / "deployed"))
    with FakeModel() as model:
        env = {"MEMPALACE_REMOTE_URL": f"http://127.0.0.1:{free_port()}"}
        ended = home.run(model, "hello", env)
    assert (ended.returncode, ended.stdout) == (0, "OK\n")
    assert "continuing without palace tools" in ended.stderr
