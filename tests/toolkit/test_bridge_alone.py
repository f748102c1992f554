"""The bridge without pi: stalls, respawns, feeding and the rest, step by step."""

from __future__ import annotations

import time

import pytest
from support.bridge_stage import QUIT, SETTLED, START, STATUS, WAKE, Stage, errors
from support.http import Json, LoopbackServer, RecordingMcpServer, Reply, Request

pytestmark = pytest.mark.network

TALK: Json = {"type": "message", "message": {"role": "user", "content": "hi"}}
GIVE_UP = "restart pi to try again"


class TestStalls:
    def test_a_stalled_server_is_ended_and_the_next_call_has_a_new_one(self, stage: Stage) -> None:
        stage.env = {"FAKE_MCP_PLAN": "hang serve", "MEMPALACE_MCP_TIMEOUT_MS": "400"}
        played = stage.play(START, STATUS, {"sleep": 100}, STATUS, QUIT)
        assert errors(played)[1] == "mempalace did not answer tools/call within 400 ms"
        assert played.steps[1].ms < 1500
        assert errors(played)[3] is None
        assert stage.starts == 2
        assert not stage.alive(0)

    def test_a_server_that_ignores_sigterm_is_killed(self, stage: Stage) -> None:
        stage.env = {"FAKE_MCP_PLAN": "stubborn serve", "MEMPALACE_MCP_TIMEOUT_MS": "400"}
        stage.play(START, STATUS, {"sleep": 2500}, QUIT)
        assert not stage.alive(0)

    def test_waiting_for_an_event_is_no_stall(self, stage: Stage) -> None:
        stage.env = {"FAKE_MCP_PLAN": "slow", "MEMPALACE_MCP_TIMEOUT_MS": "400"}
        waiting: Json = {"tool": "mempalace_event_wait", "args": {"timeout_ms": 700}}
        assert errors(stage.play(START, waiting, QUIT))[1] is None

    def test_a_cancelled_call_is_taken_back(self, stage: Stage) -> None:
        stage.env = {"FAKE_MCP_PLAN": "slow"}
        played = stage.play(START, {**STATUS, "abortAfter": 100}, {"sleep": 700}, STATUS, QUIT)
        assert errors(played)[1] == "tools/call was cancelled"
        assert errors(played)[3] is None
        assert {"requestId": 3} in [message.get("params") for message in stage.sent()]

    def test_a_ping_of_the_server_is_answered(self, stage: Stage) -> None:
        stage.play(START, STATUS, QUIT)
        assert {"jsonrpc": "2.0", "id": 7, "result": {}} in stage.sent()


class TestSelfHeal:
    def test_a_server_that_keeps_dying_stays_down(self, stage: Stage) -> None:
        played = stage.play(START, STATUS, STATUS, STATUS, STATUS, QUIT, FAKE_MCP_PLAN="die")
        assert all("mempalace-mcp ended (exit code 4)" in str(e) for e in errors(played)[1:4])
        assert GIVE_UP in str(errors(played)[4])
        assert stage.starts == 3

    def test_a_server_that_recovers_regains_full_patience(self, stage: Stage) -> None:
        steps: list[Json] = [START, *[STATUS] * 5, QUIT]
        played = stage.play(*steps, FAKE_MCP_PLAN="once", MEMPALACE_MCP_MAX_RESPAWNS=1)
        assert [error is None for error in errors(played)[1:6]] == [True, False, True, False, True]
        assert stage.starts == 3

    def test_zero_respawns_keeps_it_down(self, stage: Stage) -> None:
        steps: list[Json] = [START, STATUS, STATUS, QUIT]
        played = stage.play(*steps, FAKE_MCP_PLAN="die serve", MEMPALACE_MCP_MAX_RESPAWNS=0)
        assert GIVE_UP in str(errors(played)[2])
        assert stage.starts == 1

    def test_the_first_start_is_tried_again_with_doubled_waits(self, stage: Stage) -> None:
        stage.env = {"FAKE_MCP_PLAN": "exit exit serve", "MEMPALACE_MCP_RESPAWN_BACKOFF_MS": "200"}
        played = stage.play(START, STATUS, QUIT)
        assert errors(played) == [None, None, None]
        assert played.steps[0].ms >= 600
        assert (stage.starts, played.stderr) == (3, "")

    def test_after_the_last_try_one_line_says_so(self, stage: Stage) -> None:
        played = stage.play(START, {"fire": "before_agent_start"}, QUIT, FAKE_MCP_PLAN="exit")
        (line,) = played.stderr.splitlines()
        assert line.startswith(
            "mempalace-mcp unavailable after retries; continuing without palace tools: "
        )
        assert "exit code 3" in line
        assert (stage.starts, played.schemas, played.steps[1].value) == (3, {}, None)

    def test_calls_that_find_it_gone_share_one_respawn(self, stage: Stage) -> None:
        background: Json = {**STATUS, "background": True}
        steps: list[Json] = [START, STATUS, background, background, {"join": True}, QUIT]
        played = stage.play(*steps, FAKE_MCP_PLAN="die serve")
        assert errors(played)[2:] == [None, None, None]
        assert stage.starts == 2

    def test_nothing_runs_after_the_session(self, stage: Stage) -> None:
        played = stage.play(START, QUIT, STATUS)
        assert errors(played)[2] == "the palace connection is closed"
        assert stage.starts == 1
        assert not stage.alive(0)


class TestWakeUp:
    def test_it_comes_once(self, stage: Stage) -> None:
        played = stage.play(START, WAKE, WAKE, QUIT)
        message = played.steps[1].value
        assert isinstance(message, dict)
        assert message["message"]["customType"] == "mempalace-wakeup"
        assert "## mempalace_status\n" in message["message"]["content"]
        assert played.steps[2].value is None

    @pytest.mark.parametrize(
        ("reason", "entries", "due"),
        [
            ("new", [], True),
            ("resume", [], False),
            ("fork", [], False),
            ("startup", [TALK], False),
            ("reload", [TALK], False),
            ("startup", [{"type": "message", "message": {"role": "system"}}], True),
        ],
    )
    def test_only_a_fresh_session_gets_it(
        self, stage: Stage, reason: str, entries: list[Json], due: bool
    ) -> None:
        start: Json = {**START, "event": {"reason": reason}, "entries": entries}
        played = stage.play(start, WAKE, QUIT)
        assert (played.steps[1].value is not None) is due
        assert (len(stage.calls()) > 0) is due


class TestFeeding:
    @pytest.fixture(autouse=True)
    def exporter(self, stage: Stage) -> None:
        stage.env = {"MEMPALACE_FEED": "1"}
        stage.exporter("sleep 0.2; echo MINE_SOURCE=/staged")

    def test_a_shutdown_joins_a_feed_under_way(self, stage: Stage) -> None:
        played = stage.play(START, SETTLED, QUIT)
        assert stage.exports == ["--prepare --reason agent_settled --wing wing_conversations"]
        assert stage.calls() == [
            {
                "name": "mempalace_mine",
                "arguments": {"source": "/staged", "mode": "convos", "wing": "wing_conversations"},
            }
        ]
        assert played.steps[1].ms < 190
        assert played.stderr == ""

    def test_a_feed_that_was_joined_and_failed_is_not_repeated(self, stage: Stage) -> None:
        stage.exporter("sleep 0.2; exit 1")
        stage.play(START, SETTLED, QUIT)
        assert stage.reasons == ["agent_settled"]

    def test_a_turn_after_the_feed_began_is_fed_at_the_end(self, stage: Stage) -> None:
        stage.play(START, SETTLED, SETTLED, QUIT)
        assert stage.reasons == ["agent_settled", "session_shutdown"]

    def test_within_the_window_only_the_end_feeds(self, stage: Stage) -> None:
        stage.play(START, SETTLED, {"sleep": 1000}, SETTLED, {"sleep": 100}, QUIT)
        assert stage.reasons == ["agent_settled", "session_shutdown"]

    def test_after_the_window_a_turn_feeds_again(self, stage: Stage) -> None:
        steps: list[Json] = [START, SETTLED, {"sleep": 1000}, SETTLED, {"sleep": 1000}, QUIT]
        stage.play(*steps, MEMPALACE_FEED_DEBOUNCE_MS=300)
        assert stage.reasons == ["agent_settled", "agent_settled"]

    def test_it_can_be_switched_off(self, stage: Stage) -> None:
        stage.play(START, SETTLED, QUIT, MEMPALACE_FEED=0)
        assert (stage.exports, stage.calls()) == ([], [])

    def test_a_reload_does_not_feed(self, stage: Stage) -> None:
        stage.play(START, {"fire": "session_shutdown", "event": {"reason": "reload"}})
        assert stage.exports == []

    def test_nothing_staged_is_nothing_mined(self, stage: Stage) -> None:
        stage.exporter("echo nothing to do >&2")
        played = stage.play(START, QUIT)
        assert (len(stage.exports), stage.calls(), played.stderr) == (1, [], "")

    def test_another_helper_and_wing(self, stage: Stage) -> None:
        stage.script("other", f"echo \"$*\" > '{stage.folder}/exports'; echo MINE_SOURCE='/a b'")
        stage.play(START, QUIT, MEMPALACE_FEED_BIN="other", MEMPALACE_FEED_WING="wing_x")
        assert stage.exports == ["--prepare --reason session_shutdown --wing wing_x"]
        (mine,) = stage.calls()
        assert mine["arguments"] == {"source": "/a b", "mode": "convos", "wing": "wing_x"}

    def test_a_wedged_helper_is_ended(self, stage: Stage) -> None:
        stage.exporter("exec sleep 30")
        played = stage.play(START, QUIT, MEMPALACE_FEED_PREPARE_TIMEOUT_MS=200)
        assert played.stderr == (
            "mempalace feed: mempalace-pi-session --prepare took more than 200 ms\n"
        )
        assert played.steps[1].ms < 2000

    def test_a_stalled_mine_does_not_hang_the_exit(self, stage: Stage) -> None:
        steps: list[Json] = [START, QUIT]
        played = stage.play(*steps, FAKE_MCP_PLAN="hang-mine", MEMPALACE_FEED_MINE_TIMEOUT_MS=200)
        assert "did not answer tools/call within 200 ms" in played.stderr
        assert played.steps[1].ms < 2000

    def test_a_slow_mine_does_not_end_the_server_of_a_live_session(self, stage: Stage) -> None:
        steps: list[Json] = [START, SETTLED, {"sleep": 600}, {"sleep": 600}, STATUS, QUIT]
        played = stage.play(*steps, FAKE_MCP_PLAN="slow", MEMPALACE_FEED_MINE_TIMEOUT_MS=200)
        assert errors(played)[4] is None
        assert stage.starts == 1

    @pytest.mark.parametrize(
        ("body", "told"),
        [
            ("echo broken >&2; exit 1", "--prepare ended with 1: broken"),
            ("printf 'a\\033]0;b' >&2; exit 1", "--prepare ended with 1: a ]0;b"),
            (None, "mempalace-pi-session is not on the PATH"),
        ],
    )
    def test_a_broken_helper_is_told_once(self, stage: Stage, body: str | None, told: str) -> None:
        if body is None:
            (stage.folder / "bin" / "mempalace-pi-session").unlink()
        else:
            stage.exporter(body)
        steps: list[Json] = [START, SETTLED, {"sleep": 200}, SETTLED, {"sleep": 200}, QUIT]
        played = stage.play(*steps, MEMPALACE_FEED_DEBOUNCE_MS=0)
        (line,) = played.stderr.splitlines()
        assert line.startswith("mempalace feed: ")
        assert line.endswith(told)


class TestDiaryCommand:
    def test_it_asks_the_model(self, stage: Stage) -> None:
        command: Json = {"command": "mempalace-diary", "args": " the lock "}
        played = stage.play(START, command, QUIT, MEMPALACE_AGENT_NAME="pi-laptop")
        (prompt,) = played.messages
        assert "mempalace_diary_write" in prompt
        assert '"pi-laptop"' in prompt
        assert '"the lock"' in prompt

    def test_without_a_palace_it_says_so(self, stage: Stage) -> None:
        played = stage.play(START, {"command": "mempalace-diary"}, QUIT, FAKE_MCP_PLAN="exit")
        assert played.messages == []
        assert "not connected" in played.notices[0]


class TestOverHttp:
    def test_a_forgotten_session_is_opened_again(self, stage: Stage) -> None:
        opened: list[str] = []

        def answer(request: Request) -> Reply:
            message = request.json() if request.body else {}
            if message.get("method") == "initialize":
                opened.append(f"s{len(opened)}")
                return reply(message, {}, mcp_session_id=opened[-1])
            if message.get("method") == "tools/list":
                return reply(message, {"tools": [{"name": "mempalace_status"}]})
            if request.headers.get("mcp-session-id") == "s0" and "id" in message:
                return Reply(404)
            return reply(message, {"content": [{"type": "text", "text": "fine"}]})

        def reply(message: Json, result: Json, **headers: str) -> Reply:
            return Reply.of(
                {"jsonrpc": "2.0", "id": message.get("id"), "result": result}, **headers
            )

        with LoopbackServer(answer) as server:
            played = stage.play(START, STATUS, QUIT, MEMPALACE_REMOTE_URL=server.url)
        assert errors(played) == [None, None, None]
        assert opened == ["s0", "s1"]

    @pytest.mark.parametrize(
        ("url", "told"),
        [
            ("palace.example.net/mcp", "is not an http or https address"),
            ("ftp://palace.example.net/mcp", "is not an http or https address"),
            ("http://me:tok-EXAMPLE-pw@127.0.0.1:9/mcp", "must not hold credentials"),
        ],
    )
    def test_a_bad_address_never_means_the_local_palace(
        self, stage: Stage, url: str, told: str
    ) -> None:
        played = stage.play(START, QUIT, MEMPALACE_REMOTE_URL=url)
        assert told in played.stderr
        assert "tok-EXAMPLE-pw" not in played.stderr
        assert (stage.starts, played.schemas) == (0, {})

    def test_a_redirect_is_not_followed(self, stage: Stage) -> None:
        def answer(_request: Request) -> Reply:
            return Reply(301, headers={"location": "https://elsewhere.example.net/mcp"})

        with LoopbackServer(answer) as server:
            played = stage.play(START, QUIT, MEMPALACE_REMOTE_URL=server.url)
        assert "HTTP 301" in played.stderr
        assert "set MEMPALACE_REMOTE_URL to the final address" in played.stderr


#: Each knob with a play that fails at 200 ms and succeeds when 0 waits for ever.
PATIENCE = {
    "MEMPALACE_MCP_TIMEOUT_MS": ("slow", [START, STATUS, QUIT]),
    "MEMPALACE_MCP_INIT_TIMEOUT_MS": ("slow-init", [START, STATUS, QUIT]),
    "MEMPALACE_FEED_PREPARE_TIMEOUT_MS": ("serve", [START, QUIT]),
    "MEMPALACE_FEED_MINE_TIMEOUT_MS": ("slow", [START, QUIT]),
}


class TestZero:
    """`0` means what it says."""

    @pytest.mark.parametrize("knob", PATIENCE)
    def test_a_timeout_of_zero_waits_for_ever(self, stage: Stage, knob: str) -> None:
        plan, steps = PATIENCE[knob]
        feeding = knob.startswith("MEMPALACE_FEED")
        stage.env = {
            "FAKE_MCP_PLAN": plan,
            "MEMPALACE_FEED": str(int(feeding)),
            "MEMPALACE_MCP_MAX_RESPAWNS": "0",
            # Without a limit of its own a mine must not fall back to that of other calls.
            **({"MEMPALACE_MCP_TIMEOUT_MS": "200"} if feeding else {}),
        }
        stage.exporter("sleep 0.6; echo MINE_SOURCE=/staged")

        def troubles(value: str) -> list[str]:
            played = stage.play(*steps, **{knob: value})
            return [*played.stderr.splitlines(), *filter(None, errors(played))]

        assert "200 ms" in troubles("200")[0]
        assert troubles("0") == []

    def test_an_http_timeout_of_zero_waits_for_ever(self, stage: Stage) -> None:
        tools: list[Json] = [{"name": "mempalace_status", "inputSchema": {"type": "object"}}]

        def dawdle(_args: Json) -> Json:
            time.sleep(0.5)
            return {}

        with RecordingMcpServer(tools, answers={"mempalace_status": dawdle}) as server:
            stage.env = {"MEMPALACE_REMOTE_URL": server.url}
            impatient = stage.play(START, STATUS, QUIT, MEMPALACE_MCP_TIMEOUT_MS=200)
            patient = stage.play(
                START, STATUS, QUIT, MEMPALACE_MCP_TIMEOUT_MS=0, MEMPALACE_MCP_INIT_TIMEOUT_MS=0
            )
        assert errors(impatient)[1] == "mempalace did not answer tools/call within 200 ms"
        assert errors(patient) == [None, None, None]

    def test_a_window_of_zero_feeds_after_every_turn(self, stage: Stage) -> None:
        stage.exporter()
        turn: list[Json] = [SETTLED, {"sleep": 300}]
        steps = [START, *turn, *turn, *turn, QUIT]
        stage.play(*steps, MEMPALACE_FEED=1, MEMPALACE_FEED_DEBOUNCE_MS=0)
        assert stage.reasons == ["agent_settled"] * 3

    def test_a_backoff_of_zero_does_not_wait(self, stage: Stage) -> None:
        settings = {"FAKE_MCP_PLAN": "exit exit exit exit serve", "MEMPALACE_MCP_MAX_RESPAWNS": 4}
        played = stage.play(START, QUIT, **settings, MEMPALACE_MCP_RESPAWN_BACKOFF_MS=0)
        assert (stage.starts, played.stderr) == (5, "")
        assert played.steps[0].ms < 12_000  # by default it waits for 1 + 2 + 4 + 8 seconds

    @pytest.mark.parametrize("value", ["", "-1", "soon", "1e400"])
    def test_what_is_no_count_means_the_default(self, stage: Stage, value: str) -> None:
        stage.env = {"FAKE_MCP_PLAN": "die", "MEMPALACE_MCP_MAX_RESPAWNS": value}
        stage.play(START, STATUS, STATUS, STATUS, STATUS, QUIT)
        assert stage.starts == 3


def test_the_factory_starts_nothing(stage: Stage) -> None:
    began = time.monotonic()
    assert stage.play().schemas == {}
    assert stage.starts == 0
    assert time.monotonic() - began < 10
