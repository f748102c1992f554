"""The real `mempalace serve`, asked as an audit asks."""

import hashlib
from pathlib import Path

import pytest
from support.tools import mempalace_tool

from fleet.demo.palace import serving
from fleet.facts.endpoints import EndpointFact, Trouble
from fleet.probes.mcp import ask_palace
from fleet.secrets import Secret

TOKEN = "tok-EXAMPLE-real-1"

pytestmark = pytest.mark.network


@pytest.fixture(scope="module")
def bin_dir() -> Path:
    return mempalace_tool()


def ask(url: str, token: str | None) -> EndpointFact:
    secret = None if token is None else Secret(token)
    return ask_palace(url, token=secret, place="controller", deadline=30)


def test_a_new_palace_answers_and_is_not_usable_yet(bin_dir: Path, tmp_path: Path) -> None:
    program, log = bin_dir / "mempalace", tmp_path / "log"
    with serving(program, tmp_path, log, token=Secret(TOKEN)) as served:
        fact = ask(served.url, TOKEN)
        wrong, none = ask(served.url, "tok-EXAMPLE-no"), ask(served.url, None)
    assert {n: a.status for n, a in fact.answers.items()} == {
        "healthz": 200,
        "no-token": 401,
        "wrong-token": 401,
        "initialize": 200,
        "tools": 200,
        "status": 200,
        "statusz": 200,
    }
    assert all(a.trouble is None for a in fact.answers.values())
    assert fact.server == "mempalace"
    assert fact.version.startswith("3.")
    assert "mempalace_status" in fact.tools
    assert fact.palace == str(served.path)
    assert (fact.usable, fact.trouble) == (False, "Chroma database missing")
    for refused in (wrong, none):
        assert refused.answers["initialize"].status == 401
        assert refused.answers["initialize"].trouble is Trouble.HTTP
        assert refused.palace is None
    key = hashlib.sha256(str(served.path).encode()).hexdigest()[:24]
    assert not (tmp_path / ".mempalace" / "server" / key / "token").exists()
