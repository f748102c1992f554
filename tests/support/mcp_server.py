"""A loopback MCP endpoint that misbehaves as data tells it.

A behaviour is a list of rules, ``{"if": {…}, "do": {…}}``; the first whose conditions all hold
answers. Conditions (all optional): ``method``, ``path``, ``auth`` (the exact header), ``auth_not``,
``accept_lacks``, ``host_not_in``, ``rpc`` (a JSON-RPC method), ``tool``. Actions: ``status``,
``headers``, ``body``, ``json``, ``result`` or ``error`` (wrapped with the request's id), ``sse``,
``sse_before`` (messages sent first), ``split_data``, ``delay_s``, ``hang`` (headers, then nothing),
``drip_s`` (headers, then one byte each so many seconds), ``close``, ``raw`` (bytes as latin-1).
"""

from __future__ import annotations

import datetime as dt
import ipaddress
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, Self

from support.loopback import ThreadedServer

Rule = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Heard:
    """One request as it arrived; absent headers are empty."""

    method: str
    path: str
    host: str
    authorization: str
    accept: str
    session: str
    rpc: str
    tool: str

    @classmethod
    def of(cls, handler: BaseHTTPRequestHandler, message: dict[str, Any]) -> Self:
        """Sum up what a handler received."""
        headers = handler.headers
        params = message.get("params")
        return cls(
            method=handler.command,
            path=handler.path,
            host=headers.get("host", ""),
            authorization=headers.get("authorization", ""),
            accept=headers.get("accept", ""),
            session=headers.get("mcp-session-id", ""),
            rpc=message.get("method", ""),
            tool=params.get("name", "") if isinstance(params, dict) else "",
        )

    def meets(self, conditions: Rule) -> bool:
        """Tell whether every condition of a rule holds."""
        checks: dict[str, Callable[[Any], bool]] = {
            "method": lambda want: want == self.method,
            "path": lambda want: want == self.path,
            "auth": lambda want: want == self.authorization,
            "auth_not": lambda want: want != self.authorization,
            "accept_lacks": lambda want: want not in self.accept,
            "host_not_in": lambda want: self.host not in want,
            "rpc": lambda want: want == self.rpc,
            "tool": lambda want: want == self.tool,
        }
        return all(checks[name](want) for name, want in conditions.items())


class ScriptedMcpServer(ThreadedServer):
    """Serve a behaviour on a free loopback port while the ``with`` block runs.

    Attributes:
        heard: the requests, in order.
        connections: how many were opened.
    """

    def __init__(self, rules: Iterable[Rule], *, tls: tuple[Path, Path] | None = None) -> None:
        self.heard: list[Heard] = []
        self.connections = 0
        self.rules = list(rules)
        outer = self

        class Handler(_Handler):
            owner = outer

        super().__init__(Handler, tls=tls)

    @classmethod
    def from_file(cls, path: Path, *, tls: tuple[Path, Path] | None = None) -> Self:
        """Read a behaviour from a JSON file."""
        return cls(json.loads(path.read_text())["rules"], tls=tls)

    @property
    def url(self) -> str:
        """The MCP endpoint."""
        return f"{self.origin}/mcp"

    @property
    def asked(self) -> list[str]:
        """What was asked, in order: a path for GET, the JSON-RPC method for POST."""
        return [h.rpc or h.path for h in self.heard]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    owner: ScriptedMcpServer

    def setup(self) -> None:
        super().setup()
        self.owner.connections += 1

    def log_message(self, *args: object) -> None: ...

    def _serve(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        message = json.loads(raw) if raw else {}
        heard = Heard.of(self, message)
        self.owner.heard.append(heard)
        for rule in self.owner.rules:
            if heard.meets(rule.get("if", {})):
                self._act(rule["do"], message)
                return
        self._answer({"status": 404}, b"not found\n", "text/plain")

    do_GET = do_POST = _serve  # noqa: N815 - http.server's names

    def _act(self, do: Rule, message: dict[str, Any]) -> None:
        if do.get("close"):
            self.close_connection = True
        elif "raw" in do:
            self.wfile.write(do["raw"].encode("latin-1"))
            self.close_connection = True
        elif do.get("hang") or do.get("drip_s"):
            self._trickle(do)
        else:
            self.owner.stopping.wait(do.get("delay_s", 0))
            self._answer(do, *_body(do, message))

    def _answer(self, do: Rule, body: bytes, kind: str) -> None:
        headers = {"content-type": kind, "content-length": str(len(body)), **do.get("headers", {})}
        self._head(do.get("status", 200), headers)
        self.wfile.write(body)

    def _head(self, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def _trickle(self, do: Rule) -> None:
        self._head(do.get("status", 200), {"content-length": "1000000", **do.get("headers", {})})
        self.wfile.flush()
        while not self.owner.stopping.wait(do.get("drip_s") or 600):
            self.wfile.write(b" ")
            self.wfile.flush()
        self.close_connection = True


def _body(do: Rule, message: dict[str, Any]) -> tuple[bytes, str]:
    if "json" in do:
        return json.dumps(do["json"]).encode(), "application/json"
    if "result" not in do and "error" not in do:
        return do.get("body", "").encode(), "text/plain"
    part = "result" if "result" in do else "error"
    answer = {"jsonrpc": "2.0", "id": message.get("id"), part: do[part]}
    if not do.get("sse"):
        return json.dumps(answer).encode(), "application/json"
    text = ": ping\n\n"
    for sent in (*do.get("sse_before", ()), answer):
        lines = json.dumps(sent, indent=1 if do.get("split_data") else None).split("\n")
        text += "event: message\n" + "".join(f"data: {line}\n" for line in lines) + "\n"
    return text.encode(), "text/event-stream"


def palace_rules(
    good: str = "tok-EXAMPLE-good",
    *,
    status: dict[str, Any] | None = None,
    version: str = "3.11.0",
) -> list[Rule]:
    """Return the rules of a palace that answers as the real one does; ``good`` is its token."""
    told = {
        "total_drawers": 7,
        "sqlite_integrity": {"checked": True, "ok": True, "palace": "/data/palace", "errors": []},
    }
    text = json.dumps(told if status is None else status)
    auth = {"method": "POST", "path": "/mcp", "auth": f"Bearer {good}"}
    hello = {
        "protocolVersion": "2025-06-18",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "mempalace", "version": version},
    }
    return [
        {"if": {"method": "GET", "path": "/healthz"}, "do": {"body": "ok\n"}},
        {"if": {**auth, "rpc": "initialize"}, "do": {"result": hello}},
        {"if": {**auth, "rpc": "notifications/initialized"}, "do": {"status": 202}},
        {
            "if": {**auth, "rpc": "tools/list"},
            "do": {"result": {"tools": [_tool("mempalace_status"), _tool("mempalace_mine")]}},
        },
        {
            "if": {**auth, "rpc": "tools/call"},
            "do": {"result": {"content": [{"type": "text", "text": text}]}},
        },
        {
            "if": {"auth_not": f"Bearer {good}"},
            "do": {
                "status": 401,
                "body": "<html>no</html>",
                "headers": {"content-type": "text/html"},
            },
        },
    ]


def _tool(name: str) -> dict[str, Any]:
    return {"name": name, "inputSchema": {"type": "object", "properties": {}}}


def self_signed(folder: Path, *, address: str = "127.0.0.1") -> tuple[Path, Path]:
    """Write a certificate for localhost and an address, and its key; return both paths."""
    from cryptography import x509  # noqa: PLC0415 - slow to import, needed by one test
    from cryptography.hazmat.primitives import hashes, serialization  # noqa: PLC0415 - as above
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415 - as above

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = dt.datetime.now(dt.UTC)
    names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address(address))]
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    cert_file, key_file = folder / "cert.pem", folder / "key.pem"
    cert_file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    key_file.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return cert_file, key_file
