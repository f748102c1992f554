"""The real nginx and the real Caddy before a real palace: deployed, judged, broken, taken away."""

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from support.living import Living, let_others_see
from support.palace_proxy import PATH, Edge, program_of
from support.probing import Shell
from support.proxy import proxied
from support.tools import mempalace_tool

from fleet.demo.palace import Palace, serving
from fleet.secrets import Secret
from fleet.verifier.model import Verdict

TOKEN = "tok-EXAMPLE-proxy-7"
GATES = {"config", "valid", "loaded", "key", "tls", "answers", "host", "token", "routes", "stream"}

pytestmark = pytest.mark.network


@pytest.fixture(scope="module")
def palace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Palace]:
    folder = tmp_path_factory.mktemp("palace")
    program = mempalace_tool("3.11") / "mempalace"
    # A stream that nobody reads any more is let go only after some seconds.
    more = {"MEMPALACE_MCP_EXTRA_ALLOWED_HOSTS": "localhost", "MEMPALACE_SSE_MAX_CLIENTS": "99"}
    with serving(program, folder / "home", folder / "log", token=Secret(TOKEN), more=more) as made:
        yield made


@pytest.fixture(params=["nginx", "caddy"])
def edge(request: pytest.FixtureRequest, palace: Palace, tmp_path: Path) -> Iterator[Edge]:
    program_of(request.param)
    made = Edge(tmp_path / "edge", palace, request.param, TOKEN)
    with made.running():
        yield made
        # Homes of all tests are one: what is left behind here, another's ledger would own.
        left = made.fleet("uninstall", "--yes")
        assert left.exit_code == 0, left.output


def untold(finding: dict[str, object]) -> bool:
    """Tell what no look can: Caddy's last reload, and which of this machine's proxies is meant."""
    known = ("caddy does not tell whether", "several nginx run", "several caddy run")
    return finding["gate"] == "proxy.loaded" and str(finding["message"]).startswith(known)


def verdicts(found: dict[str, dict[str, object]]) -> dict[str, object]:
    return {gate: finding["verdict"] for gate, finding in found.items()}


def test_what_is_deployed_holds_and_is_taken_away_again(edge: Edge) -> None:
    main = edge.main.read_bytes()
    came = edge.fleet("provision", "--yes")
    assert came.exit_code == 0, came.output

    found = edge.audit()
    assert set(found) == GATES
    odd = {g: f for g, f in found.items() if f["verdict"] != "pass" and not untold(f)}
    assert odd == {}
    assert edge.fleet("plan").exit_code == 0

    assert edge.fleet("uninstall", "--yes").exit_code == 0
    assert not edge.site.exists()
    assert edge.main.read_bytes() == main
    assert not list(edge.folder.rglob(".*fleet*"))
    gone = edge.audit()
    assert gone["config"]["verdict"] == "fail"
    assert gone["answers"]["verdict"] == "fail"
    assert TOKEN not in edge.logged()


def test_what_the_proxy_refuses_never_replaces_what_holds(edge: Edge) -> None:
    assert edge.fleet("provision", "--yes").exit_code == 0
    good = edge.site.read_bytes()

    missing = str(edge.folder / "none.pem")
    came = edge.fleet("provision", "--yes", proxy_cert=missing, proxy_key=missing)
    assert came.exit_code == 2, came.output
    assert "none.pem" in came.output
    assert edge.site.read_bytes() == good
    assert not list(edge.folder.rglob(".*fleet*"))

    # Another's part of the same configuration is broken: ours is sound by itself, and put back.
    main = edge.main.read_bytes()
    edge.main.write_bytes(main + b"\nbroken_by_somebody {\n")
    came = edge.fleet("provision", "--yes", proxy_timeout=60)
    assert came.exit_code == 2, came.output
    assert edge.site.read_bytes() == good
    found = edge.audit()
    assert found["valid"]["verdict"] == "fail"
    assert str(edge.main) in found["valid"]["evidence"][0]
    assert found["answers"]["verdict"] == "pass"  # what runs goes on with what it has

    edge.main.write_bytes(main)
    came = edge.fleet("provision", "--yes", proxy_timeout=60)
    assert came.exit_code == 0, came.output
    assert b"60s" in edge.site.read_bytes()
    assert edge.audit(proxy_timeout=60)["answers"]["verdict"] == "pass"


def test_an_edit_by_hand_is_seen(edge: Edge) -> None:
    assert edge.fleet("provision", "--yes").exit_code == 0
    edge.site.write_bytes(edge.site.read_bytes() + b"# by hand\n")
    found = edge.audit()
    assert found["config"]["verdict"] == "fail"
    assert "differs from its rendering from line" in found["config"]["evidence"][1]
    assert edge.fleet("provision", "--yes", "--adopt").exit_code == 0
    assert edge.audit()["config"]["verdict"] == "pass"


def test_a_key_that_others_may_read_is_told(edge: Edge) -> None:
    assert edge.fleet("provision", "--yes").exit_code == 0
    assert edge.audit()["key"]["verdict"] == "pass"
    edge.key.chmod(0o644)
    found = edge.audit()["key"]
    assert (found["verdict"], "mode 0644" in str(found["evidence"])) == ("fail", True), found


def test_a_file_that_is_newer_than_what_runs_was_not_loaded(edge: Edge) -> None:
    assert edge.fleet("provision", "--yes").exit_code == 0
    assert edge.audit()["loaded"]["verdict"] != "fail"
    later = time.time() + 60
    os.utime(edge.site, (later, later))
    found = edge.audit()["loaded"]
    assert found["verdict"] == "fail" or untold(found), found


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can ask as somebody else")
def test_what_cannot_be_read_is_not_guessed_at(edge: Edge, tmp_path: Path) -> None:
    assert edge.fleet("provision", "--yes").exit_code == 0
    good = edge.site.read_bytes()
    edge.site.write_bytes(good + b"#" * 600 * 1024)
    assert edge.audit()["config"]["verdict"] == "not-checked"
    edge.site.write_bytes(good)

    edge.main.chmod(0o600)
    let_others_see(edge.folder)
    there = Living(tmp_path, Shell(("sh",), PATH), ("palace-proxy",))
    where = replace(there.declared(), variables=edge.variables())
    found = there.findings(where, uid=65534)
    assert found["proxy.valid"].verdict is Verdict.NOT_CHECKED, found["proxy.valid"]
    for gate in ("tls", "answers", "host", "token", "routes", "stream"):
        told = found[f"proxy.{gate}"]
        assert told.verdict is Verdict.NOT_CHECKED, "nobody asked the palace"
        assert told.message == "it was not asked through the proxy"
    edge.key.parent.chmod(0o700)
    found = there.findings(where, uid=65534)
    assert found["proxy.key"].verdict is Verdict.ERROR, found["proxy.key"]


def test_below_a_folder_and_by_the_name_that_every_server_takes(edge: Edge, palace: Palace) -> None:
    how = {"palace_url": edge.url.replace("/mcp", "/memory/mcp"), "host_header": "upstream"}
    assert edge.fleet("provision", "--yes", **how).exit_code == 0
    found = verdicts(edge.audit(**how))
    for _ in range(5):
        if found["stream"] != "not-checked":
            break
        time.sleep(2)  # the server gives eight streams at a time, and others may hold them
        found = verdicts(edge.audit(**how))
    assert {found[g] for g in GATES - {"loaded"}} == {"pass"}, found


@pytest.mark.parametrize("proxy", ["nginx", "caddy"])
def test_a_server_that_knows_no_other_name_is_asked_by_its_own(tmp_path: Path, proxy: str) -> None:
    """One on 127.0.0.1 takes that name, localhost, and those it was told: 127.0.0.2 is none."""
    program_of(proxy)
    program = mempalace_tool("3.11") / "mempalace"
    other, log = "127.0.0.2", tmp_path / "log"
    with serving(program, tmp_path / "home", log, token=Secret(TOKEN)) as palace:
        edge = Edge(tmp_path / "edge", palace, proxy, TOKEN, address=other, name=other)
        with edge.running():
            edge.fleet("provision", "--yes")
            found = edge.audit()
            assert found["host"]["verdict"] == "fail", found["host"]
            assert "403" in str(found["host"])
            assert edge.fleet("provision", "--yes", host_header="upstream").exit_code == 0
            found = edge.audit(host_header="upstream")
            told = {gate: found[gate]["verdict"] for gate in ("host", "answers", "token", "tls")}
            assert set(told.values()) == {"pass"}, told
            edge.fleet("uninstall", "--yes", host_header="upstream")


def test_caddys_own_authority(palace: Palace, tmp_path: Path) -> None:
    program_of("caddy")
    edge = Edge(tmp_path / "edge", palace, "caddy", TOKEN)
    how = {"proxy_cert": "", "proxy_key": ""}
    with edge.running():
        assert edge.fleet("provision", "--yes", **how).exit_code in (0, 2)
        root = edge.folder / "storage/pki/authorities/local/root.crt"
        found = edge.audit(**how, palace_ca=str(root))
        assert found["tls"]["verdict"] == "pass", found
        assert found["answers"]["verdict"] == "pass"
        assert found["key"]["verdict"] == "not-applicable"
        blind = edge.audit(**how)
        assert blind["tls"]["verdict"] == "fail"
        edge.fleet("uninstall", "--yes", **how)


# --- proxies that somebody else set up, each with one fault ---


@pytest.fixture
def fault(palace: Palace, tmp_path: Path) -> Callable[..., dict[str, dict[str, object]]]:
    def judged(**how: object) -> dict[str, dict[str, object]]:
        edge = Edge(tmp_path / "edge", palace, "nginx", TOKEN)
        with proxied(palace.port, tmp_path / "proxy", tls=True, **how) as proxy:  # type: ignore[arg-type]  # as it takes them
            return edge.audit(palace_url=proxy.url, palace_ca=str(proxy.authority))

    return judged


def failing(found: dict[str, dict[str, object]]) -> set[str]:
    asked = GATES - {"config", "valid", "loaded", "key"}
    return {gate for gate in asked if found[gate]["verdict"] in ("fail", "warn")}


FAULTS: dict[str, tuple[dict[str, object], set[str]]] = {
    "none": ({}, set()),
    "held back": (
        {"more": "proxy_ignore_headers X-Accel-Buffering; proxy_buffering on;"},
        {"stream"},
    ),
    "dropped token": ({"more": 'proxy_set_header Authorization "";'}, {"token"}),
    "added token": ({"more": f'proxy_set_header Authorization "Bearer {TOKEN}";'}, {"token"}),
    "detour": ({"more": "return 308 https://elsewhere.example.net$request_uri;"}, {"token"}),
    "unknown name": ({"host": "palace.example.net"}, {"host"}),
    "every name": ({"host": "127.0.0.1"}, {"host"}),
    "blocked": ({"blocked": ["/logstream", "/sync"]}, {"routes"}),
}


@pytest.mark.parametrize("name", FAULTS)
def test_each_fault_is_told_by_its_gate(
    fault: Callable[..., dict[str, dict[str, object]]], name: str
) -> None:
    how, wrong = FAULTS[name]
    found = fault(**how)
    assert failing(found) == wrong, found
