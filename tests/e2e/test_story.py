"""The whole story on real targets: provision, audit, break one thing at a time, uninstall.

The tests run in the order they stand in, on one fleet: three ssh hosts, a palace that compose
keeps, a running container and four images in the engine.
"""

import os
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import docker
import pytest
from support.loopback import free_port
from support.rig import NAME, PALACE, SshHost, docker0
from support.story import DATES, IMAGE, INVENTORY, TOKEN, Fleet, devbox, wait_for_port

from fleet.connectors.base import Connector
from fleet.connectors.registry import connect
from fleet.data import shipped
from fleet.demo.bake import bake
from fleet.demo.history import BRIDGE, bridge_of
from fleet.inventory.model import Target

pytestmark = pytest.mark.e2e

HOSTS = ("alpha", "beta", "gamma")
GOOD = {"pass", "warn", "not-applicable"}


@pytest.fixture(scope="module")
def fleet(
    engine: docker.DockerClient, hosts: dict[str, SshHost], compose_client: Path, scratch: Path
) -> Iterator[Fleet]:
    port = free_port(docker0())
    vault = scratch / "vault"
    (vault / ".local/bin").mkdir(parents=True)
    (vault / ".local/bin/docker-compose").symlink_to(compose_client)
    inventory = scratch / "fleet.yml"
    inventory.write_text(
        INVENTORY.format(
            docker0=docker0(), port=port, vault=vault, palace=PALACE, name=NAME, image=IMAGE
        )
    )
    os.environ["FLEET_E2E_TOKEN"] = TOKEN
    for date in DATES:
        bridge = (shipped("toolkit") / BRIDGE).read_bytes() if date == DATES[-1] else b""
        archive = scratch / f"{date}.tar"
        bake(archive, bridge or bridge_of(f"{date}.ts"), date=date, docker=f"{IMAGE}:{date}")
        engine.images.load(archive.read_bytes())
    (scratch / "empty.tar").write_bytes(b"\0" * 10240)
    engine.api.import_image(str(scratch / "empty.tar"), repository=IMAGE, tag="empty")
    devbox(engine, f"http://{docker0()}:{port}/mcp", TOKEN)
    made = Fleet(inventory, vault, port, hosts, engine)
    made.before = {name: host.snapshot() for name, host in hosts.items()}
    yield made
    for container in engine.containers.list(
        all=True, filters={"label": f"com.docker.compose.project={NAME}"}
    ):
        container.remove(force=True, v=True)
    for volume in engine.volumes.list(filters={"name": NAME}):
        volume.remove(force=True)
    for network in engine.networks.list(names=[f"{NAME}_default"]):
        network.remove()
    for tag in (*DATES, "empty"):
        engine.images.remove(f"{IMAGE}:{tag}", force=True)
    del os.environ["FLEET_E2E_TOKEN"]


def test_01_the_palace_is_deployed_and_proved(fleet: Fleet) -> None:
    code, output = fleet.run("provision", "serve-palace", "--limit", "vault", "--yes")
    assert code == 0, output
    _, found = fleet.audit("vault")
    for gate, finding in found["vault"].items():
        wanted = {"pass", "warn"} if gate == "serve.health" else {"pass"}  # nothing is in it yet
        assert finding["verdict"] in wanted, finding
    assert (fleet.vault / "serve/.env").stat().st_mode & 0o777 == 0o600
    assert "port is already allocated" not in output


def test_02_the_hosts_are_provisioned_and_their_audit_passes(fleet: Fleet) -> None:
    limit = ("--limit", "vault", "--limit", "machines")
    code, output = fleet.run("provision", "flip-to-remote", *limit, "--yes")
    assert code == 0, output
    for name in HOSTS:
        assert fleet.failing(name) == {}
    _, found = fleet.audit("machines")
    for name in HOSTS:
        for gate in ("bridge.placed", "env.file", "env.mode", "env.loaded", "flip.path"):
            assert found[name][gate]["verdict"] == "pass", found[name][gate]


def test_03_a_second_run_changes_nothing_in_one_round_trip(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Connector] = []

    def counting(target: Target, *, timeout: float) -> Connector:
        opened.append(connect(target, timeout=timeout))
        return opened[-1]

    monkeypatch.setattr("fleet.connectors.registry.connect", counting)
    code, output = fleet.run("provision", "--limit", "machines", "--limit", "vault", "--yes")
    assert code == 0, output
    assert "nothing to change" in output
    assert [(c.connects, c.round_trips) for c in opened] == [(1, 1)] * 4
    opened.clear()
    fleet.audit("machines", "devbox", "kind=image")
    assert [(c.connects, c.round_trips) for c in opened] == [(1, 1)] * 8


def test_04_container_and_images_are_judged_by_content(fleet: Fleet) -> None:
    code, found = fleet.audit("devbox", "kind=image")
    assert code == 2
    assert {
        g: f for g, f in found["devbox"].items() if f["required"] and f["verdict"] not in GOOD
    } == {}
    assert found["devbox"]["env.loaded"]["verdict"] == "pass"
    assert found["devbox"]["flip.path"]["verdict"] == "pass"
    assert found["image-2026-08-10"]["bridge.feed"]["verdict"] == "fail"
    assert found["image-2026-08-12"]["bridge.feed"]["verdict"] == "pass"
    assert found["image-2026-08-12"]["bridge.stamp"]["verdict"] == "fail"
    assert found["image-2026-08-25"]["bridge.stamp"]["verdict"] == "pass"
    assert found["image-empty"]["bridge.placed"]["verdict"] == "fail"
    assert found["image-empty"]["bridge.feed"]["follows"] == "bridge.placed"


def test_04_the_palace_is_seen_from_three_places(fleet: Fleet) -> None:
    _, found = fleet.audit()
    told = found["fleet"]["fleet.reach"]
    assert told["verdict"] == "pass", told
    rows = str(told["evidence"])
    assert "controller: want not declared, got an answer" in rows
    assert "host alpha, beta, gamma, vault: want" in rows or "host alpha, beta, gamma: want" in rows
    assert "container devbox: want an answer, got an answer" in rows
    assert found["fleet"]["fleet.palace"]["verdict"] == "pass", found["fleet"]["fleet.palace"]
    assert found["fleet"]["fleet.devices"]["verdict"] == "pass", found["fleet"]["fleet.devices"]
    # A container whose network is taken away no longer reaches it, where all others do.
    network = fleet.engine.networks.get("bridge")
    network.disconnect(f"{NAME}-devbox")
    try:
        _, found = fleet.audit()
    finally:
        network.connect(f"{NAME}-devbox")
    told = found["fleet"]["fleet.reach"]
    assert told["verdict"] == "fail", told
    assert "is not reached from every container" in str(told["message"])


@dataclass(frozen=True)
class Break:
    """One thing that goes wrong: how it is done, undone, and which gate must say so."""

    about: str
    gate: str
    told: str
    do: str
    undo: str
    host: str = "alpha"


LINK = ".pi/agent/extensions/mempalace.ts"
BREAKS = (
    Break(
        "dangling link",
        "bridge.placed",
        "dangling link",
        f"mv mempalace-toolkit/{BRIDGE} kept",
        f"mv kept mempalace-toolkit/{BRIDGE}",
    ),
    Break(
        "old bridge",
        "bridge.stamp",
        "cannot stamp",
        f"cp -p mempalace-toolkit/{BRIDGE} kept; "
        f"sed -i 's/MEMPALACE_PI_DEVICE/MEMPALACE_PI_D/g' mempalace-toolkit/{BRIDGE}",
        f"cp -p kept mempalace-toolkit/{BRIDGE}; rm kept",
    ),
    Break(
        "cut bridge",
        "bridge.whole",
        "cut off",
        f"cp -p mempalace-toolkit/{BRIDGE} kept; head -c 900 kept > mempalace-toolkit/{BRIDGE}",
        f"cp -p kept mempalace-toolkit/{BRIDGE}; rm kept",
    ),
    Break(
        "hidden by an index",
        "bridge.seen",
        "index.ts hides",
        ": > .pi/agent/extensions/index.ts",
        "rm .pi/agent/extensions/index.ts",
    ),
    Break(
        "wide rights",
        "env.mode",
        "mode 0644",
        "chmod 644 .config/pi/.env",
        "chmod 600 .config/pi/.env",
    ),
    Break(
        "env not loaded (bash -lc)",
        "env.loaded",
        "MEMPALACE_REMOTE_URL is not set",
        "cp -p .profile kept; : > .profile",
        "cp -p kept .profile; rm kept",
    ),
    Break(
        "env not loaded (zsh -ic)",
        "env.loaded",
        "zsh -ic",
        "cp -p .zshrc kept; : > .zshrc",
        "cp -p kept .zshrc; rm kept",
        host="beta",
    ),
)


@pytest.mark.parametrize("case", BREAKS, ids=lambda case: case.about)
def test_05_one_broken_thing_fails_its_gate_and_no_other(fleet: Fleet, case: Break) -> None:
    host = fleet.hosts[case.host]
    host.run(f"cd ~ && {case.do}")
    try:
        failing = fleet.failing(case.host)
    finally:
        host.run(f"cd ~ && {case.undo}")
    assert list(failing) == [case.gate], failing
    assert case.told in failing[case.gate]
    assert fleet.failing(case.host) == {}


@pytest.mark.parametrize("about", ["wide rights", "env not loaded (bash -lc)"])
def test_05_fix_puts_a_host_right(fleet: Fleet, about: str) -> None:
    case = next(case for case in BREAKS if case.about == about)
    fleet.hosts[case.host].run(f"cd ~ && {case.do}")
    assert list(fleet.failing(case.host)) == [case.gate]
    code, output = fleet.run("fix", case.gate, "--limit", case.host, "--yes")
    fixed = fleet.failing(case.host)
    fleet.hosts[case.host].run(f"cd ~ && {case.undo}")
    assert code == 0, output
    assert fixed == {}


def test_05_fix_puts_the_server_s_secret_right(fleet: Fleet) -> None:
    env = fleet.vault / "serve/.env"
    env.chmod(0o644)
    assert list(fleet.failing("vault")) == ["serve.token"]
    code, output = fleet.run("fix", "serve.token", "--limit", "vault", "--yes")
    assert code == 0, output
    assert env.stat().st_mode & 0o777 == 0o600


def test_06_a_wrong_token_is_told_where_it_is(fleet: Fleet) -> None:
    host = fleet.hosts["alpha"]
    host.run("cd ~ && cp -p .config/pi/.env kept && sed -i s/canary/wrong/ .config/pi/.env")
    try:
        failing = fleet.failing("alpha")
    finally:
        host.run("cd ~ && cp -p kept .config/pi/.env && rm kept")
    assert list(failing) == ["env.file"], failing
    assert "MEMPALACE_REMOTE_TOKEN is not the declared value" in failing["env.file"]


def test_07_a_container_with_an_old_token_must_be_recreated(fleet: Fleet) -> None:
    url = f"http://{docker0()}:{fleet.port}/mcp"
    devbox(fleet.engine, url, "tok-EXAMPLE-old")
    failing = fleet.failing("devbox")
    assert list(failing) == ["env.container"]
    assert "MEMPALACE_REMOTE_TOKEN is not the declared value" in failing["env.container"]
    devbox(fleet.engine, url, TOKEN)
    assert fleet.failing("devbox") == {}


def test_08_a_host_that_is_down_is_unreachable_and_stops_no_other(fleet: Fleet) -> None:
    fleet.hosts["gamma"].container.pause()
    try:
        started = time.monotonic()
        code, output = fleet.run("audit", "--limit", "machines", "--timeout", "8")
        assert time.monotonic() - started < 60
    finally:
        fleet.hosts["gamma"].container.unpause()
    assert code == 3, output
    assert "gamma" in output
    assert fleet.failing("alpha") == {}


def test_09_a_changed_host_key_is_refused_with_the_fix(fleet: Fleet) -> None:
    known = fleet.inventory.parent / "known_hosts"
    before = known.read_text()
    other = fleet.hosts["beta"].host_key
    lines = [
        f"{fleet.hosts['alpha'].address} {other}\n"
        if fleet.hosts["alpha"].host_key in line
        else line
        for line in before.splitlines(keepends=True)
    ]
    known.write_text("".join(lines))
    try:
        code, output = fleet.run("audit", "--limit", "alpha")
    finally:
        known.write_text(before)
    assert code == 3
    assert "ssh-keygen -R" in output, output


def recreate(fleet: Fleet) -> None:
    """Bring the palace up by hand, past fleet, as an operator in a hurry does."""
    folder = fleet.vault / "serve"
    words = [
        str(fleet.vault / ".local/bin/docker-compose"),
        "-f",
        str(folder / "compose.yml"),
        "--env-file",
        str(folder / ".env"),
        "-p",
        NAME,
        "up",
        "-d",
    ]
    subprocess.run(words, check=True, capture_output=True, timeout=120)
    wait_for_port(docker0(), fleet.port)


def test_10_a_palace_published_to_the_lan_fails_its_bind(fleet: Fleet) -> None:
    compose = fleet.vault / "serve/compose.yml"
    before = compose.read_text()
    compose.write_text(before.replace(f"{docker0()}:", "0.0.0.0:"))
    recreate(fleet)
    try:
        _, found = fleet.audit("vault")
        failing = {
            g: f
            for g, f in found["vault"].items()
            if f["required"] and f["verdict"] in ("fail", "error")
        }
    finally:
        code, output = fleet.run("fix", "serve.bind", "--limit", "vault", "--yes", "--adopt")
    assert list(failing) == ["serve.bind"], failing
    drift = found["vault"]["serve.compose"]
    assert drift["verdict"] == "fail", drift
    assert "the compose file differs from its rendering" in str(drift["evidence"])
    assert code == 0, output
    assert fleet.failing("vault") == {}


def test_10_a_container_changed_by_hand_has_drifted(fleet: Fleet) -> None:
    (palace,) = fleet.engine.containers.list(
        filters={"label": f"com.docker.compose.project={NAME}"}
    )

    def restart(policy: str) -> None:
        words = ["docker", "update", "--restart", policy, str(palace.id)]
        subprocess.run(words, check=True, capture_output=True, timeout=60)

    restart("no")
    _, found = fleet.audit("vault")
    code, planned = fleet.run("plan", "--limit", "vault")
    applied, output = fleet.run("apply", "--limit", "vault", "--yes")
    drift = found["vault"]["serve.compose"]
    assert drift["verdict"] == "fail", drift
    assert drift["evidence"] == [f"{palace.name}: restart is no, the file says unless-stopped"]
    # It would not end by itself: its idle hours are off.
    assert found["vault"]["serve.stays"]["verdict"] == "pass"
    assert code == 2, planned
    assert "restart is no, the file says unless-stopped" in " ".join(planned.split())
    assert applied == 0, output
    _, found = fleet.audit("vault")
    assert found["vault"]["serve.compose"]["verdict"] == "pass"
    code, planned = fleet.run("plan", "--limit", "vault")
    assert code == 0, planned


def test_10_a_container_of_another_file_is_recreated_though_the_file_is_right(
    fleet: Fleet,
) -> None:
    compose = fleet.vault / "serve/compose.yml"
    before = compose.read_text()
    compose.write_text(before.replace(f"{docker0()}:", "0.0.0.0:"))
    recreate(fleet)
    compose.write_text(before)

    code, planned = fleet.run("plan", "--limit", "vault")
    applied, output = fleet.run("apply", "--limit", "vault", "--yes")

    assert code == 2, planned
    assert f"does not publish {docker0()}:{fleet.port}" in " ".join(planned.split())
    assert applied == 0, output
    code, planned = fleet.run("plan", "--limit", "vault")
    assert code == 0, planned
    assert fleet.failing("vault") == {}


def test_11_a_palace_of_another_path_is_told_by_its_clients_and_its_host(fleet: Fleet) -> None:
    text = fleet.inventory.read_text()
    fleet.inventory.write_text(text.replace("palace_path: /data/palace", "palace_path: /data/p2"))
    try:
        alpha = fleet.failing("alpha")
    finally:
        fleet.inventory.write_text(text)
    assert list(alpha) == ["flip.path"], alpha
    assert "serves /data/palace, declared is /data/p2" in alpha["flip.path"]


def test_12_a_palace_recreated_with_another_token_shuts_its_clients_out(fleet: Fleet) -> None:
    env = fleet.vault / "serve/.env"
    before, status = env.read_text(), env.stat()
    env.write_text(before.replace("canary", "other"))
    recreate(fleet)
    try:
        failing = fleet.failing("vault")
        client = fleet.failing("alpha")
        _, told = fleet.audit("alpha")
    finally:
        env.write_text(before)
        os.utime(env, ns=(status.st_atime_ns, status.st_mtime_ns))
        code, output = fleet.run("apply", "--limit", "vault", "--yes", "--adopt")
    assert list(failing) == ["serve.auth"], failing
    assert list(client) == ["flip.path"], client
    assert "401" in str(told["alpha"]["flip.symptom"]["message"])
    assert code == 0, output
    assert fleet.failing("vault") == {}


def test_13_uninstall_leaves_every_host_as_it_was(fleet: Fleet) -> None:
    code, output = fleet.run("uninstall", "--limit", "machines", "--limit", "vault", "--yes")
    assert code == 0, output
    for name, host in fleet.hosts.items():
        assert host.snapshot() == fleet.before[name]
    # The compose file that was edited by hand and adopted is put back; all else is gone.
    left = sorted(str(p.relative_to(fleet.vault)) for p in fleet.vault.rglob("*") if not p.is_dir())
    assert left == [".local/bin/docker-compose", "serve/compose.yml"]
    assert "0.0.0.0:" in (fleet.vault / "serve/compose.yml").read_text()
    containers = fleet.engine.containers.list(
        all=True, filters={"label": f"com.docker.compose.project={NAME}"}
    )
    assert containers == []


def test_14_no_token_was_printed_anywhere(fleet: Fleet) -> None:
    assert fleet.printed
    assert TOKEN not in "".join(fleet.printed)
