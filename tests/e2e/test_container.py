"""Containers in a real engine: with a shell, without one, stopped, gone, hostile."""

import hashlib
import json
import selectors
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.busy import LAST_WORDS, LateSelector
from support.containers import Engine, Root, base, engine_answers
from support.places import CASES

from fleet.connectors import container_exec
from fleet.connectors.container import ContainerConnector
from fleet.errors import ProbeError, Unreachable, Unsupported
from fleet.facts.model import Facts
from fleet.facts.paths import State
from fleet.facts.request import (
    CommandQuestion,
    ContainerQuestion,
    LaunchQuestion,
    PathQuestion,
    Read,
    Request,
)
from fleet.facts.running import EnvValue
from fleet.inventory.model import Address, Scheme, Target
from fleet.secrets import Secret, keyed_digest

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(not engine_answers(), reason="needs a Docker engine and busybox"),
]

NONCE = "e2e-nonce"
NOTHING = Secret("")
SECRET = "tok-EXAMPLE-container"
AGENT = "/home/dev/.pi/agent"
BRIDGE = "~/.pi/agent/extensions/mempalace.ts"
CODE = b"export default 1;\n"


def connector(name: str, *, timeout: float = 30, **options: int) -> ContainerConnector:
    target = Target(name, Address(Scheme.CONTAINER, name))
    return ContainerConnector(target, timeout=timeout, **options)


def ask(name: str, *paths: PathQuestion, **more: object) -> Facts:
    made = connector(name)
    try:
        return made.collect(Request(NONCE, paths=paths, **more))  # type: ignore[arg-type] # any part
    finally:
        made.close()
        made.close()


def deployed(root: Root) -> Root:
    """Add what a person called dev has, and some traps."""
    for path in ("/opt/toolkit", "/opt"):
        root.folder(path)
    for path in ("/home/dev", "/home/dev/.pi", AGENT, f"{AGENT}/extensions"):
        root.folder(path, uid=1000)
    root.file("/opt/toolkit/mempalace.ts", CODE)
    here = f"{AGENT}/extensions"
    root.link(f"{here}/mempalace.ts", "abs.ts", uid=1000)
    root.link(f"{here}/abs.ts", "/opt/toolkit/mempalace.ts", uid=1000)
    root.link(f"{here}/loop.ts", "loop.ts", uid=1000)
    root.link(f"{here}/ping.ts", "pong.ts", uid=1000)
    root.link(f"{here}/pong.ts", "ping.ts", uid=1000)
    root.link(f"{here}/gone.ts", "../nowhere.ts", uid=1000)
    root.link(f"{here}/out.ts", "../../../../../../../../etc/passwd", uid=1000)
    root.file(f"{here}/a \n'\"-.ts", b"odd", uid=1000)
    root.file(f"{AGENT}/token", SECRET.encode(), mode=0o600, uid=1000)
    return root


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    made = Engine()
    yield made
    made.close()


@pytest.fixture(scope="module")
def images(engine: Engine) -> dict[bool, str]:
    """An image with a shell and one without, else alike."""
    return {
        shell: engine.image(
            "shell" if shell else "bare", deployed(base(shell=shell)), ("USER dev", "WORKDIR /tmp")
        )
        for shell in (True, False)
    }


@pytest.fixture(scope="module")
def running(engine: Engine, images: dict[bool, str]) -> dict[bool, str]:
    environment = {"TOKEN": SECRET, "MEMPALACE_PI_DEVICE": "box", "EMPTY": ""}
    return {shell: engine.run(images[shell], environment=environment) for shell in images}


both = pytest.mark.parametrize("shell", [True, False], ids=["shell", "no shell"])


@both
def test_the_same_answers_with_and_without_a_shell(running: dict[bool, str], shell: bool) -> None:
    facts = ask(running[shell], PathQuestion(BRIDGE, Read.WHOLE))
    bridge = facts.paths[BRIDGE]
    assert (bridge.state, bridge.final) == (State.PRESENT, "/opt/toolkit/mempalace.ts")
    assert [hop.target for hop in bridge.hops] == ["abs.ts", "/opt/toolkit/mempalace.ts"]
    assert (bridge.mode, bridge.uid, bridge.owner, bridge.size) == (0o644, 0, "root", len(CODE))
    assert (bridge.sha256, bridge.link) == (hashlib.sha256(CODE).hexdigest(), True)
    assert facts.content(bridge) == CODE
    assert (facts.kind, facts.platform.user, facts.platform.uid) == ("container", "dev", 1000)


def test_an_audit_is_one_connection_and_one_exec(running: dict[bool, str], engine: Engine) -> None:
    made = connector(running[True])
    before = len(list(engine.client.api.inspect_container(running[True])["ExecIDs"] or ()))
    questions = tuple(PathQuestion(f"{AGENT}/extensions/{n}", Read.WHOLE) for n in range(40))
    made.collect(Request(NONCE, paths=(*questions, PathQuestion(BRIDGE, Read.WHOLE))))
    assert (made.connects, made.round_trips) == (1, 1)
    made.collect(Request(NONCE))
    assert (made.connects, made.round_trips) == (1, 2)
    made.close()
    assert before == 0


@both
def test_case_a04_loops_dangling_links_and_absence(running: dict[bool, str], shell: bool) -> None:
    here = f"{AGENT}/extensions"
    facts = ask(
        running[shell],
        *(
            PathQuestion(f"{here}/{name}")
            for name in ("loop.ts", "ping.ts", "gone.ts", "none.ts", "out.ts")
        ),
        PathQuestion("/opt/toolkit/mempalace.ts/below"),
    )
    states = {path.rpartition("extensions/")[2]: fact.state for path, fact in facts.paths.items()}
    assert states == {
        "loop.ts": State.LOOP,
        "ping.ts": State.LOOP,
        "gone.ts": State.DANGLING,
        "none.ts": State.ABSENT,
        "out.ts": State.PRESENT,
        "/opt/toolkit/mempalace.ts/below": State.ABSENT,
    }
    assert facts.paths[f"{here}/loop.ts"].at == f"{here}/loop.ts"
    assert facts.paths[f"{here}/out.ts"].final == "/etc/passwd"


@both
def test_folders_list_and_odd_names(running: dict[bool, str], shell: bool) -> None:
    odd = f"{AGENT}/extensions/a \n'\"-.ts"
    folder = f"{AGENT}/extensions"
    facts = ask(running[shell], PathQuestion(folder, Read.LIST), PathQuestion(odd, Read.WHOLE))
    assert facts.content(facts.paths[odd]) == b"odd"
    listed = facts.paths[folder]
    assert (listed.mode, listed.uid, listed.owner) == (0o755, 1000, "dev")
    assert listed.entries is not None
    entries = {entry.name: (entry.kind, entry.target, entry.dangling) for entry in listed.entries}
    assert entries == {
        "mempalace.ts": ("link", "abs.ts", False),
        "abs.ts": ("link", "/opt/toolkit/mempalace.ts", False),
        "loop.ts": ("link", "loop.ts", True),
        "ping.ts": ("link", "pong.ts", True),
        "pong.ts": ("link", "ping.ts", True),
        "gone.ts": ("link", "../nowhere.ts", True),
        "out.ts": ("link", "../../../../../../../../etc/passwd", False),
        "a \n'\"-.ts": ("file", None, False),
    }


def test_both_ways_give_the_same_facts(running: dict[bool, str]) -> None:
    """Everything that files alone tell is told alike."""
    here = f"{AGENT}/extensions"
    questions = [
        PathQuestion(BRIDGE, Read.WHOLE),
        PathQuestion(here, Read.LIST),
        PathQuestion(f"{AGENT}/token", Read.STAT),
        PathQuestion("/etc/passwd", Read.HASH),
        PathQuestion("/home", Read.STAT),
        *(PathQuestion(f"{here}/{n}") for n in ("loop.ts", "ping.ts", "gone.ts", "out.ts", "no")),
    ]
    with_shell, without = (ask(running[shell], *questions).paths for shell in (True, False))
    for question in questions:
        path = question.path
        # A folder's size, an inode and what may be written: no archive tells them.
        told: dict[str, object] = {"inode": None, "writable": None, "closed": ()}
        if with_shell[path].kind == "directory":
            told["size"] = 0
        assert with_shell[path].model_copy(update=told) == without[path]


@both
def test_case_b10_the_environment_is_that_of_its_creation(
    running: dict[bool, str], shell: bool
) -> None:
    launch = LaunchQuestion(
        "container",
        public=("MEMPALACE_PI_DEVICE", "UNSET", "HOME", "EMPTY", "PWD"),
        secret=("TOKEN",),
        commands=(CommandQuestion("busybox"), CommandQuestion("nonesuch")),
    )
    facts = ask(running[shell], launches=(launch,))
    told = facts.launches["container"]
    assert told.state == "ok"
    expected = keyed_digest(NONCE, SECRET)
    assert told.variables == {
        "MEMPALACE_PI_DEVICE": EnvValue(set=True, length=3, value="box"),
        "UNSET": EnvValue(set=False),
        "PWD": EnvValue(set=False),  # a shell has it, what the engine starts has not
        "HOME": EnvValue(set=True, length=9, value="/home/dev"),
        "EMPTY": EnvValue(set=True, length=0, value=""),
        "TOKEN": EnvValue(set=True, length=len(SECRET), digest=expected),
    }
    assert facts.container is not None
    assert facts.container.variables["TOKEN"].digest == expected
    assert SECRET not in facts.model_dump_json()
    assert told.commands["nonesuch"].file is None
    busybox = told.commands["busybox"].file
    assert busybox is not None
    assert busybox.final == "/bin/busybox"


def test_case_b10_an_env_file_that_changed_later_changes_nothing(
    engine: Engine, images: dict[bool, str]
) -> None:
    case = json.loads((CASES / "B10/inspect.json").read_text())[0]
    name, _, old = case["Config"]["Env"][0].partition("=")
    new = (CASES / "B10/.env").read_text().strip().partition("=")[2]
    container = engine.run(images[True], environment={name: old})
    engine.client.containers.get(container).restart(timeout=0)
    question = ContainerQuestion("project", secret=(name,))
    facts = ask(container, containers=(question,))
    assert facts.container is not None
    told = facts.container.variables[name]
    assert told.digest == keyed_digest(NONCE, old) != keyed_digest(NONCE, new)
    assert old not in facts.model_dump_json()


@pytest.mark.parametrize("number", [0, 1, 2])
@both
def test_case_a17_the_home_is_that_of_the_containers_user(
    engine: Engine, images: dict[bool, str], shell: bool, number: int
) -> None:
    config = json.loads((CASES / "A17/inspect.json").read_text())[number]["Config"]
    environment = dict(line.split("=", 1) for line in config["Env"])
    if shell:
        environment.pop("PATH", None)
    container = engine.run(images[shell], environment=environment, user=config["User"])
    facts = ask(container, PathQuestion(BRIDGE))
    home, rule = [
        ("/home/dev", "its passwd, user dev"),
        ("/workspace", "HOME in the environment"),
        ("/", "its passwd"),
    ][number]
    assert facts.platform.home == home
    assert facts.platform.rule.startswith(rule)
    assert facts.paths[BRIDGE].absolute == home.rstrip("/") + BRIDGE[1:]


def test_what_the_engine_tells_of_a_container(engine: Engine, images: dict[bool, str]) -> None:
    command = ["/bin/busybox", "sh", "-c", "sleep 3600", "--host", "0.0.0.0", f"--token={SECRET}"]
    name = engine.run(
        images[True],
        *command,
        ports={"8765/tcp": ("127.0.0.1", 0)},
        labels={"com.docker.compose.service": "palace"},
        volumes={f"{engine.run(images[True], start=False)}-data": {"bind": "/data"}},
        restart_policy={"Name": "unless-stopped"},
    )
    facts = ask(name)
    told = facts.container
    assert told is not None
    assert (told.name, told.service, told.state) == (name, "palace", "running")
    assert (told.restart, told.exit_code, told.health) == ("unless-stopped", None, None)
    assert told.created.startswith("20")
    assert [(port.address, port.inner, port.port > 0) for port in told.ports] == [
        ("127.0.0.1", 8765, True)
    ]
    assert told.flags == {"--host": "0.0.0.0"}
    assert told.secret_flags == ("--token",)
    assert list(told.mounts) == ["/data"]
    assert facts.image is not None
    assert (facts.image.id, facts.image.user) == (told.image, "dev")
    assert facts.image.platform.startswith("linux/")
    assert SECRET not in facts.model_dump_json()
    engine.client.containers.get(name).remove(force=True)
    for volume in told.mounts.values():
        engine.client.volumes.get(volume).remove()


def test_a_port_that_is_not_bound_is_told(engine: Engine, images: dict[bool, str]) -> None:
    facts = ask(engine.run(images[True], ports={"80/tcp": None}))
    assert facts.container is not None
    (port,) = {publication.inner for publication in facts.container.ports}
    assert port == 80


def test_an_absent_container_is_missing(engine: Engine) -> None:
    with pytest.raises(Unreachable) as caught:
        ask("fleet-conn-test-none")
    assert caught.value.stage == "missing"
    assert "there is no container fleet-conn-test-none in the engine at unix:" in str(caught.value)


def test_a_stopped_container_says_how_it_ended(engine: Engine, images: dict[bool, str]) -> None:
    name = engine.run(images[True], "/bin/busybox", "sh", "-c", "exit 3")
    engine.client.containers.get(name).wait()
    with pytest.raises(Unreachable, match=r"is exited \(exit code 3\)") as caught:
        ask(name)
    assert caught.value.stage == "stopped"


def test_a_container_that_could_not_start_says_why(engine: Engine, images: dict[bool, str]) -> None:
    name = engine.run(images[False], "/no/such/program", start=False)
    with pytest.raises(Exception, match="no such file"):
        engine.client.containers.get(name).start()
    with pytest.raises(Unreachable, match=r"is created \(exit code 127, .*no such file") as caught:
        ask(name)
    assert caught.value.stage == "stopped"


def test_a_paused_container_is_told(engine: Engine, images: dict[bool, str]) -> None:
    name = engine.run(images[True])
    container = engine.client.containers.get(name)
    container.pause()
    with pytest.raises(Unreachable, match="is paused"):
        ask(name)
    container.unpause()


def test_apply_runs_script_and_payload_as_one(running: dict[bool, str]) -> None:
    made = connector(running[True])
    outcome = made.apply(
        "said=hi; cat /proc/*/cmdline; ", Secret(f"echo; echo $said {SECRET} >&2; id -un; exit 7")
    )
    made.close()
    assert outcome.status == 7
    assert outcome.output.endswith(b"\ndev\n")
    assert outcome.errors == f"hi {SECRET}\n".encode()
    assert SECRET.encode() not in outcome.output


def test_a_large_program_and_a_large_answer_do_not_deadlock(running: dict[bool, str]) -> None:
    made = connector(running[True])
    outcome = made.apply("printf '%0500d\\n' 1\n" * 20_000, NOTHING)
    made.close()
    assert (outcome.status, len(outcome.output)) == (0, 501 * 20_000)


def test_apply_without_a_shell_is_unsupported(running: dict[bool, str]) -> None:
    made = connector(running[False])
    with pytest.raises(Unsupported, match="no shell"):
        made.apply("echo hi", NOTHING)
    made.close()


def test_a_container_that_prints_without_end_is_cut(running: dict[bool, str]) -> None:
    made = connector(running[True], max_bytes=1 << 20)
    with pytest.raises(ProbeError, match="more than 1 MiB"):
        made.apply("cat /dev/zero", NOTHING)
    assert made.apply("echo still", NOTHING).output == b"still\n"
    made.close()


def test_a_container_that_never_answers(running: dict[bool, str]) -> None:
    made = connector(running[True], timeout=2)
    started = time.monotonic()
    with pytest.raises(Unreachable, match="no whole answer within 2 s") as caught:
        made.apply("echo begin; exec sleep 60", NOTHING)
    made.close()
    assert caught.value.stage == "timeout"
    assert time.monotonic() - started < 6


def test_a_background_process_does_not_hold_the_answer(running: dict[bool, str]) -> None:
    made = connector(running[True])
    started = time.monotonic()
    outcome = made.apply("sleep 20 & echo done", NOTHING)
    made.close()
    assert outcome.output == b"done\n"
    assert time.monotonic() - started < 10


def test_last_words_are_heard_on_a_busy_machine(
    running: dict[bool, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = connector(running[True])
    monkeypatch.setattr(selectors, "DefaultSelector", LateSelector)
    monkeypatch.setattr(container_exec, "_SLICE", 0.2)
    outcome = made.apply(LAST_WORDS, NOTHING)
    made.close()
    assert outcome.output == b"done\n"


def test_a_container_that_stops_in_the_middle(engine: Engine, images: dict[bool, str]) -> None:
    name = engine.run(images[True])
    made = connector(name)
    killer = threading.Timer(1, engine.client.containers.get(name).kill)
    killer.start()
    started = time.monotonic()
    outcome = made.apply("echo begin; sleep 60; echo end", NOTHING)
    assert (outcome.status, outcome.output) == (137, b"begin\n")
    with pytest.raises((ProbeError, Unreachable), match=r"stopped|is exited"):
        made.collect(Request(NONCE))
    killer.join()
    made.close()
    assert time.monotonic() - started < 10


def test_a_shell_that_is_none_gives_no_facts(engine: Engine) -> None:
    root = base(shell=True)
    root.file("/bin/sh", b"#!/bin/busybox sh\necho '@fleet forged'; exit 0\n", mode=0o755)
    name = engine.run(engine.image("forged", root))
    with pytest.raises(ProbeError):
        ask(name)


def test_tcp_from_a_container_with_the_hosts_network(
    engine: Engine, images: dict[bool, str]
) -> None:
    name = engine.run(images[True], network_mode="host")
    made = connector(name)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        made.open_tcp("127.0.0.1", port).close()
    with pytest.raises(Unreachable) as caught:
        made.open_tcp("127.0.0.1", port)
    assert (caught.value.stage, caught.value.what) == ("connect", "connection refused")
    made.close()


def test_tcp_where_nothing_can_connect_is_unsupported(running: dict[bool, str]) -> None:
    for name in running.values():
        made = connector(name)
        with pytest.raises(Unsupported):
            made.open_tcp("127.0.0.1", 80)
        made.close()


def test_large_files_and_folders_are_bounded_without_a_shell(engine: Engine) -> None:
    root = base(shell=False)
    root.folder("/big")
    root.file("/big/file", b"x" * (3 << 20))
    root.link("/big/loop", "loop")
    name = engine.run(engine.image("big", root))
    made = connector(name, max_bytes=1 << 20)
    facts = made.collect(
        Request(
            NONCE,
            paths=(
                PathQuestion("/big/file", Read.WHOLE, limit=1 << 30),
                PathQuestion("/big/file2", Read.WHOLE),
                PathQuestion("/big", Read.LIST),
                PathQuestion("/big/loop"),
            ),
        )
    )
    made.close()
    assert facts.paths["/big/file"].state is State.UNREADABLE
    assert facts.paths["/big/file2"].state is State.ABSENT
    assert facts.paths["/big"].state is State.UNREADABLE
    assert facts.paths["/big/loop"].state is State.UNREADABLE
    assert "without a shell" in (facts.paths["/big/loop"].why or "")


def test_no_engine_is_not_a_missing_container(
    running: dict[bool, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    with pytest.raises(Unreachable) as caught:
        ask(running[True])
    assert caught.value.stage == "engine"
    assert f"unix://{tmp_path}/none.sock (DOCKER_HOST)" in str(caught.value)


def test_an_engine_may_be_named_by_the_inventory(running: dict[bool, str]) -> None:
    target = Target(
        "box",
        Address(Scheme.CONTAINER, running[True]),
        variables={"docker_host": "unix:///var/run/docker.sock"},
    )
    made = ContainerConnector(target, timeout=20)
    assert made.apply("echo hi", NOTHING).output == b"hi\n"
    made.close()
