"""The mailbox in the real pi: two machines and one palace, and a terminal that is told."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest
from support.event_log import EventLog
from support.http import FakeModel, Json, Step, ToolCall, Turn
from support.pi import BRIDGE, PiHome, said_to_model
from support.tools import PiTool, pi_tool

from fleet.demo.palace import serving
from fleet.secrets import Secret

pytestmark = [pytest.mark.network, pytest.mark.timeout(600)]

TOKEN = "tok-EXAMPLE-palace"
ROUTE: Json = {"type": "task.request", "stream": "project/lock", "room": "delegation"}
ASK: Json = {**ROUTE, "to_agent": "pi@laptop", "status": "open", "body": "Review the lock."}
BROADCAST: Json = {**ASK, "to_agent": "*", "body": "Who is there?"}
LETTER = re.compile(r"^### task\.request (evt_\w+)$", re.MULTILINE)


def closing(body: Json) -> Turn:
    """Answer the last letter that the model was given, as its text says."""
    event = LETTER.findall(said_to_model(body))[-1]
    return [ToolCall("mempalace_event_ack", {"event_id": event, "status": "applied"})]


def test_an_ask_and_its_reply_cross_one_palace(
    pi: PiTool, mempalace_bin: Path, tmp_path: Path
) -> None:
    with serving(
        mempalace_bin / "mempalace", tmp_path / "host", tmp_path / "log", token=Secret(TOKEN)
    ) as palace:

        def session(device: str, tool: PiTool, model: FakeModel, *prompts: str) -> list[str]:
            home = PiHome(tmp_path / device, tool)
            if not home.agent.exists():
                home.link_extension(BRIDGE)
            env = {
                "MEMPALACE_REMOTE_URL": palace.url,
                "MEMPALACE_REMOTE_TOKEN": TOKEN,
                "MEMPALACE_PI_DEVICE": device,
                "MEMPALACE_FEED": "0",
                "MEMPALACE_MAILBOX_POLL_MS": "0",
            }
            with model:
                ended = home.run(model, prompts[0], env, then=prompts[1:])
            assert (ended.returncode, ended.stderr) == (0, "")
            return [said_to_model(body) for body in model.bodies]

        def desk_asks_again(_body: Json) -> Turn:
            second: Json = {**ASK, "body": "And the sluice."}
            session("desk", pi, FakeModel([[ToolCall("mempalace_event_append", second)]]), "ask")
            return "OK"

        def while_the_mail_arrives(_body: Json) -> Turn:
            time.sleep(1)
            return "OK"

        asks = [ToolCall("mempalace_event_append", event) for event in (ASK, BROADCAST)]
        session("desk", pi, FakeModel([asks]), "ask")
        script: list[Step] = [closing, "OK", desk_asks_again, while_the_mail_arrives, closing, "OK"]
        older = pi_tool("0.84.0")
        told = session("laptop", older, FakeModel(script), "one", "two", "three", "four")
        (after,) = session("laptop", older, FakeModel(), "anything else?")
    woken, answered, second, third, fourth, closed = told
    assert len(LETTER.findall(woken)) == 1
    assert "from pi@desk" in woken
    assert "> Review the lock." in woken
    assert "Who is there?" not in woken
    assert '"from_agent": "pi@laptop"' in answered
    assert LETTER.findall(second) == LETTER.findall(third) == LETTER.findall(woken)
    assert len(LETTER.findall(fourth)) == 2
    assert "> And the sluice." in fourth
    assert fourth.index("nothing woke the agent") < fourth.rindex("four")
    assert closed.count('"ack_of"') == 2
    assert "Mailbox" not in after


@pytest.mark.parametrize("version", ["1.6.0", "0.84.0"])
def test_a_terminal_is_told_between_two_frames(tmp_path: Path, version: str) -> None:
    home = PiHome(tmp_path / "home", pi_tool(version))
    home.link_extension(BRIDGE)
    log = EventLog()

    def mail_comes(_body: Json) -> Turn:
        log.add(ASK)
        return "OK"

    notice = b"\x1b]777;notify;MemPalace mailbox;1 event waits for pi@laptop: task.request from "
    with log.serve() as server, FakeModel([mail_comes]) as model:
        env = {
            "MEMPALACE_REMOTE_URL": server.url,
            "MEMPALACE_PI_DEVICE": "laptop",
            "MEMPALACE_FEED": "0",
            "MEMPALACE_MAILBOX_POLL_MS": "0",
            "MEMPALACE_MAILBOX_NOTIFY": "desktop",
        }
        seen = home.on_screen(
            model, "hello", env, lambda told: b"Any message starts" in told.partition(notice)[2]
        )
    before, _, after = seen.partition(notice)
    assert after.startswith(b"pi@other\x07")
    assert before.count(b"\x1b[?2026h") == before.count(b"\x1b[?2026l") > 0
    assert b"Review the lock" in after
    assert b"Any message starts the turn" in after
    assert json.dumps(model.bodies).count("Review the lock") == 0
