"""Ask a palace over MCP: is it open, is the token right, what is it, and is it usable.

Asked as the client asks: the same URL, the same headers, one JSON-RPC message a request, from the
place the sockets come from. Whatever comes back is untrusted: bounded, escaped, and cleared of the
token before it becomes a fact.
"""

import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field
from http import HTTPStatus
from typing import Literal, Protocol
from urllib.parse import urljoin

import httpcore
import httpx

from fleet import __version__
from fleet.dataclass import dataclass
from fleet.errors import FleetError
from fleet.facts.endpoints import Answer, EndpointFact, Trouble
from fleet.facts.text import printable
from fleet.probes import rpc, wire
from fleet.probes.wire import Authority, Budget, Dial, Troubled
from fleet.secrets import MASK, Secret
from fleet.verifier.palace import without_credentials

DEADLINE_SECONDS = 15.0
PROTOCOL = "2025-06-18"
#: Nobody's name: reserved, so no palace is reached by it and no site of it asks.
STRANGER = "stranger.example.net"

Place = Literal["controller", "target"]

# A request may take this part of the deadline, so one that hangs leaves time for the next.
_SHARE = 1 / 3
_TEXT_LIMIT = 240
_PATH_LIMIT = 4096
_KIND_LIMIT = 60
_TOOLS_LIMIT = 500
_DRAIN_LIMIT = 64 * 1024
_SCHEMES = {"http": 80, "https": 443}
_LAST_PORT = 65535
_SESSION = "mcp-session-id"
_SESSION_LIMIT = 1024

_HUNG = frozenset({Trouble.TIMEOUT, Trouble.SILENT})
_EXPECTED = (FleetError, OSError, EOFError, httpx.HTTPError, httpx.InvalidURL)
_LOWER = (httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException)


def ask_palace(
    url: str,
    *,
    token: Secret | None,
    place: Place,
    dial: Dial | None = None,
    authority: Authority | None = None,
    deadline: float = DEADLINE_SECONDS,
    further: "Further | None" = None,
) -> EndpointFact:
    """Ask a palace everything an audit wants to know of it. Raises nothing a server can cause.

    Args:
        url: the full MCP endpoint; credentials in it are dropped, never sent.
        token: the bearer token; None asks as a client without one.
        place: where ``dial`` dials from, recorded with the fact.
        dial: opens sockets, a connector's ``open_tcp``; None dials from this machine.
        authority: certificates to trust too.
        deadline: seconds for everything together.
        further: what else to ask than a client does; by default with a wrong token only.
    """
    url = without_credentials(url)
    budget = Budget(deadline)
    try:
        encrypted = _checked(url, token).scheme == "https"
        with wire.client(dial, authority, budget, encrypted=encrypted) as client:
            asking = _Round(client, url, token, budget, deadline * _SHARE)
            asking.run(further or Further())
            return asking.fact(place)
    except Troubled as error:
        answer = Answer(trouble=error.trouble, detail=_shown(error.what, _TEXT_LIMIT))
        return EndpointFact(
            url=_shown(url, _PATH_LIMIT), place=place, answers={"initialize": answer}
        )


class Clock(Protocol):
    """What waiting needs of the ``time`` module."""

    def monotonic(self) -> float:
        """Return seconds that only grow."""
        ...

    def sleep(self, seconds: float, /) -> None:
        """Wait."""
        ...


def wait_until_answers(
    ask: Callable[[], EndpointFact], seconds: float, clock: Clock = time
) -> EndpointFact:
    """Ask again and again until ``initialize`` is answered, or ``seconds`` have passed.

    Asks at least once, and returns what was heard last: after a start, that is the verdict.
    """
    end = clock.monotonic() + seconds
    pause = 0.25
    while True:
        fact = ask()
        answer = fact.answers.get("initialize")
        if answer is not None and answer.trouble is None:
            return fact
        left = end - clock.monotonic()
        if left <= 0:
            return fact
        clock.sleep(min(pause, left))
        pause = min(pause * 2, 2.0)


def _checked(url: str, token: Secret | None) -> httpx.URL:
    try:
        parsed = httpx.URL(url)
    except (httpx.InvalidURL, ValueError, TypeError):
        parsed = httpx.URL()
    port = _SCHEMES.get(parsed.scheme, 0) if parsed.port is None else parsed.port
    if not (parsed.host and parsed.scheme in _SCHEMES and 0 < port <= _LAST_PORT):
        raise Troubled(Trouble.UNSUPPORTED, "not an http or https URL")
    value = token.reveal() if token else ""
    if not (value.isascii() and value.isprintable() and value == value.strip()):
        raise Troubled(
            Trouble.UNSUPPORTED,
            "the token holds a blank, line end or other character that no header can carry",
        )
    return parsed


def _shown(text: str, limit: int, token: Secret | None = None) -> str:
    """Return a text fit for a fact: without the token, escaped, at most ``limit`` long."""
    if token:
        text = text.replace(token.reveal(), MASK)
    return printable(text, limit)


@dataclass(frozen=True, slots=True)
class Further:
    """What is asked of a server beyond what a client needs of it.

    Attributes:
        routes: paths to look for, relative to the folder of the endpoint.
        strangers: whether to ask as a browser of another site, and by a name not its own.
        wrong_token: whether to try a token that is surely wrong.
    """

    routes: tuple[str, ...] = ()
    strangers: bool = False
    wrong_token: bool = True


@dataclass(slots=True)
class _Round:
    """One round of questions over one client, and what was heard so far."""

    client: httpx.Client
    url: str
    token: Secret | None
    budget: Budget
    share: float
    number: int = 0
    session: dict[str, str] = field(default_factory=dict)
    answers: dict[str, Answer] = field(default_factory=dict)
    gone: Answer | None = None
    server: str = ""
    version: str = ""
    tools: tuple[str, ...] = ()
    status: rpc.Status = field(default_factory=rpc.Status)
    path_hash: str = ""
    writer: dict[str, bool] = field(default_factory=dict)

    def fact(self, place: Place) -> EndpointFact:
        palace = self.status.palace
        return EndpointFact(
            url=self._told(self.url, _PATH_LIMIT),
            place=place,
            answers=self.answers,
            server=self.server,
            version=self.version,
            tools=self.tools,
            palace=None if palace is None else self._told(palace, _PATH_LIMIT),
            drawers=self.status.drawers,
            usable=self.status.usable,
            trouble=self._told(self.status.trouble),
            path_hash=self.path_hash,
            writer={self._told(name): flag for name, flag in self.writer.items()},
            stale=self.status.stale,
            stale_packages=tuple(map(self._told, self.status.stale_packages)),
        )

    def run(self, further: Further) -> None:
        self._ask("healthz", self._healthz)
        self._ask("no-token", lambda: self._turned_away(None))
        if further.wrong_token and self.answers["no-token"].trouble in _HUNG:
            self.answers["wrong-token"] = self.answers["no-token"]
        elif further.wrong_token:
            wrong = Secret(secrets.token_urlsafe(32))
            self._ask("wrong-token", lambda: self._turned_away(wrong))
        if self._ask("initialize", self._initialize):
            self._ask("tools", self._list_tools)
            self._ask("status", self._ask_status)
        self._ask("statusz", self._statusz)
        self._look_around(further)

    def _look_around(self, further: Further) -> None:
        """Ask what a client never asks, and keep the status of each answer as it comes."""
        if further.strangers:
            self._observe("foreign-origin", "POST", headers={"origin": f"https://{STRANGER}"})
            self._observe("foreign-host", "POST", headers={"host": STRANGER})
        for route in further.routes:
            self._observe(route, "GET", route.lstrip("/"))

    def _observe(
        self, name: str, method: str, route: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        kind = ""

        def question() -> int:
            nonlocal kind
            body = rpc.request(0, "initialize", _hello()) if method == "POST" else None
            with self._sent(method, route, self.token, body, headers) as response:
                kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
                _drain(response)
                return response.status_code

        if self._ask(name, question):
            told = {"detail": self._told(kind, _KIND_LIMIT)}
            self.answers[name] = self.answers[name].model_copy(update=told)

    def _ask(self, name: str, question: Callable[[], int]) -> bool:
        """Put one question within its share of the time; keep the answer, whatever it is."""
        if self.gone is not None:
            self.answers[name] = self.gone
            return False
        self.budget.begin(self.share)
        start = time.monotonic()
        try:
            answer = Answer(status=question(), milliseconds=_since(start))
        except (*_EXPECTED, *_LOWER) as error:
            trouble = wire.named(error)
            answer = Answer(
                status=trouble.status,
                trouble=trouble.trouble,
                detail=self._told(trouble.what),
                milliseconds=_since(start),
            )
            # The next question would only meet it again.
            self.gone = answer if trouble.is_total else None
        self.answers[name] = answer
        return answer.trouble is None

    def _told(self, text: str, limit: int = _TEXT_LIMIT) -> str:
        return _shown(text, limit, self.token)

    def _healthz(self) -> int:
        with self._sent("GET", "healthz", None) as response:
            _raise_unless_ok(response)
            _drain(response)
        return HTTPStatus.OK

    def _turned_away(self, token: Secret | None) -> int:
        """Ask in vain, as it should be: 401 is the right answer here."""
        try:
            self._call("initialize", _hello(), token)
        except rpc.Refused:
            pass  # a refusal in the protocol's words comes after the door: told below
        except Troubled as error:
            if error.status == HTTPStatus.UNAUTHORIZED:
                return HTTPStatus.UNAUTHORIZED
            raise
        raise Troubled(Trouble.HTTP, "is answered, not turned away", status=HTTPStatus.OK)

    def _initialize(self) -> int:
        result = self._call("initialize", _hello(), self.token)
        info = result.get("serverInfo")
        if not isinstance(info, Mapping) or not isinstance(result.get("protocolVersion"), str):
            raise Troubled(Trouble.NOT_MCP, "the result is not that of initialize", status=200)
        self.server = self._told(str(info.get("name") or ""))
        self.version = self._told(str(info.get("version") or ""))
        self._remember("mcp-protocol-version", str(result["protocolVersion"]))
        self._notify()
        return HTTPStatus.OK

    def _notify(self) -> None:
        """Say that the client is ready; an answer is neither needed nor judged."""
        body: dict[str, rpc.Json] = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        with self._sent("POST", "", self.token, body) as response:
            _drain(response)

    def _list_tools(self) -> int:
        tools = self._call("tools/list", None, self.token).get("tools")
        if not isinstance(tools, list):
            raise Troubled(Trouble.NOT_MCP, "the result lists no tools", status=200)
        names = [tool.get("name") for tool in tools[:_TOOLS_LIMIT] if isinstance(tool, Mapping)]
        self.tools = tuple(self._told(name) for name in names if isinstance(name, str))
        return HTTPStatus.OK

    def _ask_status(self) -> int:
        try:
            call: dict[str, rpc.Json] = {"name": "mempalace_status", "arguments": {}}
            self.status = rpc.status(self._call("tools/call", call, self.token))
        except rpc.Refused as error:
            self.status = rpc.Status(usable=False, trouble=error.what)
        return HTTPStatus.OK

    def _statusz(self) -> int:
        """Ask the server's own page; it names the palace even where the status tool cannot."""
        with self._sent("GET", "statusz", self.token) as response:
            _raise_unless_ok(response)
            told = rpc.document(response)
        palace = told.get("palace")
        self.path_hash, self.writer = rpc.path_hash(palace), rpc.writer(told.get("writer"))
        if self.status.palace is None and isinstance(palace, Mapping):
            self.status = rpc.with_palace(self.status, palace.get("sqlite_integrity"))
        return HTTPStatus.OK

    def _call(self, method: str, parameters: rpc.Object | None, token: Secret | None) -> rpc.Object:
        self.number += 1
        message = rpc.request(self.number, method, parameters)
        with self._sent("POST", "", token, message) as response:
            _raise_unless_ok(response)
            result = rpc.result(response, self.number)
            if method == "initialize" and token is self.token:
                self._remember(_SESSION, response.headers.get(_SESSION, ""))
            return result

    def _remember(self, header: str, value: str) -> None:
        """Send a header back from now on, where it is one that can be sent."""
        if value and len(value) <= _SESSION_LIMIT and value.isascii() and value.isprintable():
            self.session[header] = value

    @contextmanager
    def _sent(
        self,
        method: str,
        route: str,
        token: Secret | None,
        body: rpc.Object | None = None,
        more: Mapping[str, str] | None = None,
    ) -> Iterator[httpx.Response]:
        headers = {
            "accept": "application/json, text/event-stream",
            "accept-encoding": "identity",
            "user-agent": f"fleet/{__version__}",
        }
        if token:
            headers["authorization"] = f"Bearer {token.reveal()}"
        if body is not None:
            headers |= self.session
        headers |= more or {}
        url = urljoin(self.url, route) if route else self.url
        with self.client.stream(method, url, json=body, headers=headers) as response:
            yield response


def _hello() -> dict[str, rpc.Json]:
    return {
        "protocolVersion": PROTOCOL,
        "capabilities": {},
        "clientInfo": {"name": "fleet", "version": __version__},
    }


def _raise_unless_ok(response: httpx.Response) -> None:
    status = response.status_code
    if status == HTTPStatus.OK:
        return
    _drain(response)
    if response.has_redirect_location:
        to = without_credentials(response.headers.get("location", ""))
        raise Troubled(Trouble.REDIRECT, f"HTTP {status}, redirected to {to}", status=status)
    host = response.request.headers.get("host", "")
    raise Troubled(Trouble.HTTP, f"HTTP {status} for Host {host}", status=status)


def _drain(response: httpx.Response) -> None:
    """Read a short body that nobody needs, so that the connection can be used again."""
    length = response.headers.get("content-length", "")
    if not length.isdecimal() or int(length) > _DRAIN_LIMIT:
        return
    try:
        for _ in response.iter_raw():
            pass
    except (*_EXPECTED, *_LOWER):
        return  # the answer was had; only the connection is not used again


def _since(start: float) -> int:
    return round((time.monotonic() - start) * 1000)
