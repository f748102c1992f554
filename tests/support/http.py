"""Small loopback HTTP servers for tests: a fake model, an embedding service, an MCP recorder."""

from __future__ import annotations

import hashlib
import json
import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Self

from support.loopback import LOOPBACK, ThreadedServer

if TYPE_CHECKING:
    from pathlib import Path

Json = dict[str, object]


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it arrived: header names are lower case."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    def json(self) -> Json:
        """Return the body as a JSON object."""
        parsed = json.loads(self.body)
        assert isinstance(parsed, dict)
        return parsed


@dataclass(frozen=True, slots=True)
class Reply:
    """What to answer; `hold` seconds are waited first, or until the server stops.

    `withheld` bytes are promised beside the body, and never come.
    """

    status: int = 200
    body: bytes = b""
    content_type: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)
    hold: float = 0.0
    withheld: int = 0

    @classmethod
    def of(cls, value: object, **more: str) -> Self:
        """Answer with JSON."""
        return cls(body=json.dumps(value).encode(), headers=dict(more))


class LoopbackServer(ThreadedServer):
    """Serve `answer` on a free port while the `with` block runs."""

    def __init__(
        self,
        answer: Callable[[Request], Reply],
        *,
        address: str = LOOPBACK,
        tls: tuple[Path, Path] | None = None,
    ) -> None:
        self.requests: list[Request] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *args: object) -> None: ...

            def _serve(self) -> None:
                size = int(self.headers.get("content-length") or 0)
                headers = {name.lower(): value for name, value in self.headers.items()}
                got = Request(self.command, self.path, headers, self.rfile.read(size))
                outer.requests.append(got)
                reply = answer(got)
                if reply.hold and outer.stopping.wait(reply.hold):
                    self.close_connection = True
                    return
                self.send_response(reply.status)
                self.send_header("content-type", reply.content_type)
                promised = len(reply.body) + reply.withheld
                self.send_header("content-length", str(promised))
                for name, value in reply.headers.items():
                    self.send_header(name.replace("_", "-"), value)
                self.end_headers()
                self.wfile.write(reply.body)
                self.close_connection = self.close_connection or reply.withheld > 0

            do_GET = do_POST = do_DELETE = do_CONNECT = _serve  # noqa: N815 - http.server's names

        super().__init__(Handler, address=address, tls=tls)

    @property
    def url(self) -> str:
        """The base address, without a trailing slash."""
        return self.origin


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call that the fake model makes."""

    name: str
    arguments: Json


#: What the fake model says in one turn: a text, or tool calls.
Turn = str | list[ToolCall]
#: A turn, or what makes one of the request's body.
Step = Turn | Callable[[Json], Turn]


class FakeModel(LoopbackServer):
    """An OpenAI-compatible endpoint that plays a script, then answers `OK`.

    A step that makes its turn can let something happen first, in the middle of a session.
    """

    def __init__(self, script: Sequence[Step] | None = None, *, address: str = LOOPBACK) -> None:
        self._script = list(script or [])
        self._next = threading.Lock()
        super().__init__(self._answer, address=address)

    @property
    def bodies(self) -> list[Json]:
        """The request bodies, in order of arrival."""
        return [request.json() for request in self.requests if request.body]

    def _answer(self, request: Request) -> Reply:
        with self._next:
            planned = self._script.pop(0) if self._script else "OK"
        step = planned(request.json()) if callable(planned) else planned
        if isinstance(step, str):
            delta: Json = {"role": "assistant", "content": step}
        else:
            calls = [
                {
                    "index": index,
                    "id": f"call_{len(self.requests)}_{index}",
                    "type": "function",
                    "function": {"name": call.name, "arguments": json.dumps(call.arguments)},
                }
                for index, call in enumerate(step)
            ]
            delta = {"role": "assistant", "content": None, "tool_calls": calls}
        reason = "stop" if isinstance(step, str) else "tool_calls"
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        base = {"id": "c1", "created": 1, "model": "fake", "object": "chat.completion.chunk"}
        chunks: list[Json] = [
            {**base, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
            {**base, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]},
            {**base, "choices": [], "usage": usage},
        ]
        events = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks]
        body = "".join([*events, "data: [DONE]\n\n"]).encode()
        return Reply(body=body, content_type="text/event-stream")


class EmbeddingStub(LoopbackServer):
    """An OpenAI-compatible embedding service: hashed words, so that equal words are near."""

    DIMENSIONS = 384

    def __init__(self, *, address: str = LOOPBACK) -> None:
        super().__init__(self._answer, address=address)

    @property
    def environment(self) -> dict[str, str]:
        """What makes mempalace (3.7 or later) embed here instead of downloading a model."""
        return {
            "MEMPALACE_EMBEDDING_MODEL": "openai-compat",
            "MEMPALACE_EMBEDDING_API_URL": self.url,
            "MEMPALACE_EMBEDDING_API_MODEL": "stub",
        }

    def _answer(self, request: Request) -> Reply:
        given = request.json()["input"]
        texts = given if isinstance(given, list) else [given]
        data = [
            {"object": "embedding", "index": index, "embedding": self._vector(str(text))}
            for index, text in enumerate(texts)
        ]
        return Reply.of({"object": "list", "model": "stub", "data": data})

    def _vector(self, text: str) -> list[float]:
        counts = [0.0] * self.DIMENSIONS
        for word in text.lower().split():
            digest = hashlib.sha256(word.encode()).digest()
            counts[int.from_bytes(digest[:4]) % self.DIMENSIONS] += 1.0
        norm = math.sqrt(sum(count * count for count in counts))
        return [count / norm for count in counts] if norm else [1.0, *counts[1:]]


class RecordingMcpServer(LoopbackServer):
    """A small MCP server that remembers what it was asked, and answers as it is told.

    Args:
        tools: the tool list to offer.
        token: bearer token to demand.
        streamed: answer as an event stream, with a ping and a foreign message before the reply.
        answers: what a tool answers to its arguments; the others answer that they succeeded.
    """

    SESSION = "session-EXAMPLE"

    def __init__(
        self,
        tools: list[Json],
        token: str | None = None,
        *,
        streamed: bool = False,
        answers: dict[str, Callable[[Json], Json]] | None = None,
    ) -> None:
        self._tools = tools
        self.answers = answers or {}
        self._token = token
        self._streamed = streamed
        super().__init__(self._answer)

    @property
    def calls(self) -> list[tuple[str, Json]]:
        """The tool calls, in order: name and arguments."""
        found: list[tuple[str, Json]] = []
        for message in self.messages:
            params = message.get("params")
            if message.get("method") == "tools/call" and isinstance(params, dict):
                found.append((str(params["name"]), dict(params["arguments"])))
        return found

    @property
    def messages(self) -> list[Json]:
        """The JSON-RPC messages that passed authentication, in order."""
        return [r.json() for r in self.requests if r.method == "POST" and self._admits(r)]

    def _admits(self, request: Request) -> bool:
        return (
            self._token is None or request.headers.get("authorization") == f"Bearer {self._token}"
        )

    def _answer(self, request: Request) -> Reply:
        if not self._admits(request):
            return Reply(status=401, body=b"<html>no</html>", content_type="text/html")
        if request.method != "POST":
            return Reply(status=204)
        message = request.json()
        if "id" not in message:
            return Reply(status=202)
        session = {"mcp_session_id": self.SESSION} if message["method"] == "initialize" else {}
        reply: Json = {"jsonrpc": "2.0", "id": message["id"], "result": self._result(message)}
        return self._stream(reply, session) if self._streamed else Reply.of(reply, **session)

    def _stream(self, reply: Json, headers: dict[str, str]) -> Reply:
        foreign = {"jsonrpc": "2.0", "id": -1, "result": {"tools": [], "content": []}}
        progress = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {}}
        events = [": ping\r\n\r\n"]
        events += [f"event: message\r\ndata: {json.dumps(m)}\r\n\r\n" for m in (progress, foreign)]
        # One event over two data lines: the lines are joined by a newline.
        first, rest = json.dumps(reply).split(", ", 1)
        events.append(f"data: {first},\ndata: {rest}\n\n")
        body = "".join(events).encode()
        return Reply(body=body, content_type="text/event-stream; charset=utf-8", headers=headers)

    def _result(self, message: Json) -> Json:
        if message["method"] == "initialize":
            info = {"name": "recorder", "version": "0"}
            return {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}},
                "serverInfo": info,
            }
        if message["method"] == "tools/list":
            return {"tools": self._tools}
        return {"content": [{"type": "text", "text": json.dumps(self._told(message["params"]))}]}

    def _told(self, params: object) -> Json:
        assert isinstance(params, dict)
        answer = self.answers.get(params["name"])
        return answer(params["arguments"]) if answer else {"success": True}
