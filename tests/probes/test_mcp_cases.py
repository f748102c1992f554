"""What is heard from servers that failed others, one folder a case (E00 to E14)."""

import json
import socket
from pathlib import Path
from typing import Any

import pytest
from support.mcp_server import ScriptedMcpServer, self_signed
from support.places import CASES

from fleet.facts.endpoints import EndpointFact, Trouble
from fleet.probes.mcp import DEADLINE_SECONDS, ask_palace
from fleet.probes.wire import Authority
from fleet.secrets import Secret

TOKEN = Secret("tok-EXAMPLE-good")


def cases() -> list[Any]:
    found = []
    for file in sorted(CASES.glob("E*/behaviour.json")):
        known = json.loads(file.with_name("expected.json").read_text())
        for behaviour, expected in known.items():
            found.append(
                pytest.param(
                    file.with_name(f"{behaviour}.json"),
                    expected,
                    id=f"{file.parent.name}-{behaviour}",
                )
            )
    return found


def ask(server: ScriptedMcpServer, expected: dict[str, Any], ca_file: Path | None) -> EndpointFact:
    host = expected.get("host", f"127.0.0.1:{server.port}")
    return ask_palace(
        f"{server.scheme}://{host}/mcp",
        token=TOKEN,
        place="controller",
        dial=lambda _host, _port: socket.create_connection(("127.0.0.1", server.port)),
        authority=Authority(str(ca_file)) if ca_file else None,
        deadline=expected.get("deadline", DEADLINE_SECONDS),
    )


@pytest.mark.parametrize("behaviour, expected", cases())
def test_case(behaviour: Path, expected: dict[str, Any], tmp_path: Path) -> None:
    tls = self_signed(tmp_path) if expected.get("tls") else None
    with ScriptedMcpServer.from_file(behaviour, tls=tls) as server:
        fact = ask(server, expected, tls[0] if tls else None)
    assert {k: [a.status, a.trouble] for k, a in fact.answers.items()} == expected["answers"]
    assert server.asked == expected["asked"]
    assert fact.usable is expected["usable"]
    assert fact.version == expected["version"]
    assert fact.answers["initialize"].detail == expected.get("detail", "")


def test_e08_a_private_ca_is_not_trusted_until_it_is_named(tmp_path: Path) -> None:
    tls = self_signed(tmp_path)
    with ScriptedMcpServer.from_file(CASES / "E08" / "behaviour.json", tls=tls) as server:
        fact = ask(server, {}, None)
    assert fact.answers["initialize"].trouble is Trouble.TLS
    assert fact.answers["initialize"].detail.startswith("certificate not trusted: self")
    assert server.heard == []


def test_e14_the_bare_name_is_let_in() -> None:
    with ScriptedMcpServer.from_file(CASES / "E14" / "behaviour.json") as server:
        fact = ask(server, {"host": "palace"}, None)
    assert fact.answers["initialize"].trouble is None
