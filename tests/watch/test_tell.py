"""Destinations: a real webhook, a real command; no address of theirs is shown."""

import json
import logging
from collections.abc import Iterator
from dataclasses import replace
from html import unescape
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from support.crafted import START
from support.mail import mail_server

from fleet.cli.watching import destinations
from fleet.errors import FleetError, SecretError, UsageError
from fleet.secrets import Secret
from fleet.watch.tell import destination
from fleet.watch.transitions import Mood, Transition

CANARY = "canary-5e1f-token"
MOODS = (Mood.UNSEEN, Mood.HOLDS)
TOLD = (
    Transition("box\x1b", "bridge.feed", Mood.HOLDS, Mood.FAILS, START, "is gone", "put it back"),
)


@pytest.fixture
def hook() -> Iterator[tuple[str, list[Any]]]:
    """Serve a webhook that remembers what it was sent."""
    heard: list[Any] = []

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            heard.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *args: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Hook)
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"json://127.0.0.1:{server.server_address[1]}/{CANARY}", heard
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_webhook_is_told(hook: tuple[str, list[Any]]) -> None:
    url, heard = hook
    assert destination(1, Secret(url)).tell(TOLD) == ""
    (told,) = heard
    assert told["title"] == "fleet: 1 worse"
    assert "box\\x1b  bridge.feed  fails since 2026-09-01 08:00 UTC: is gone" in told["message"]


def test_a_chat_is_told(hook: tuple[str, list[Any]]) -> None:
    url, heard = hook
    assert destination(1, Secret(url.replace("json:", "mmost:"))).tell(TOLD) == ""
    (told,) = heard
    assert "box\\x1b  bridge.feed  fails since 2026-09-01 08:00 UTC: is gone" in told["text"]


@pytest.mark.parametrize("form", ["", "&format=text", "&format=html"])
def test_in_a_mail_what_a_target_says_is_text(form: str) -> None:
    attack = "<img src=http://x.example.net/seen> <b>all is well</b> &lt;"
    moved = [replace(TOLD[0], message=attack), Transition("attic", "", *MOODS, START)]
    with mail_server() as box:
        url = f"mailto://127.0.0.1:{box.port}?from=a@example.net&to=b@example.net&mode=insecure"
        assert destination(1, Secret(url + form)).tell(moved) == ""
    (mail,) = box.mails
    assert mail["Subject"] == "fleet: 1 worse, 1 better"
    parts = {
        part.get_content_type(): part.get_content()
        for part in mail.walk()
        if not part.is_multipart()
    }
    assert parts.keys() == ({"text/plain", "text/html"} if "html" in form else {"text/plain"})
    for kind, text in parts.items():
        shown = unescape(text).replace("\xa0", " ") if kind == "text/html" else text
        assert attack in shown
        assert ("<img" in text) == (kind == "text/plain")
    lines = [" ".join(line.split()) for line in parts["text/plain"].splitlines()]
    assert lines[1:] == ["put it back", "attic answers again since 2026-09-01 08:00 UTC"]


def test_a_service_that_is_not_there_is_told_without_its_address(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    made = destination(3, Secret(f"json://127.0.0.1:9/{CANARY}"))
    with caplog.at_level(logging.DEBUG):
        assert made.tell(TOLD) == "the service did not take it"
    assert made.name == "destination 3 (json)"
    told = capfd.readouterr()
    assert CANARY not in told.out + told.err + made.name + repr(made) + caplog.text


def test_a_command_gets_json_on_its_stdin(tmp_path: Path) -> None:
    out = tmp_path / "heard.json"
    made = destination(1, Secret(f"command:sh -c 'cat > {out}'"))
    assert made.tell(TOLD) == ""
    told = json.loads(out.read_text())
    assert told["format"] == "fleet.transitions/1"
    assert told["transitions"][0] == {
        "target": "box\\x1b",
        "gate": "bridge.feed",
        "before": "holds",
        "after": "fails",
        "since": START.isoformat(),
        "message": "is gone",
        "remedy": "put it back",
    }


@pytest.mark.parametrize(
    "text, trouble",
    [("command:sh -c 'exit 3'", "it exited 3"), ("command:/nonesuch", "No such file")],
)
def test_a_command_that_fails_is_told(text: str, trouble: str) -> None:
    assert trouble in destination(1, Secret(text)).tell(TOLD)


@pytest.mark.parametrize(
    "text", [f"nonsense://{CANARY}", CANARY, "command:", f"command:'{CANARY}", ""]
)
def test_what_is_no_destination_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(UsageError, match="destination 2") as told:
        destination(2, Secret(text))
    assert CANARY not in str(told.value)


def test_an_address_by_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLEET_HOOK", f"json://127.0.0.1:9/{CANARY}")
    (made,) = destinations(["!secret env:FLEET_HOOK"])
    assert made.name == "destination 1 (json)"
    with pytest.raises(SecretError):
        destinations(["!secret env:FLEET_NONESUCH"])
    with pytest.raises(FleetError):
        destinations(["!secret nonsense"])
