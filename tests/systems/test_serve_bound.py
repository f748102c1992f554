"""The gate `serve.bind`: what the palace listens on, from whatever shows it."""

import pytest
from support.serve import (
    DOCKER0,
    FORBIDDEN,
    Serving,
    container,
    failing,
    healthy,
    process,
    silent,
    target,
)

from fleet.facts.endpoints import Trouble
from fleet.facts.running import EnvValue, Publication
from fleet.verifier.model import Verdict

FAIL, PASS, WARN, NOT_CHECKED = Verdict.FAIL, Verdict.PASS, Verdict.WARN, Verdict.NOT_CHECKED


@pytest.mark.parametrize("address", ["0.0.0.0", "::"])
def test_every_interface_is_the_lan(address: str) -> None:
    found = healthy().listening(address).judged()
    assert failing(found) == {"bind"}
    assert found["bind"].message == "listens on every interface, the LAN's included"
    shown = "[::]" if ":" in address else address
    want = f"{DOCKER0}:8765"
    assert found["bind"].evidence == (f"listening socket: want {want}, got {shown}:8765",)


@pytest.mark.parametrize("variables", [{"allow_lan": True}, {"bind": "0.0.0.0"}])
def test_every_interface_may_be_meant(variables: dict[str, str]) -> None:
    found = healthy().listening("0.0.0.0", "::").judged(target(**variables))
    assert found["bind"].verdict is PASS


def test_another_address_than_the_declared_one() -> None:
    found = healthy().listening("192.0.2.7").judged()
    assert failing(found) == {"bind"}
    assert found["bind"].message == "listens on 192.0.2.7, declared is docker0"
    assert found["bind"].evidence == (f"listening socket: want {DOCKER0}:8765, got 192.0.2.7:8765",)


def test_docker0_is_looked_up() -> None:
    world = healthy().listening("10.200.0.1").seen(interfaces={"docker0": ("10.200.0.1",)})
    assert world.judged()["bind"].verdict is PASS
    gone = healthy().seen(interfaces={"lo": ("127.0.0.1",)}).judged()
    assert gone["bind"].message == "there is no docker0 on this machine"
    unseen = healthy().seen(interfaces=None, unseen={"interfaces": "no ip, no ifconfig"}).judged()
    assert (unseen["bind"].verdict, unseen["bind"].evidence) == (
        NOT_CHECKED,
        ("no ip, no ifconfig",),
    )


def test_an_address_needs_no_interface() -> None:
    world = healthy().listening("192.0.2.7").seen(interfaces=None)
    assert world.judged(target(bind="192.0.2.7"))["bind"].verdict is PASS


def test_c07_a_container_that_could_not_bind_is_that_and_not_missing() -> None:
    error = "listen tcp 172.17.0.1:8765: bind: cannot assign requested address"
    ended = container(state="exited", exit_code=128, error=error)
    world = Serving().listening().containers(ended)
    world.heard(silent(Trouble.REFUSED))
    found = world.judged(target(serve_mode="compose"))
    assert "bind" in failing(found)
    assert found["bind"].message == "mempalace-palace-1 could not bind its address"
    assert found["bind"].evidence == (error, f"docker0 is {DOCKER0}")
    assert found["health"].follows == "serve.bind"
    assert found["auth"].verdict is NOT_CHECKED


def test_a_container_that_runs_has_bound_its_address() -> None:
    once = container(error="bind: address already in use")
    assert healthy().containers(once).judged()["bind"].verdict is PASS


def test_what_an_ended_container_would_publish_does_not_count() -> None:
    ended = container(
        state="exited", ports=(Publication(address="0.0.0.0", port=8765, inner=8765),)
    )
    world = healthy().containers(ended).seen(listeners=None)
    assert world.judged()["bind"].verdict is NOT_CHECKED


def test_published_ports_count_where_sockets_cannot_be_seen() -> None:
    wide = container(ports=(Publication(address="0.0.0.0", port=8765, inner=8765),))
    world = healthy().containers(wide).seen(listeners=None)
    assert failing(world.judged(target(serve_mode="compose"))) >= {"bind"}
    world.containers(container()).seen(
        processes={"server": (process(flags={"--host": "0.0.0.0"}),)}
    )
    assert failing(world.judged()) == set()
    none = healthy().seen(listeners=None, unseen={"listeners": "no /proc"}).judged()
    assert none["bind"].message == "where it listens is not known: no /proc"


def test_an_engine_that_forwards_without_a_socket() -> None:
    world = healthy().listening().containers(container())
    assert world.judged()["bind"].verdict is PASS


def test_the_argument_list_counts_where_nothing_else_is_seen() -> None:
    flags = {"--host": "0.0.0.0", "--port": "8765"}
    world = healthy().seen(listeners=None, processes={"server": (process(flags=flags),)})
    assert failing(world.judged()) == {"bind"}
    world.seen(processes={"server": (process(flags={"--host": "localhost"}),)})
    assert world.judged(target(bind="loopback", palace_url=None))["bind"].verdict is PASS


def test_in_a_container_its_published_port_counts() -> None:
    where = target(address="container:palace", bind=DOCKER0)
    world = healthy().seen(container=container(), listeners=None)
    world.kind = "container"
    assert world.judged(where)["bind"].verdict is PASS
    world.seen(container=container(ports=()))
    assert world.judged(where)["bind"].verdict is NOT_CHECKED


LOOPBACK = {"bind": "loopback"}


def test_loopback_behind_a_proxy_needs_the_proxys_name() -> None:
    world = Serving().listening("127.0.0.1")
    world.heard(FORBIDDEN)
    found = world.judged(target(**LOOPBACK))
    assert failing(found) == {"bind"}
    assert found["bind"].message == "every request for palace.example.net is 403"
    assert found["health"].follows == "serve.bind"


@pytest.mark.parametrize(
    ("hosts", "verdict"),
    [("palace.example.net, x", PASS), ("other", FAIL), ("", FAIL), (None, NOT_CHECKED)],
)
def test_loopback_with_a_name_for_the_proxy(hosts: str | None, verdict: Verdict) -> None:
    name = "MEMPALACE_MCP_EXTRA_ALLOWED_HOSTS"
    given = {} if hosts is None else {name: EnvValue(set=bool(hosts), value=hosts or None)}
    world = healthy().listening("127.0.0.1")
    world.seen(processes={"server": (process(variables=given),)})
    assert world.judged(target(**LOOPBACK))["bind"].verdict is verdict


def test_loopback_for_the_machine_itself() -> None:
    url = "http://127.0.0.1:8765/mcp"
    world = healthy(url=url).listening("127.0.0.1", "::1")
    assert world.judged(target(palace_url=url, **LOOPBACK))["bind"].verdict is PASS


def test_a_port_published_on_loopback_is_pinned_to_no_name() -> None:
    ports = (Publication(address="127.0.0.1", port=8765, inner=8765),)
    world = healthy().listening("127.0.0.1").containers(container(ports=ports))
    assert world.judged(target(**LOOPBACK))["bind"].verdict is PASS


def test_a_unit_may_start_before_docker0_is_there() -> None:
    path = "/etc/systemd/system/mempalace-serve.service"
    where = target(serve_mode="systemd")
    world = healthy()
    world.file(path, b"[Unit]\nAfter=network-online.target\n")
    assert world.judged(where)["bind"].verdict is WARN
    world.file(path, b"[Unit]\nAfter=network-online.target docker.service\n")
    assert world.judged(where)["bind"].verdict is PASS


def test_a_port_that_is_none() -> None:
    assert healthy().judged(target(port="http"))["bind"].message == "port is no number: 'http'"
