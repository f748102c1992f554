"""The bridge, loaded by the real pi, against the real mempalace and a recording server."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.http import (
    EmbeddingStub,
    FakeModel,
    Json,
    LoopbackServer,
    RecordingMcpServer,
    Reply,
    Step,
    ToolCall,
    Turn,
)
from support.loopback import free_port
from support.pi import BRIDGE, HELPER, Ended, PiHome, declared_tools, said_to_model
from support.tools import mempalace_tool, pi_package, pi_tool

from fleet.demo.palace import serving
from fleet.secrets import Secret

pytestmark = [pytest.mark.network, pytest.mark.timeout(600)]

TOKEN = "tok-EXAMPLE-palace"
UNAVAILABLE = "mempalace-mcp unavailable after retries; continuing without palace tools"
FACT = "The heron nests behind the old granary, said the keeper of the northern lock. " * 4


def string_tool(name: str, *required: str, optional: tuple[str, ...] = ()) -> Json:
    properties = {field: {"type": "string"} for field in (*required, *optional)}
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {"name": name, "description": name, "inputSchema": schema}


RECORDED_TOOLS = [
    string_tool("mempalace_status"),
    string_tool("mempalace_diary_read", "agent_name"),
    string_tool("mempalace_diary_write", "agent_name", "entry"),
    string_tool("mempalace_add_drawer", "wing", "room", "content", optional=("added_by",)),
    string_tool("mempalace_event_append", "type", "stream", "room", "from_agent"),
    string_tool("mempalace_artifact_put", "kind", "content", "created_by"),
    string_tool("mempalace_mine", "source", optional=("mode", "wing", "agent")),
]


def wait_for(happened: Callable[[], bool]) -> None:
    """Wait for something that takes a moment; whoever asks finds out when it never came."""
    end = time.monotonic() + 30
    while not happened() and time.monotonic() < end:
        time.sleep(0.02)


@dataclass(frozen=True, slots=True)
class LocalRun:
    """What a run over stdio left behind."""

    ended: Ended
    model: FakeModel
    home: Path
    palace: Path
    mcp_log: list[Json]


def spy_on(program: Path, folder: Path, log: Path) -> Path:
    """Place a `mempalace-mcp` that is the real one with its input copied to a log."""
    folder.mkdir()
    wrapper = folder / "mempalace-mcp"
    wrapper.write_text(f"#!/bin/sh\ntee -a '{log}' | '{program}'\n")
    wrapper.chmod(0o755)
    return folder


@pytest.fixture(scope="module", params=["1.6.0", "0.84.0"])
def local_run(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, mempalace_bin: Path
) -> LocalRun:
    """One turn over stdio with everything on: tools, wake-up, feeding, then the model's calls."""
    scratch = tmp_path_factory.mktemp("local")
    tool = pi_tool(request.param)
    log = scratch / "mcp.log"
    programs = spy_on(mempalace_bin / "mempalace-mcp", scratch / "spy-bin", log)
    (programs / HELPER.name).symlink_to(HELPER)
    home = PiHome(scratch / "home", tool, (programs,))
    home.link_extension(BRIDGE)
    palace = scratch / "palace"
    fact: Json = {"subject": "heron", "predicate": "nests_at", "object": "granary"}

    def search_once_fed(_body: Json) -> Turn:
        wait_for(lambda: "mempalace_mine" in log.read_text())
        return [ToolCall("mempalace_search", {"query": "where the heron nests"})]

    script: list[Step] = [[ToolCall("mempalace_kg_add", fact)], FACT, search_once_fed]
    with EmbeddingStub() as embedding, FakeModel(script) as model:
        env = {
            "MEMPALACE_PALACE_PATH": str(palace),
            "MEMPALACE_PI_DEVICE": "laptop",
            **embedding.environment,
        }
        ended = home.run(model, "Where does the heron nest?", env, then=("Search for it.",))
        messages = [json.loads(line) for line in log.read_text().splitlines()]
        return LocalRun(ended, model, scratch / "home", palace, messages)


def local_calls(run: LocalRun) -> list[Json]:
    params = [m["params"] for m in run.mcp_log if m.get("method") == "tools/call"]
    return [found for found in params if isinstance(found, dict)]


class TestOverStdio:
    def test_pi_ends_well_and_says_nothing_on_stderr(self, local_run: LocalRun) -> None:
        assert local_run.ended.returncode == 0
        assert local_run.ended.stderr == ""

    def test_every_tool_is_declared_with_its_parameters(self, local_run: LocalRun) -> None:
        tools = declared_tools(local_run.model.bodies[0])
        palace_tools = {name for name in tools if name.startswith("mempalace_")}
        assert len(palace_tools) >= 40
        assert tools["mempalace_diary_read"] == {"agent_name", "last_n", "wing"}
        assert tools["mempalace_add_drawer"] >= {"wing", "room", "content", "added_by"}

    def test_the_wake_up_names_the_palace_and_comes_once(self, local_run: LocalRun) -> None:
        first, second = (said_to_model(body) for body in local_run.model.bodies[:2])
        assert "## mempalace_status" in first
        assert "## mempalace_diary_read" in first
        assert f'"palace": "{local_run.palace}"' in first
        assert second.count("## mempalace_status") == 1

    def test_a_call_of_the_model_reaches_the_palace(self, local_run: LocalRun) -> None:
        answer = said_to_model(local_run.model.bodies[1])
        assert '"success": true' in answer
        assert "mempalace_kg_add" in [call["name"] for call in local_calls(local_run)]

    def test_the_transcript_is_staged_and_mined_through_the_client(
        self, local_run: LocalRun
    ) -> None:
        stage = local_run.home / ".local/state/mempalace-pi-session/export"
        mines = [c for c in local_calls(local_run) if c["name"] == "mempalace_mine"]
        fed = {"source": str(stage), "mode": "convos", "wing": "wing_conversations"}
        assert [call["arguments"] for call in mines] == [fed, fed]
        (exported,) = stage.glob("*.pi.txt")
        assert "> Where does the heron nest?" in exported.read_text()

    def test_the_fed_sentence_is_found_again(self, local_run: LocalRun) -> None:
        asked, answered = (said_to_model(body) for body in local_run.model.bodies[-2:])
        sentence = "The heron nests behind the old granary"
        found = answered[len(asked) :]
        assert '"results"' in found
        assert sentence in found

    def test_a_solitary_palace_is_not_stamped(self, local_run: LocalRun) -> None:
        assert "pi@laptop" not in str(local_calls(local_run))


def test_a_resumed_session_is_not_woken_again(pi_home: PiHome) -> None:
    with RecordingMcpServer(RECORDED_TOOLS) as server, FakeModel() as model:
        env = {"MEMPALACE_REMOTE_URL": server.url, "MEMPALACE_FEED": "0"}
        pi_home.run(model, "first", env)
        pi_home.run(model, "second", env, ("--continue",))
        status = [name for name, _ in server.calls if name == "mempalace_status"]
        assert said_to_model(model.bodies[1]).count("## mempalace_status") == 1
        assert len(status) == 1


def test_a_real_served_palace_that_dies_in_the_middle_of_a_session(
    pi_home: PiHome, no_local_palace: Path, mempalace_bin: Path, tmp_path: Path
) -> None:
    event: Json = {"type": "task.request", "stream": "project/x", "room": "delegation"}
    fact: Json = {"subject": "heron", "predicate": "nests_at", "object": "granary"}
    with ExitStack() as running:
        program, home = mempalace_bin / "mempalace", tmp_path / "host"
        palace = running.enter_context(
            serving(program, home, tmp_path / "log", token=Secret(TOKEN))
        )

        def after_its_death(_body: Json) -> Turn:
            running.close()
            return [ToolCall("mempalace_kg_add", fact), ToolCall("mempalace_status", {})]

        script: list[Step] = [[ToolCall("mempalace_event_append", event)], "OK", after_its_death]
        with FakeModel(script) as model:
            env = {
                "MEMPALACE_REMOTE_URL": palace.url,
                "MEMPALACE_REMOTE_TOKEN": TOKEN,
                "MEMPALACE_PI_DEVICE": "laptop",
            }
            ended = pi_home.run(model, "hello", env, then=("Write it down.",))
    tools = declared_tools(model.bodies[0])
    alive, dead = said_to_model(model.bodies[1]), said_to_model(model.bodies[-1])
    assert (ended.returncode, ended.stderr) == (0, "")
    assert tools["mempalace_diary_read"] == {"agent_name", "last_n", "wing"}
    assert f'"palace": "{palace.path}"' in said_to_model(model.bodies[0])
    assert '"from_agent": "pi@laptop"' in alive
    assert dead.count(f"ECONNREFUSED from {palace.url}") == 2
    assert not (no_local_palace / "started").exists()
    assert not [p for p in pi_home.home.rglob("*") if p.name in (".mempalace", "mempalace")]
    assert TOKEN not in ended.stdout + json.dumps(model.bodies)


def test_an_older_palace_connects_and_wakes_up(pi_home: PiHome, tmp_path: Path) -> None:
    """The first mempalace that serves is 3.6; it has no coordination log yet."""
    program = mempalace_tool("3.6") / "mempalace"
    with (
        serving(program, tmp_path / "host", tmp_path / "log", token=Secret(TOKEN)) as palace,
        FakeModel() as model,
    ):
        env = {
            "MEMPALACE_REMOTE_URL": palace.url,
            "MEMPALACE_REMOTE_TOKEN": TOKEN,
            "MEMPALACE_PI_DEVICE": "laptop",
            "MEMPALACE_EXT_DEBUG": "1",
            "MEMPALACE_FEED": "0",
        }
        ended = pi_home.run(model, "hello", env)
    (body,) = model.bodies
    palace_tools = {name for name in declared_tools(body) if name.startswith("mempalace_")}
    assert (ended.returncode, ended.stderr) == (0, "")
    assert len(palace_tools) == 36
    assert not [name for name in palace_tools if "event" in name]
    assert f'"palace": "{palace.path}"' in said_to_model(body)
    assert "Mailbox" not in said_to_model(body)


@pytest.mark.parametrize("streamed", [False, True], ids=["json", "event-stream"])
def test_writes_to_a_shared_palace_are_stamped(pi_home: PiHome, streamed: bool) -> None:
    drawer: Json = {"wing": "w", "room": "r", "content": "c"}
    script: list[Step] = [
        [
            ToolCall("mempalace_add_drawer", drawer),
            ToolCall("mempalace_add_drawer", {**drawer, "added_by": "pi@other"}),
            ToolCall("mempalace_diary_write", {"agent_name": "pi", "entry": "SESSION|built"}),
            ToolCall("mempalace_event_append", {"type": "t", "stream": "s", "room": "r"}),
            ToolCall("mempalace_artifact_put", {"kind": "note", "content": "c"}),
        ]
    ]
    with (
        RecordingMcpServer(RECORDED_TOOLS, TOKEN, streamed=streamed) as server,
        FakeModel(script) as model,
    ):
        env = {
            "MEMPALACE_REMOTE_URL": f"{server.url}/mcp",
            "MEMPALACE_REMOTE_TOKEN": TOKEN,
            "MEMPALACE_PI_DEVICE": "laptop",
            "MEMPALACE_AGENT_NAME": "pi-laptop",
        }
        ended = pi_home.run(model, "hello", env)
    assert (ended.returncode, ended.stderr) == (0, "")
    woken, written = server.calls[:2], server.calls[2:]
    assert sorted(woken, key=lambda call: call[0]) == [
        ("mempalace_diary_read", {"agent_name": "pi-laptop"}),
        ("mempalace_status", {}),
    ]
    assert sorted(written, key=lambda call: (call[0], json.dumps(call[1]))) == [
        ("mempalace_add_drawer", {**drawer, "added_by": "pi@laptop"}),
        ("mempalace_add_drawer", {**drawer, "added_by": "pi@other"}),
        ("mempalace_artifact_put", {"kind": "note", "content": "c", "created_by": "pi@laptop"}),
        ("mempalace_diary_write", {"agent_name": "pi", "entry": "HOST:laptop|SESSION|built"}),
        (
            "mempalace_event_append",
            {"type": "t", "stream": "s", "room": "r", "from_agent": "pi@laptop"},
        ),
    ]
    first, *later = [request.headers.get("mcp-session-id") for request in server.requests]
    assert first is None
    assert set(later) == {RecordingMcpServer.SESSION}
    assert server.requests[-1].method == "DELETE"


def test_transcripts_travel_to_the_palace_host_and_are_mined_there(
    pi_home: PiHome, helper_bin: Path
) -> None:
    rsync = helper_bin / "rsync"
    rsync.write_text(f"#!/bin/sh\necho \"$*\" >> '{helper_bin}/rsync.log'\n")
    rsync.chmod(0o755)
    with RecordingMcpServer(RECORDED_TOOLS) as server, FakeModel([FACT]) as model:
        env = {
            "MEMPALACE_REMOTE_URL": server.url,
            "MEMPALACE_PI_DEVICE": "laptop",
            "MEMPALACE_PI_SSH_TARGET": "me@palace.example.net",
        }
        ended = pi_home.run(model, "Where does the heron nest?", env)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert (
        "me@palace.example.net:mempalace-inbox/pi/laptop/" in (helper_bin / "rsync.log").read_text()
    )
    (mined,) = [args for name, args in server.calls if name == "mempalace_mine"]
    assert mined == {
        "source": "~/mempalace-inbox/pi/laptop",
        "mode": "convos",
        "wing": "wing_conversations",
        "agent": "pi@laptop",
    }


@pytest.mark.parametrize("missing", ["MEMPALACE_PI_DEVICE", None], ids=["no device", "both"])
def test_stamping_needs_both_gates(pi_home: PiHome, missing: str | None) -> None:
    drawer: Json = {"wing": "w", "room": "r", "content": "c"}
    script: list[Step] = [[ToolCall("mempalace_add_drawer", drawer)]]
    with RecordingMcpServer(RECORDED_TOOLS) as server, FakeModel(script) as model:
        env = {"MEMPALACE_REMOTE_URL": server.url, "MEMPALACE_PI_DEVICE": "laptop"}
        pi_home.run(model, "hello", {k: v for k, v in env.items() if k != missing})
    (written,) = [args for name, args in server.calls if name == "mempalace_add_drawer"]
    assert ("added_by" in written) is (missing is None)


@pytest.mark.parametrize(
    ("server", "reason"),
    [
        ("wrong token", "HTTP 401"),
        ("dead", "ECONNREFUSED"),
        ("never answers", "did not answer initialize within 300 ms"),
        ("not MCP", "not JSON"),
    ],
)
def test_a_remote_outage_leaves_pi_working_without_a_palace(
    pi_home: PiHome, no_local_palace: Path, server: str, reason: str
) -> None:
    def answer(_request: object) -> Reply:
        hold = 30.0 if server == "never answers" else 0.0
        status = 401 if server == "wrong token" else 200
        return Reply(status, b"<html></html>", "text/html", hold=hold)

    with LoopbackServer(answer) as palace, FakeModel() as model:
        url = f"http://127.0.0.1:{free_port()}" if server == "dead" else palace.url
        env = {
            "MEMPALACE_REMOTE_URL": f"{url}/mcp",
            "MEMPALACE_REMOTE_TOKEN": TOKEN,
            "MEMPALACE_PI_DEVICE": "laptop",
            "MEMPALACE_MCP_INIT_TIMEOUT_MS": "300",
        }
        ended = pi_home.run(model, "hello", env)
    assert ended.returncode == 0
    assert ended.stdout.strip() == "OK"
    (line,) = ended.stderr.splitlines()
    assert line.startswith(UNAVAILABLE)
    assert reason in line
    assert TOKEN not in line
    assert not [name for name in declared_tools(model.bodies[0]) if "mempalace" in name]
    assert not (no_local_palace / "started").exists()
    assert server == "dead" or len(palace.requests) == 3


def test_a_missing_local_server_leaves_pi_working(pi_home: PiHome, no_local_palace: Path) -> None:
    shutil.rmtree(no_local_palace)
    with FakeModel() as model:
        ended = pi_home.run(model, "hello")
    assert ended.returncode == 0
    assert ended.stderr.startswith(f"{UNAVAILABLE}: mempalace-mcp is not on the PATH")


def test_tools_of_another_extension_are_left_alone(pi_home: PiHome, tmp_path: Path) -> None:
    other = tmp_path / "zz-adapter.ts"  # loaded after the bridge, so the bridge's would win
    other.write_text(
        "export default (pi) => pi.registerTool({name: 'mempalace_status', label: 's',"
        " description: 'of the adapter', parameters: {type: 'object', properties: {}},"
        " execute: async () => ({content: [], details: {}})});\n"
    )
    pi_home.link_extension(other)
    with RecordingMcpServer(RECORDED_TOOLS) as server, FakeModel() as model:
        ended = pi_home.run(model, "hello", {"MEMPALACE_REMOTE_URL": server.url})
    assert ended.returncode == 0
    assert "1 of 7 palace tools already come from" in ended.stderr
    assert "zz-adapter.ts" in ended.stderr
    assert "mempalace_add_drawer" in declared_tools(model.bodies[0])
    assert '"description": "of the adapter"' in json.dumps(model.bodies[0])


DRAWER_CALL = ToolCall("mempalace_add_drawer", {"wing": "w", "room": "r", "content": "c"})


def test_the_mcp_adapter_keeps_the_tools_it_has(pi_home: PiHome) -> None:
    """With and without the cache that the adapter writes when it first connects."""
    adapter = pi_package("pi-mcp-adapter", "2.36.0")
    with RecordingMcpServer(RECORDED_TOOLS) as server:
        entry = {"url": server.url, "directTools": True, "lifecycle": "eager"}
        pi_home.configure("settings.json", {"packages": [str(adapter)]})
        pi_home.configure("mcp.json", {"mcpServers": {"mempalace": entry}})
        for start in ("without its cache", "with its cache"):
            with FakeModel([[DRAWER_CALL]]) as model:
                ended = pi_home.run(model, start, {"MEMPALACE_REMOTE_URL": server.url})
            assert (ended.returncode, ended.stdout) == (0, "OK\n")
            assert "7 of 7 palace tools already come from" in ended.stderr
            assert "pi-mcp-adapter/index.ts" in ended.stderr
            assert set(declared_tools(model.bodies[0])) >= {"mcp", "mempalace_add_drawer"}
            assert (pi_home.agent / "mcp-cache.json").exists()
    written = [args for name, args in server.calls if name == "mempalace_add_drawer"]
    assert written == [DRAWER_CALL.arguments] * 2


def test_the_palace_in_pis_own_mcp_client_is_named(pi_home: PiHome) -> None:
    with RecordingMcpServer(RECORDED_TOOLS) as server, FakeModel() as model:
        entry = {"type": "http", "url": server.url, "exposure": "direct"}
        pi_home.configure("mcp.json", {"mcpServers": {"mempalace": entry}})
        env = {"MEMPALACE_REMOTE_URL": server.url}
        ended = pi_home.run(model, "hello", env, then=("and again",))
    tools = set(declared_tools(model.bodies[0]))
    assert tools >= {"mempalace_status", "mcp__mempalace__mempalace_status"}
    assert (ended.returncode, ended.stdout) == (0, "OK\n")
    assert ended.stderr == (
        "mempalace bridge: 7 palace tools come from builtin:mcp as well, "
        "as mcp__mempalace__mempalace_status; keep one of the two\n"
    )
