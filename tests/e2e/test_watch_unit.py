"""A machine with a systemd of its own: fleet installs its watch there, and its nightly timer."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import docker
import pytest
from click.testing import CliRunner
from support.base_image import PACKAGES, import_image
from support.places import ROOT
from support.rig import (
    LABELS,
    NAME,
    RUN,
    SshHost,
    executed,
    python_packages,
    ssh_files,
    wait_for_banner,
)

from fleet.cli.main import cli

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

IMAGE = f"fleet-e2e-systemd:{RUN}"
PATIENCE = 60.0
WATCHED = "systems: [mempalace-bridge]\nhosts: {here: {local: , shell: bash -lc}}\n"
INVENTORY = """\
systems: [fleet-watch]
hosts:
  desk:
    ssh: root@desk
    shell: bash -lc
    vars:
      watch_system: true
      watch_user: root
      watch_mode: MODE
      watch_every: 1s
      watch_inventory: /etc/fleet/fleet.yml
      watch_metrics: METRICS
      watch_env: /etc/fleet/watch.env
      fleet_bin: BIN
"""
METRICS = "/var/lib/node exporter/fleet.prom"


@pytest.fixture(scope="module")
def machine(engine: docker.DockerClient, scratch: Path) -> Iterator[SshHost]:
    """Boot a machine that has fleet, and an inventory of itself."""
    packages = [*PACKAGES, *python_packages(), "systemd-sysv"]
    import_image(engine, IMAGE, scratch, packages=packages)
    key = scratch / "id_watch"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    shared = {str(ROOT), sys.prefix, sys.base_prefix}
    container = engine.containers.run(
        IMAGE,
        ["/lib/systemd/systemd"],
        name=f"{NAME}-systemd",
        detach=True,
        labels=LABELS,
        environment={"container": "docker"},
        cap_add=["SYS_ADMIN"],  # systemd mounts control groups, in a namespace of its own
        cgroupns="private",
        security_opt=["seccomp=unconfined", "apparmor=unconfined"],
        tmpfs=dict.fromkeys(("/run", "/run/lock", "/sys/fs/cgroup"), ""),
        volumes={path: {"bind": path, "mode": "ro"} for path in shared if path != "/usr"},
    )
    try:
        host = SshHost("desk", "", key, container, "")
        booted = "systemctl is-system-running 2>/dev/null || :"
        until(lambda: host.run(booted, user="root").strip() in {"running", "degraded"})
        public = key.with_suffix(".pub").read_text().strip()
        host.run(
            f"""set -e
            systemctl stop ssh.socket ssh.service || :
            mkdir -p /root/.ssh /run/sshd /etc/fleet '/var/lib/node exporter' /var/empty
            echo '{public}' >/root/.ssh/authorized_keys
            printf '{WATCHED}' >/etc/fleet/fleet.yml
            ssh-keygen -A >/dev/null && /usr/sbin/sshd""",
            user="root",
        )
        container.reload()
        address = str(container.attrs["NetworkSettings"]["IPAddress"])
        wait_for_banner(address, 22)
        words = executed(container, ["cat", "/etc/ssh/ssh_host_ed25519_key.pub"]).split()
        yield SshHost("desk", address, key, container, f"{words[0]} {words[1]}")
    finally:
        container.remove(force=True, v=True)
        engine.images.remove(IMAGE, force=True)


@dataclass(frozen=True)
class Desk:
    """The machine, and how fleet comes to it."""

    host: SshHost
    folder: Path

    def fleet(self, mode: str, *words: str) -> tuple[int, str]:
        """Run a command of fleet on it."""
        inventory = self.folder / "fleet.yml"
        told = {"MODE": mode, "METRICS": METRICS, "BIN": f"{sys.prefix}/bin/fleet"}
        text = INVENTORY
        for name, value in told.items():
            text = text.replace(name, value)
        inventory.write_text(text)
        ended = CliRunner().invoke(cli, [*words, "-i", str(inventory)])
        return ended.exit_code, ended.output

    def systemctl(self, words: str) -> str:
        """Ask its systemd; what is not so is told by a word, and no error."""
        return self.host.run(f"systemctl {words} || :", user="root").strip()

    def log(self) -> str:
        """Return what the service said last."""
        return self.host.run("journalctl -u fleet-watch --no-pager -n 60 || :", user="root")


@pytest.fixture
def desk(machine: SshHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    monkeypatch.setenv("FLEET_HISTORY", str(tmp_path / "h.db"))
    with ssh_files(tmp_path, [machine]) as config:
        monkeypatch.setenv("FLEET_SSH_CONFIG", str(config))
        yield Desk(machine, tmp_path)


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end
        time.sleep(0.2)


def test_a_watch_runs_and_ends_as_systemd_wants_it(desk: Desk) -> None:
    code, told = desk.fleet("service", "provision", "--yes", "--no-diff")
    assert code == 0, told
    assert desk.systemctl("is-enabled fleet-watch") == "enabled"
    health = "curl -fsS http://127.0.0.1:9469/healthz || :"
    until(lambda: "ok, " in desk.host.run(health, user="root"))
    assert 'fleet_target_up{target="here"} 1.0' in desk.host.run(
        "curl -fsS http://127.0.0.1:9469/metrics", user="root"
    )
    until(lambda: "fleet/history.db" in desk.host.run("ls /var/lib/fleet/*", user="root"))
    assert desk.fleet("service", "plan")[0] == 0
    assert desk.fleet("service", "audit")[0] == 0

    before = desk.systemctl("show -p MainPID --value fleet-watch")
    desk.systemctl("restart fleet-watch")
    assert desk.systemctl("is-active fleet-watch") == "active"
    assert desk.systemctl("show -p MainPID --value fleet-watch") != before
    desk.systemctl("stop fleet-watch")  # it has hardly begun
    assert desk.systemctl("show -p Result --value fleet-watch") == "success", desk.log()
    desk.systemctl("start fleet-watch")
    until(lambda: "ok, " in desk.host.run(health, user="root"))
    desk.systemctl("stop fleet-watch")
    assert desk.systemctl("show -p Result --value fleet-watch") == "success", desk.log()
    assert desk.systemctl("show -p ExecMainStatus --value fleet-watch") == "0"
    code, told = desk.fleet("service", "audit")
    assert (code, "watch.runs" in told) == (2, True), told

    assert desk.fleet("service", "uninstall", "--yes")[0] == 0
    assert "fleet-watch" not in desk.systemctl("list-unit-files --no-pager")


def test_a_timer_audits_and_writes_metrics(desk: Desk) -> None:
    code, told = desk.fleet("timer", "provision", "--yes", "--no-diff")
    assert code == 0, told
    assert "fleet-audit.timer" in desk.systemctl("list-timers --no-pager")
    assert desk.systemctl("is-enabled fleet-audit.timer") == "enabled"
    desk.systemctl("start fleet-audit.service")  # as the timer does it, and waits for its end
    assert desk.systemctl("show -p ExecMainStatus --value fleet-audit") == "2"
    assert desk.systemctl("show -p Result --value fleet-audit") == "success"
    metrics = desk.host.run(f"cat '{METRICS}'", user="root")
    assert 'fleet_run_exit_code{command="audit"} 2.0' in metrics
    assert desk.fleet("timer", "plan")[0] == 0
    assert desk.fleet("timer", "uninstall", "--yes")[0] == 0
    assert "fleet-audit" not in desk.systemctl("list-timers --all --no-pager")
