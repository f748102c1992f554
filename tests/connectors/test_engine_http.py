"""The questions an image needs of its engine: what comes back, and what is said when none does."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from fleet.connectors.deadline import Deadline
from fleet.connectors.engine import Endpoint
from fleet.connectors.engine_http import EngineHttp, said, segment
from fleet.errors import ProbeError, Unreachable, Unsupported

JSON = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"


class Engine:
    """Answers each request with the next of its answers; keeps what was asked."""

    def __init__(self, listening: socket.socket, answers: tuple[bytes, ...]) -> None:
        self.asked: list[bytes] = []
        self.connections = 0
        self._listening = listening
        self._answers = list(answers)
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while self._answers:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            self.connections += 1
            with connection:
                while self._answers and self._one(connection):
                    pass

    def _one(self, connection: socket.socket) -> bool:
        request = b""
        while b"\r\n\r\n" not in request:
            part = connection.recv(65536)
            if not part:
                return False
            request += part
        self.asked.append(request.partition(b"\r\n")[0])
        answer = self._answers.pop(0)
        connection.sendall(answer)
        return not answer.endswith(b"CUT")

    def stop(self) -> None:
        self._listening.close()
        self._thread.join(5)


def answer(content: bytes) -> bytes:
    return JSON % (len(content), content)


Start = Callable[..., tuple[Endpoint, Engine]]


@pytest.fixture(params=["unix", "tcp"])
def serve(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Start]:
    running: list[Engine] = []

    def start(*answers: bytes) -> tuple[Endpoint, Engine]:
        if request.param == "unix":
            listening = socket.socket(socket.AF_UNIX)
            listening.bind(str(tmp_path / "s"))
            url = f"unix://{tmp_path}/s"
        else:
            listening = socket.socket()
            listening.bind(("127.0.0.1", 0))
            url = f"tcp://127.0.0.1:{listening.getsockname()[1]}"
        listening.listen()
        running.append(Engine(listening, answers))
        return Endpoint(url, "a test"), running[-1]

    yield start
    for each in running:
        each.stop()


def asking(at: Endpoint, seconds: float = 10) -> EngineHttp:
    return EngineHttp(at, Deadline(seconds), "docker-daemon:x")


def test_answers_come_over_one_connection(serve: Start) -> None:
    at, engine = serve(answer(b'{"a": 1}'), answer(b"[]"), answer(b""))
    with closing(asking(at)) as http:
        assert http.json("GET", "/one", {"path": "/ü b&\udcff"}) == (200, {"a": 1})
        assert http.json("POST", "/two", body={"x": 1}) == (200, [])
        assert http.json("DELETE", "/three") == (200, None)
        assert http.asked == 3
    assert engine.asked[0] == b"GET /one?path=%2F%C3%BC%20b%26%FF HTTP/1.1"
    assert engine.connections == 1


def test_what_is_left_of_an_answer_is_not_taken_for_the_next(serve: Start) -> None:
    at, engine = serve(answer(b"x" * 100), answer(b"7"))
    with closing(asking(at)) as http:
        with http.open("GET", "/long") as found:
            assert found.read(3) == b"xxx"
        assert http.json("GET", "/next") == (200, 7)
    assert engine.connections == 2


@pytest.mark.parametrize(
    "sent, told",
    [
        (JSON % (100, b"CUT"), "broke off"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabCUT", "broke off"),
        (b"no http at all\r\n\r\nCUT", "broke off"),
        (answer(b"{"), "is no JSON"),
        (answer(b"[" * 100_000), "is no JSON"),
    ],
)
def test_an_answer_that_is_none(serve: Start, sent: bytes, told: str) -> None:
    at, _ = serve(sent)
    with closing(asking(at)) as http, pytest.raises(ProbeError, match=told):
        http.json("GET", "/")


def test_an_answer_without_end_is_not_kept(serve: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fleet.connectors.engine_http._ANSWER_LIMIT", 1000)
    at, _ = serve(answer(b" " * 100_000))
    with closing(asking(at)) as http, pytest.raises(ProbeError, match="too large"):
        http.json("GET", "/")


def test_an_engine_that_says_nothing(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "s"))
        listening.listen()
        http = asking(Endpoint(f"unix://{tmp_path}/s", "a test"), 0.2)
        with closing(http), pytest.raises(Unreachable) as caught:
            http.json("GET", "/")
    assert caught.value.stage == "timeout"


@pytest.mark.parametrize("url", ["unix:///none/such.sock", "tcp://127.0.0.1:1"])
def test_no_engine(url: str) -> None:
    at = Endpoint(url, "a test")
    with (
        closing(asking(at)) as http,
        pytest.raises(Unreachable, match="no engine answers") as caught,
    ):
        http.json("GET", "/")
    assert caught.value.stage == "engine"


@pytest.mark.parametrize("url", ["ssh://me@far.example.net", "npipe:////./pipe/x", "tcp://", "x"])
def test_an_engine_that_is_reached_in_another_way(url: str) -> None:
    with pytest.raises(Unsupported, match="not known here"):
        asking(Endpoint(url, "a test"))


def test_tls_files_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("none")
    with pytest.raises(Unreachable, match="TLS files") as caught:
        asking(Endpoint("tcp://far.example.net:2376", "a test", tmp_path))
    assert caught.value.stage == "engine"


def test_what_an_engine_says_is_made_fit_to_be_shown() -> None:
    assert said({"message": "no\x1b[31m such\nthing"}) == r"no\x1b[31m such"
    assert said([]) == "it does not say why"
    assert segment("a/b:c@sha256:0?x#y z") == "a/b:c@sha256:0%3Fx%23y%20z"
