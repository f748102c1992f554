"""The serve gates over a real palace behind a real proxy: what holds, and what a fault changes."""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from support.loopback import free_port
from support.palace_proxy import Edge, program_of
from support.proxy import proxied, wait_for
from support.serve import route_cells
from support.tools import mempalace_tool
from support.vault import TOKEN, Vault, vault

pytestmark = pytest.mark.network


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vault]:
    folder = tmp_path_factory.mktemp("vault")
    # A stream that nobody reads any more is let go only after some seconds.
    more = {"MEMPALACE_MCP_EXTRA_ALLOWED_HOSTS": "localhost", "MEMPALACE_SSE_MAX_CLIENTS": "99"}
    with vault(folder, more=more) as made:
        yield made


@pytest.fixture
def behind(served: Vault, tmp_path: Path) -> Callable[..., Any]:
    def start(**how: Any) -> Any:
        return proxied(served.palace.port, tmp_path / "proxy", **how)

    return start


GOOD = {"pass", "warn", "not-applicable"}
EVERY = (
    *("bind", "reach", "auth", "version", "origin", "palace", "health", "routes", "stays"),
    *("writer", "stale", "token"),
)


def test_behind_a_proxy_with_an_authority_of_its_own(
    served: Vault, behind: Callable[..., Any]
) -> None:
    with behind(tls=True) as proxy:
        found = served.audit(proxy.url, palace_ca=str(proxy.authority))
        blind = served.audit(proxy.url)
    assert {gate: found[gate]["verdict"] for gate in EVERY} == {
        **dict.fromkeys(EVERY, "pass"),
        "health": "warn",  # nothing was ever written to it
    }, found
    assert "holds the lock" in found["writer"]["message"]
    # Verification is never off: an authority that is not declared is not trusted.
    assert blind["health"]["verdict"] == "fail"
    assert "certificate not trusted" in blind["health"]["evidence"][0]
    assert "palace_ca" in blind["health"]["remedy"]
    assert blind["auth"]["verdict"] == "not-checked"


@pytest.mark.parametrize("proxy", ["nginx", "caddy"])
def test_behind_the_proxy_that_is_deployed(served: Vault, tmp_path: Path, proxy: str) -> None:
    program_of(proxy)
    edge = Edge(tmp_path / "edge", served.palace, proxy, TOKEN)
    with edge.running():
        came = edge.fleet("provision", "--yes")
        assert came.exit_code == 0, came.output
        found = served.audit(edge.url, palace_ca=str(edge.certificate))
        edge.fleet("uninstall", "--yes")
    assert {gate: found[gate]["verdict"] for gate in EVERY} == {
        **dict.fromkeys(EVERY, "pass"),
        "health": "warn",  # nothing was ever written to it
    }, found
    stream = next(line for line in found["routes"]["evidence"] if line.startswith("/logstream/str"))
    assert "blocked" not in stream


def test_a_proxy_that_keeps_routes_to_itself(served: Vault, behind: Callable[..., Any]) -> None:
    with behind(blocked=["/logstream", "/sync"]) as proxy:
        found = served.audit(proxy.url)["routes"]
        alone = served.audit(proxy.url, direct_url="")["routes"]
    assert found["verdict"] == "warn"
    assert found["message"] == (
        "blocked on the way: /sync/version_vector, /sync/ops, /sync/peers, /logstream/stream"
    )
    told = "/logstream/events: no such route in this server, nor in any release"
    assert f"{told} {route_cells(404, 404, 404)}" in found["evidence"]
    assert f"/sync/ops: blocked on the way {route_cells(400, 400, 404)}" in found["evidence"]
    assert alone["verdict"] == "not-checked"
    assert "direct_url" in alone["message"]


def test_a_proxy_that_changes_the_name(served: Vault, behind: Callable[..., Any]) -> None:
    with behind(host="stranger.example.net") as proxy:
        found = served.audit(proxy.url)
    assert found["health"]["verdict"] == "fail"
    assert "HTTP 403" in found["health"]["evidence"][0]
    assert "allowed_hosts" in found["health"]["remedy"]
    assert found["auth"]["follows"] == "serve.health"


def test_a_proxy_that_takes_the_origin_away(served: Vault, behind: Callable[..., Any]) -> None:
    with behind(more='proxy_set_header Origin "";') as proxy:
        found = served.audit(proxy.url)["origin"]
    assert found["verdict"] == "warn"
    assert (
        f"{proxy.url}, asked from the target: a foreign Origin: want 403, got 200"
        in (found["evidence"])
    )
    assert any(
        served.palace.url in line and line.endswith("a foreign Host: want 403, got 403")
        for line in found["evidence"]
    )


def test_a_proxy_that_brings_the_token_for_everybody(
    served: Vault, behind: Callable[..., Any]
) -> None:
    with behind(more=f'proxy_set_header Authorization "Bearer {TOKEN}";') as proxy:
        found = served.audit(proxy.url)["auth"]
    assert (found["verdict"], found["message"]) == ("fail", "lets in whoever asks")


def test_what_is_declared_otherwise_fails(served: Vault) -> None:
    found = served.audit(
        served.palace.url,
        bind="127.0.0.9",
        serve_version="99",
        palace_path="/srv/another",
        reach_from="controller",
    )
    wrong = {
        "bind": "listens on 127.0.0.1, declared is 127.0.0.9",
        "version": "99 or later is needed",
        "palace": "serves another palace",
        "reach": "answers from the target too, which is not declared",
    }
    for gate, message in wrong.items():
        assert found[gate]["verdict"] == "fail", found[gate]
        assert message in found[gate]["message"]
    assert found["auth"]["verdict"] == "pass", found["auth"]


def test_a_token_that_the_server_made_up_is_its_owners_alone(served: Vault, tmp_path: Path) -> None:
    address, palace, home = "127.0.0.2", tmp_path / "palace", tmp_path / "home"
    palace.mkdir()
    with another_server(palace, home, address, token="") as port:
        url = f"http://{address}:{port}/mcp"
        there = {"port": port, "palace_path": str(palace), "serve_home": str(home)}
        own = served.audit(url, bind=address, **there)["token"]
        (token,) = home.glob(".mempalace/server/*/token")
        token.chmod(0o644)
        shown = served.audit(url, bind=address, **there)["token"]
    assert own["verdict"] == "pass", own
    assert f"{token} is 0600" in own["evidence"]
    assert shown["verdict"] == "fail", shown
    assert f"{token} is 0644, want 0600" in shown["evidence"]


@pytest.mark.parametrize(
    ("more", "told", "remedy"),
    [
        ("return 404;", "HTTP 404", "/mcp"),
        ("return 406;", "HTTP 406", "Accept"),
        ("return 421;", "HTTP 421", "with its port"),
        ("return 502;", "HTTP 502", "logs of proxy and server"),
        ("return 301 https://elsewhere.example.net/mcp;", "redirected", "drops the token"),
        ("return 200 hello;", "not-mcp", "something else answers"),
    ],
)
def test_each_failure_on_the_way_has_its_name_and_remedy(
    served: Vault, behind: Callable[..., Any], more: str, told: str, remedy: str
) -> None:
    with behind(more=more) as proxy:
        found = served.audit(proxy.url)
    failing = {gate for gate, f in found.items() if f["verdict"] == "fail"}
    if told == "not-mcp":  # it says 200 to whoever asks
        assert failing <= {"auth", "health"}
    else:
        assert failing == {"health"}
    assert any(told in line for line in found["health"]["evidence"]), found["health"]
    assert remedy in found["health"]["remedy"]


@contextmanager
def another_server(
    palace: Path, home: Path, address: str = "127.0.0.1", token: str = TOKEN
) -> Iterator[int]:
    """Serve a palace as a user with another home, on an address of its own; yields the port."""
    home.mkdir()
    port = free_port(address)
    told = ["--host", address, "--port", str(port), "--palace", str(palace)]
    process = subprocess.Popen(
        [str(mempalace_tool() / "mempalace"), "serve", *told],
        env={"HOME": str(home), "MEMPALACE_MCP_HTTP_TOKEN": token, "PATH": "/usr/bin:/bin"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for(port, address=address)
        yield port
    finally:
        process.terminate()
        process.wait(10)


def test_off_loopback_the_host_is_not_pinned(served: Vault, tmp_path: Path) -> None:
    address, home = "127.0.0.2", tmp_path / "home"  # no loopback in the server's own eyes
    palace = tmp_path / "palace"
    palace.mkdir()
    with another_server(palace, home, address) as port:
        url = f"http://{address}:{port}/mcp"
        found = served.audit(
            url,
            direct_url=url,
            bind=address,
            port=port,
            palace_path=str(palace),
            serve_home=str(home),
        )
    for gate in ("bind", "auth", "origin", "palace", "routes", "writer"):
        assert found[gate]["verdict"] == "pass", found[gate]
    evidence = found["origin"]["evidence"]
    assert f"{url}, asked from the target: a foreign Origin: want 403, got 403" in evidence
    assert f"{url}, asked from the target: a foreign Host: want no 403, got 200" in evidence


def test_a_second_home_has_a_second_lock(served: Vault, tmp_path: Path) -> None:
    with another_server(served.palace.path, tmp_path / "other"):
        writer = served.audit(served.palace.url)["writer"]
    assert writer["verdict"] == "fail"
    assert "their homes differ" in writer["message"]
    assert any(f"HOME {tmp_path / 'other'}" in line for line in writer["evidence"])
    assert served.audit(served.palace.url)["writer"]["verdict"] == "pass"


def test_a_release_without_the_routes(tmp_path: Path) -> None:
    with vault(tmp_path, "3.6") as old:
        found = old.audit(old.palace.url)
    assert found["version"]["message"].endswith("3.6.0 is running")
    assert found["routes"]["verdict"] == "pass"
    assert any(
        line.startswith("/sync/peers: no such route in this server: it came with 3.7.0")
        for line in found["routes"]["evidence"]
    )
    assert found["stale"]["verdict"] == "not-applicable"
    assert found["origin"]["verdict"] == "pass"
    assert found["writer"]["message"] == "one server writes; it takes the lock when it first does"


def test_a_server_that_ends_after_idle_hours(tmp_path: Path) -> None:
    with vault(tmp_path, more={"MEMPALACE_MCP_IDLE_HOURS": "8"}) as idle:
        found = idle.audit(idle.palace.url)
    assert found["stays"]["verdict"] == "warn"
    assert "8 idle hours" in found["stays"]["evidence"][0]


def environment_of_its_own(folder: Path) -> tuple[Path, Path]:
    """Make an environment whose record of chromadb can be changed without harm to the shared one.

    Returns its `mempalace` program, and the file that names chromadb's version.
    """
    shared = mempalace_tool().parent
    (packages,) = shared.glob("lib/python3*/site-packages")
    own = folder / packages.relative_to(shared)
    own.mkdir(parents=True)
    for entry in packages.iterdir():
        if entry.name.startswith("chromadb-"):
            shutil.copytree(entry, own / entry.name)
        else:
            (own / entry.name).symlink_to(entry)
    (folder / "bin").mkdir()
    python = folder / "bin" / "python3"
    python.symlink_to((shared / "bin" / "python3").resolve())
    shutil.copy(shared / "pyvenv.cfg", folder)
    program = folder / "bin" / "mempalace"
    _, _, script = (shared / "bin" / "mempalace").read_text().partition("\n")
    program.write_text(f"#!{python}\n{script}")
    program.chmod(0o755)
    (record,) = own.glob("chromadb-*.dist-info/METADATA")
    return program, record


def test_libraries_that_are_replaced_under_a_running_server(tmp_path: Path) -> None:
    program, record = environment_of_its_own(tmp_path / "environment")
    with vault(tmp_path, program=program) as under:
        before = under.audit(under.palace.url)["stale"]
        record.write_text(re.sub(r"(?m)^Version: .*$", "Version: 99.0", record.read_text()))
        after = under.audit(under.palace.url)["stale"]
    assert before["verdict"] == "pass", before
    assert after["verdict"] == "fail", after
    assert re.fullmatch(r"chromadb: \S+ is running, 99.0 is installed", after["evidence"][0])


def test_a_lock_that_another_process_holds(tmp_path: Path) -> None:
    with vault(tmp_path, "3.6") as old:  # it takes the lock with its first write only
        key = hashlib.sha256(str(old.palace.path).encode()).hexdigest()[:16]
        lock = old.palace.home / ".mempalace" / "locks" / f"mine_palace_{key}.lock"
        lock.parent.mkdir(parents=True)
        lock.write_bytes(b"\0 1 mempalace mine")
        free = old.audit(old.palace.url)["writer"]
        with lock.open("r+b") as held:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            taken = old.audit(old.palace.url)["writer"]
    assert free["verdict"] == "pass"
    assert taken["verdict"] == "fail"
    assert taken["message"] == f"the lock is held by process {os.getpid()}, which is no server"
