"""Is the palace served as it should be: each failure is told by one gate, and only it."""

import dataclasses
import hashlib

import pytest
from support.serve import (
    DOCKER0,
    TOKEN,
    URL,
    Serving,
    answers,
    container,
    endpoint,
    healthy,
    process,
    secret_value,
    silent,
    target,
)

from fleet.facts.model import Answer, EnvValue, Publication, State, Trouble
from fleet.verifier.model import Finding, Verdict

FAIL, PASS, WARN = Verdict.FAIL, Verdict.PASS, Verdict.WARN
NOT_CHECKED, NOT_APPLICABLE = Verdict.NOT_CHECKED, Verdict.NOT_APPLICABLE
GATES = {"bind", "auth", "version", "palace", "health", "token", "compose-lint"}


def failing(found: dict[str, Finding]) -> set[str]:
    return {name for name, finding in found.items() if finding.verdict is FAIL}


def test_a_palace_served_as_declared_passes_every_gate() -> None:
    found = healthy().seen(processes={"server": (process(),)}).judged()
    assert set(found) == GATES
    assert {n: f.verdict for n, f in found.items()} == {
        **dict.fromkeys(GATES, PASS),
        "compose-lint": NOT_APPLICABLE,
    }
    assert found["bind"].message == f"listens on {DOCKER0} (docker0)"
    assert found["health"].message == "7 drawers, nothing wrong with them"


def test_nothing_is_passed_on_a_machine_that_shows_nothing() -> None:
    bare = Serving().seen(listeners=None, interfaces=None, processes={})
    found = bare.judged()
    assert {f.verdict for f in found.values()} == {NOT_CHECKED, NOT_APPLICABLE}


def test_an_image_cannot_be_asked() -> None:
    where = target(address="oci:palace")
    found = Serving("image").judged(where)
    assert {f.verdict for f in found.values()} == {NOT_APPLICABLE}


@pytest.mark.parametrize("address", ["0.0.0.0", "::"])
def test_every_interface_is_the_lan(address: str) -> None:
    found = healthy().listening(address).judged()
    assert failing(found) == {"bind"}
    assert found["bind"].message == "listens on every interface, the LAN's included"
    shown = "[::]" if ":" in address else address
    assert found["bind"].evidence == (f"{shown}:8765, listening socket",)


@pytest.mark.parametrize("variables", [{"allow_lan": True}, {"bind": "0.0.0.0"}])
def test_every_interface_may_be_meant(variables: dict[str, str]) -> None:
    found = healthy().listening("0.0.0.0", "::").judged(target(**variables))
    assert found["bind"].verdict is PASS


def test_another_address_than_the_declared_one() -> None:
    found = healthy().listening("192.0.2.7").judged()
    assert failing(found) == {"bind"}
    assert f"declared is docker0, {DOCKER0}" in found["bind"].evidence


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
FORBIDDEN = silent(Trouble.HTTP, status=403)


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


@pytest.mark.parametrize("name", ["no_token", "wrong_token"])
def test_a_palace_open_to_whoever_asks(name: str) -> None:
    let_in = Answer(status=200, trouble=Trouble.HTTP, detail="is answered, not turned away")
    found = healthy(answers=answers(**{name: let_in})).judged()
    assert failing(found) == {"auth"}
    assert found["auth"].message == "lets in whoever asks"


def test_a_stream_that_never_spoke_has_let_nobody_in() -> None:
    quiet = Answer(status=200, trouble=Trouble.SILENT)
    found = healthy(answers=answers(no_token=quiet)).judged()
    assert found["auth"].verdict is NOT_CHECKED


def refused() -> Serving:
    said = Answer(status=401, trouble=Trouble.HTTP, detail="HTTP 401")
    world = Serving()
    world.heard(
        endpoint(
            answers=answers(initialize=said, tools=None, status=None, statusz=said),
            version="",
            palace=None,
            usable=None,
            drawers=None,
        )
    )
    return world


def test_the_declared_token_is_refused_and_only_one_gate_says_so() -> None:
    found = refused().judged()
    assert failing(found) == {"auth"}
    assert found["auth"].message == "refuses the declared token (401)"
    assert {found[n].follows for n in ("version", "palace", "health")} == {"serve.auth"}


def test_a_container_with_an_old_token_is_to_be_recreated() -> None:
    old = container(variables={"MEMPALACE_MCP_HTTP_TOKEN": secret_value("tok-EXAMPLE-old")})
    found = refused().containers(old).judged()
    assert found["auth"].remedy == (
        "recreate the container: a restart does not read the environment again"
    )
    assert any(line.startswith("container mempalace-palace-1:") for line in found["auth"].evidence)
    assert "tok-EXAMPLE" not in str(found)


def test_a_token_that_is_not_known_here_proves_nothing() -> None:
    found = refused().judged(troubles={TOKEN: "PALACE_TOKEN is not set"})
    assert (found["auth"].verdict, found["auth"].evidence) == (
        NOT_CHECKED,
        ("PALACE_TOKEN is not set",),
    )
    undeclared = refused().judged(target(palace_token=None))
    assert undeclared["auth"].verdict is NOT_CHECKED
    assert healthy().judged(target(palace_token=None))["auth"].verdict is NOT_CHECKED


@pytest.mark.parametrize(
    ("running", "wanted", "verdict"),
    [
        ("3.6.0", "3.6.0", PASS),
        ("3.11.0", "3.7.0", PASS),
        ("3.5.0", "3.6.0", FAIL),
        ("", "3.6.0", NOT_CHECKED),
        ("dev", "3.6.0", NOT_CHECKED),
    ],
)
def test_the_running_release(running: str, wanted: str, verdict: Verdict) -> None:
    found = healthy(version=running).judged(target(serve_version=wanted))
    assert found["version"].verdict is verdict
    assert not found["version"].required


def test_the_release_can_be_required() -> None:
    where = dataclasses.replace(target(), require=("serve",))
    assert healthy().judged(where)["version"].required


def test_another_palace_is_served() -> None:
    found = healthy(palace="/home/u/.mempalace/palace").judged()
    assert failing(found) == {"palace"}
    assert found["palace"].evidence == (
        "served is /home/u/.mempalace/palace",
        "declared is /data/palace",
    )


def test_a_palace_in_the_home_is_the_same_palace() -> None:
    found = healthy(palace="/home/u/palace").judged(target(palace_path="~/palace"))
    assert found["palace"].verdict is PASS


def test_what_was_not_told_or_declared_is_not_compared() -> None:
    assert healthy(palace=None).judged()["palace"].verdict is NOT_CHECKED
    undeclared = healthy().judged(target(palace_path=None))
    assert (undeclared["palace"].verdict, undeclared["palace"].evidence) == (
        NOT_CHECKED,
        ("served is /data/palace",),
    )
    assert (
        healthy().judged(target(palace_path=None, serve_mode="compose"))["palace"].verdict is PASS
    )


def test_a_damaged_palace_is_up_and_not_usable() -> None:
    trouble = "the integrity check failed: row 3 missing"
    found = healthy(usable=False, trouble=trouble, drawers=0).judged()
    assert failing(found) == {"health"}
    assert trouble in found["health"].evidence


def test_an_empty_palace_fails_unless_it_is_declared_new() -> None:
    world = healthy(usable=False, trouble="Chroma database missing", drawers=None)
    assert failing(world.judged()) == {"health"}
    assert world.judged(target(allow_empty=True))["health"].verdict is WARN


def test_a_status_that_was_not_seen_is_no_health() -> None:
    timed_out = Answer(trouble=Trouble.TIMEOUT, detail="no answer within 5 s")
    found = healthy(answers=answers(status=timed_out), usable=None).judged()
    assert (found["health"].verdict, found["health"].evidence[1]) == (
        NOT_CHECKED,
        "no answer within 5 s",
    )


@pytest.mark.parametrize("trouble", [Trouble.REFUSED, Trouble.RESOLVE, Trouble.TLS, Trouble.SILENT])
def test_a_palace_that_does_not_answer_is_told_once(trouble: Trouble) -> None:
    world = Serving().listening()
    world.heard(silent(trouble))
    found = world.judged()
    assert failing(found) == {"health"}
    assert {found[n].follows for n in ("auth", "version", "palace", "bind")} == {"serve.health"}
    assert f"{trouble}: so it is" in found["health"].evidence[0]


def test_up_is_not_usable() -> None:
    world = Serving()
    world.heard(
        endpoint(
            answers={
                "healthz": Answer(status=200),
                "initialize": Answer(status=502, trouble=Trouble.HTTP, detail="HTTP 502"),
            }
        )
    )
    found = world.judged()
    assert failing(found) == {"health"}
    assert "/healthz says ok all the same" in found["health"].evidence


def test_a_gate_that_403s_without_a_bind_to_blame_is_healths_to_tell() -> None:
    world = Serving()
    world.heard(FORBIDDEN)
    assert failing(world.judged()) == {"health"}


def test_the_servers_own_machine_need_not_know_the_proxys_name() -> None:
    world = Serving()
    world.heard(silent(Trouble.RESOLVE)).heard(endpoint(place="controller"))
    found = world.judged()
    assert failing(found) == set()
    assert "asked from the controller" in found["auth"].evidence[0]


def test_a_palace_only_its_own_machine_reaches() -> None:
    world = healthy()
    world.heard(silent(Trouble.TIMEOUT, place="controller"))
    assert failing(world.judged()) == set()


def test_a_controller_that_cannot_reach_it_proves_nothing_alone() -> None:
    world = Serving()
    world.heard(silent(Trouble.UNSUPPORTED)).heard(silent(Trouble.REFUSED, place="controller"))
    found = world.judged()
    assert failing(found) == set()
    assert found["health"].verdict is NOT_CHECKED


def test_credentials_in_the_url_do_not_hide_what_was_heard() -> None:
    where = target(palace_url="https://me:tok-EXAMPLE-url@palace.example.net/mcp")
    found = healthy().judged(where)
    assert found["auth"].verdict is PASS
    assert "tok-EXAMPLE" not in str(found)


TOKEN_FOLDER = "~/.mempalace/server/" + hashlib.sha256(b"/data/palace").hexdigest()[:24]


def test_a_minted_token_that_only_its_owner_reads() -> None:
    world = healthy()
    world.file(f"{TOKEN_FOLDER}/token", mode=0o600)
    found = world.judged()
    assert found["token"].verdict is PASS
    assert "rotate it" in found["token"].evidence[-1]


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604])
def test_a_token_file_others_can_read(mode: int) -> None:
    world = healthy()
    world.file(f"{TOKEN_FOLDER}/token", mode=mode)
    found = world.judged()
    assert failing(found) == {"token"}
    assert found["token"].evidence == (f"{TOKEN_FOLDER}/token is {mode:04o}, want 0600",)


def test_a_token_folder_others_can_enter() -> None:
    world = healthy()
    world.folder(TOKEN_FOLDER, "token")
    assert failing(world.judged()) == {"token"}


def test_an_env_file_others_can_read() -> None:
    world = healthy()
    line = b"MEMPALACE_MCP_HTTP_TOKEN='tok-EXAMPLE-serve'\n"
    world.env_file("~/.config/mempalace/server.env", line, mode=0o644)
    assert failing(world.judged(target(serve_mode="systemd-user"))) == {"token"}


def test_a_token_in_an_argument_list() -> None:
    argv = process(secret_flags=("--token",))
    assert failing(healthy().seen(processes={"server": (argv,)}).judged()) == {"token"}
    command = container(secret_flags=("--token",))
    assert failing(healthy().containers(command).judged()) == {"token"}


def test_a_token_file_that_cannot_be_seen_is_not_passed() -> None:
    world = healthy().seen(processes={"server": (process(),)})
    world.broken(f"{TOKEN_FOLDER}/token", State.UNREADABLE, why="permission denied")
    assert world.judged()["token"].verdict is NOT_CHECKED


def test_no_gate_shows_the_url_of_another() -> None:
    world = Serving()
    world.heard(endpoint(url="https://other.example.net/mcp"))
    assert world.judged()["health"].evidence == (URL,)
