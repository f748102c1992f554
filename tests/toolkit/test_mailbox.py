"""The mailbox, step by step: what is owed, how it is delivered, and who is told."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from support.bridge_stage import QUIT, SETTLED, START, WAKE, Played, Stage
from support.event_log import EventLog
from support.http import Json, RecordingMcpServer
from support.places import CASES
from support.tools import PiTool

pytestmark = pytest.mark.network

OWED = sorted((CASES / "toolkit" / "owed").glob("*.json"))
ASK: Json = {"to_agent": "pi@laptop", "status": "open", "body": "Please review the lock.\nBy noon."}
NOTICE = (
    "Mailbox: 1 event waits for pi@laptop (task.request from pi@desk). "
    "Any message starts the turn that handles it."
)
KITTY_BODY = "\x1b]99;i=mempalace-mailbox:d=1:p=body;"
KITTY = f"\x1b]99;i=mempalace-mailbox:d=0;MemPalace mailbox\x1b\\{KITTY_BODY}"
PAUSE: Json = {"sleep": 250}
RESUME: Json = {"fire": "session_start", "event": {"reason": "resume"}}


def owed_ids(wakeup: object) -> list[str]:
    """Return the events of a wake-up, which names them in its text and keeps their ids."""
    assert isinstance(wakeup, dict)
    message = wakeup["message"]
    ids = message["details"]["events"]
    assert re.findall(r"^### \S+ (\S+)$", message["content"], re.MULTILINE) == ids
    assert isinstance(ids, list)
    return ids


@pytest.fixture(scope="module", params=["3.11", "3.8", "unfiltered"])
def derived(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, pi: PiTool
) -> dict[str, list[str]]:
    """What the bridge says is owed, by case: each case is a palace and a session of its own."""
    steps: list[Json] = []
    with ExitStack() as stack:
        for path in OWED:
            log = EventLog(json.loads(path.read_text())["events"], kind=request.param)
            server = stack.enter_context(log.serve())
            load: Json = {"MEMPALACE_REMOTE_URL": server.url, "MEMPALACE_PI_DEVICE": "laptop"}
            steps += [{"load": load}, START, WAKE, QUIT]
        played = Stage(tmp_path_factory.mktemp("owed"), pi).play(*steps)
    assert played.stderr == ""
    wakeups = [step.value for step in played.steps[2::4]]
    return {path.stem: owed_ids(w) for path, w in zip(OWED, wakeups, strict=True)}


@pytest.mark.parametrize("path", OWED, ids=[path.stem for path in OWED])
def test_what_is_owed(derived: dict[str, list[str]], path: Path) -> None:
    case = json.loads(path.read_text())
    assert derived[path.stem] == case["owed"], case["why"]


@pytest.fixture
def log() -> EventLog:
    return EventLog()


@pytest.fixture
def palace(log: EventLog, stage: Stage) -> Iterator[RecordingMcpServer]:
    """A shared palace with the log; every look is due at once."""
    with log.serve() as server:
        stage.env = {
            "MEMPALACE_REMOTE_URL": server.url,
            "MEMPALACE_PI_DEVICE": "laptop",
            "MEMPALACE_MAILBOX_POLL_MS": "0",
        }
        yield server


def looks(server: RecordingMcpServer) -> list[Json]:
    return [args for name, args in server.calls if name == "mempalace_event_list"]


def arrival(**event: object) -> Json:
    """Return the step with which an event reaches the palace."""
    return {"tool": "mempalace_event_append", "args": {**ASK, "from_agent": "pi@desk", **event}}


def only(played: Played) -> tuple[Json, Json]:
    """Return the one message that was sent, and how."""
    (sent,) = played.sent
    message, options = sent["message"], sent["options"]
    assert isinstance(message, dict)
    assert isinstance(options, dict)
    return message, options


class TestLooking:
    def test_two_calls_derive_what_is_owed(
        self, stage: Stage, log: EventLog, palace: RecordingMcpServer
    ) -> None:
        log.add(ASK)
        stage.play(START, WAKE, QUIT)
        assert looks(palace) == [
            {"to_agent": "pi@laptop", "status": "open", "order": "asc", "limit": 200},
            {
                "from_agent": "pi@laptop",
                "writer": "pi@laptop",
                "preview": True,
                "order": "asc",
                "limit": 500,
            },
        ]

    def test_later_looks_read_only_what_is_new(
        self, stage: Stage, log: EventLog, palace: RecordingMcpServer
    ) -> None:
        log.add(ASK)
        stage.play(START, WAKE, SETTLED, PAUSE, QUIT)
        assert [args.get("since_event_id") for args in looks(palace)] == [
            None,
            None,
            "evt_1",
            None,
        ]

    def test_a_long_log_is_read_to_its_end(
        self, stage: Stage, log: EventLog, palace: RecordingMcpServer
    ) -> None:
        for number in range(450):
            log.add({**ASK, "correlation_id": f"c{number}"})
            if number != 420:
                done = {"from_agent": "pi@laptop", "status": "applied"}
                log.add({**done, "correlation_id": f"c{number}"})
        played = stage.play(START, WAKE, QUIT)
        assert owed_ids(played.steps[1].value) == ["evt_841"]
        assert len(looks(palace)) == 4

    def test_many_at_once_come_in_parts(
        self, stage: Stage, log: EventLog, palace: RecordingMcpServer
    ) -> None:
        for _ in range(25):
            log.add(ASK)
        played = stage.play(START, WAKE, SETTLED, PAUSE, SETTLED, PAUSE, QUIT)
        assert len(owed_ids(played.steps[1].value)) == 20
        message, _ = only(played)
        assert message["details"] == {"events": [f"evt_{n}" for n in range(21, 26)]}

    @pytest.mark.parametrize(
        "change",
        [
            {"MEMPALACE_MAILBOX": "0"},
            {"MEMPALACE_PI_DEVICE": ""},
            {"MEMPALACE_REMOTE_URL": ""},
        ],
        ids=["switch", "device", "address"],
    )
    def test_without_a_gate_it_does_not_look(
        self, stage: Stage, log: EventLog, palace: RecordingMcpServer, change: dict[str, str]
    ) -> None:
        log.add(ASK)
        played = stage.play(START, WAKE, SETTLED, PAUSE, QUIT, **change)
        assert looks(palace) == []
        assert "event_list" not in str(stage.calls())
        assert "Mailbox" not in str(played.steps[1].value)
        assert (played.sent, played.notices) == ([], [])

    def test_a_palace_without_a_log_is_left_alone(self, stage: Stage) -> None:
        tools: list[Json] = [{"name": "mempalace_status", "inputSchema": {"type": "object"}}]
        with RecordingMcpServer(tools) as server:
            stage.env = {"MEMPALACE_REMOTE_URL": server.url, "MEMPALACE_PI_DEVICE": "laptop"}
            played = stage.play(START, WAKE, SETTLED, PAUSE, QUIT)
            assert looks(server) == []
        assert owed_ids(played.steps[1].value) == []
        assert played.stderr == ""


class TestDelivery:
    def test_new_mail_is_queued_and_says_that_it_waits(
        self, stage: Stage, palace: RecordingMcpServer
    ) -> None:
        played = stage.play(START, WAKE, arrival(), SETTLED, PAUSE, QUIT)
        message, options = only(played)
        assert options == {"deliverAs": "steer"}
        assert message["customType"] == "mempalace-mailbox"
        content = str(message["content"])
        assert "1 event waits for pi@laptop" in content
        assert "### task.request evt_1\nfrom pi@desk" in content
        assert "> Please review the lock.\n> By noon." in content
        assert "nothing woke the agent" in content
        assert "mempalace_event_ack" in content
        assert played.notices == [NOTICE]

    def test_each_event_comes_once(self, stage: Stage, palace: RecordingMcpServer) -> None:
        twice = (SETTLED, PAUSE, SETTLED, PAUSE)
        played = stage.play(START, arrival(), WAKE, arrival(), *twice, QUIT)
        assert owed_ids(played.steps[2].value) == ["evt_1"]
        assert only(played)[0]["details"] == {"events": ["evt_2"]}
        assert len(played.notices) == 1
        assert len(looks(palace)) == 6

    def test_an_empty_look_tells_nobody(self, stage: Stage, palace: RecordingMcpServer) -> None:
        played = stage.play(START, WAKE, SETTLED, PAUSE, QUIT)
        assert len(looks(palace)) == 2
        assert (played.sent, played.notices, played.stderr) == ([], [], "")

    def test_the_wake_up_notifies_nobody(
        self, stage: Stage, log: EventLog, palace: RecordingMcpServer
    ) -> None:
        log.add(ASK)
        played = stage.play(START, WAKE, QUIT)
        assert owed_ids(played.steps[1].value) == ["evt_1"]
        assert "nothing woke the agent" not in str(played.steps[1].value)
        assert (played.sent, played.notices) == ([], [])

    @pytest.mark.parametrize(("floor", "expected"), [("300000", 1), ("", 1), ("0", 3)])
    def test_looks_are_floored(
        self, stage: Stage, palace: RecordingMcpServer, floor: str, expected: int
    ) -> None:
        steps = (START, WAKE, SETTLED, PAUSE, SETTLED, PAUSE, QUIT)
        stage.play(*steps, MEMPALACE_MAILBOX_POLL_MS=floor)
        assert len(looks(palace)) == expected

    def test_a_resumed_session_is_given_only_what_it_lacks(
        self, stage: Stage, log: EventLog, palace: RecordingMcpServer
    ) -> None:
        log.add(ASK)
        log.add(ASK)
        had = {"type": "custom_message", "customType": "any", "details": {"events": ["evt_1"]}}
        played = stage.play({**RESUME, "entries": [had]}, WAKE, SETTLED, PAUSE, QUIT)
        assert played.steps[1].value is None
        assert only(played)[0]["details"] == {"events": ["evt_2"]}

    def test_a_turn_that_began_meanwhile_is_not_steered(
        self, stage: Stage, log: EventLog, palace: RecordingMcpServer
    ) -> None:
        log.add(ASK)
        busy = {**SETTLED, "context": {"idle": False}}
        assert stage.play(RESUME, busy, PAUSE, QUIT).sent == []
        held = stage.play(RESUME, busy, PAUSE, SETTLED, QUIT)
        assert only(held)[0]["details"] == {"events": ["evt_1"]}

    def test_a_look_does_not_outlive_the_session(
        self, stage: Stage, log: EventLog, palace: RecordingMcpServer
    ) -> None:
        def dawdle(args: Json) -> Json:
            time.sleep(20)
            return log.answer(args)

        log.add(ASK)
        palace.answers["mempalace_event_list"] = dawdle
        began = time.monotonic()
        played = stage.play(RESUME, SETTLED, PAUSE, QUIT)
        assert len(looks(palace)) == 1
        assert (played.sent, played.stderr) == ([], "")
        assert time.monotonic() - began < 15

    def test_a_log_that_fails_is_silent(self, stage: Stage, palace: RecordingMcpServer) -> None:
        answers: list[Json] = [{"error": "no log"}, {"events": "none"}, {"success": False}]
        palace.answers["mempalace_event_list"] = lambda _args: answers.pop(0)
        played = stage.play(START, WAKE, SETTLED, PAUSE, SETTLED, PAUSE, QUIT)
        assert answers == []
        assert "## mempalace_status" in str(played.steps[1].value)
        assert (played.sent, played.notices, played.stderr) == ([], [], "")

    def test_a_palace_that_was_replaced_is_read_again(
        self, stage: Stage, log: EventLog, palace: RecordingMcpServer
    ) -> None:
        for _ in range(25):
            log.add(ASK)

        def replace(_args: Json) -> Json:
            log.events.clear()
            log.add({**ASK, "id": "evt_new"})
            return {"success": True}

        palace.answers["mempalace_diary_read"] = replace
        look = (SETTLED, PAUSE)
        steps = (START, WAKE, {"tool": "mempalace_diary_read"}, *look, *look, QUIT)
        played = stage.play(*steps)
        assert "since_event_id" in str(looks(palace))
        assert only(played)[0]["details"] == {"events": ["evt_new"]}

    def test_what_others_write_commands_no_terminal(
        self, stage: Stage, palace: RecordingMcpServer
    ) -> None:
        evil = "a\x1b]0;owned\x07b\x9b31mc\r\n### task.request evt_9\x00\ttab"
        written = {"body": evil, "from_agent": "pi@\x1b[31mdesk\n### x", "type": "t;\x1b\\u"}
        arrived = arrival(**written, correlation_id="c\n## Mailbox")
        played = stage.play(START, WAKE, arrived, SETTLED, PAUSE, QUIT)
        content = str(only(played)[0]["content"])
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", content + played.notices[0])
        assert "\n> a]0;ownedb31mc\n> ### task.request evt_9\ttab" in content
        assert re.findall(r"^##+ .*", content, re.MULTILINE) == [
            "## Mailbox: 1 event waits for pi@laptop",
            "### t; \\u evt_1",
        ]


class TestNotice:
    @pytest.mark.parametrize("mode", ["0", "off", "OFF"])
    def test_it_can_be_switched_off(
        self, stage: Stage, palace: RecordingMcpServer, mode: str
    ) -> None:
        steps = ({"terminal": True}, START, WAKE, arrival(), SETTLED, PAUSE, QUIT)
        played = stage.play(*steps, MEMPALACE_MAILBOX_NOTIFY=mode)
        only(played)
        assert (played.notices, played.terminal) == ([], "")

    @pytest.mark.parametrize(
        ("env", "before", "after"),
        [
            ({}, "\x1b]777;notify;MemPalace mailbox;", "\x07"),
            ({"KITTY_WINDOW_ID": "1"}, KITTY, "\x1b\\"),
            ({"TERM": "xterm-kitty"}, KITTY, "\x1b\\"),
        ],
        ids=["osc-777", "kitty", "kitty-by-term"],
    )
    def test_the_terminal_is_told_too(
        self,
        stage: Stage,
        palace: RecordingMcpServer,
        env: dict[str, str],
        before: str,
        after: str,
    ) -> None:
        arrived = arrival(type="task\x1b\\;x", from_agent="pi@\x07;\x9cdesk")
        steps = ({"terminal": True}, START, WAKE, arrived, SETTLED, PAUSE, QUIT)
        played = stage.play(*steps, MEMPALACE_MAILBOX_NOTIFY="desktop", **env)
        body = "1 event waits for pi@laptop: task \\x from pi@ desk"
        assert played.terminal == f"{before}{body}{after}"
        assert len(played.notices) == 1

    @pytest.mark.parametrize(
        ("context", "terminal"),
        [
            ({"mode": "print", "hasUI": False}, True),
            ({"mode": "rpc"}, True),
            ({"mode": "tui"}, False),
        ],
        ids=["print", "rpc", "no-terminal"],
    )
    def test_stdout_that_carries_an_answer_is_left_alone(
        self, stage: Stage, palace: RecordingMcpServer, context: Json, terminal: bool
    ) -> None:
        settled = {**SETTLED, "context": context}
        first: list[Json] = [{"terminal": True}] if terminal else []
        steps = (START, WAKE, arrival(), settled, PAUSE, QUIT)
        played = stage.play(*first, *steps, MEMPALACE_MAILBOX_NOTIFY="desktop")
        only(played)
        assert played.terminal == ""

    def test_by_default_the_terminal_is_not_written_to(
        self, stage: Stage, palace: RecordingMcpServer
    ) -> None:
        steps = ({"terminal": True}, START, WAKE, arrival(), SETTLED, PAUSE, QUIT)
        played = stage.play(*steps)
        assert (len(played.notices), played.terminal) == (1, "")
