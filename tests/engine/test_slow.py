"""Hosts that accept a connection and never answer, beside hosts that do: real sockets, real ssh."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.client import Client
from support.sshd import Sshd

from fleet.engine.audit import audit
from fleet.engine.context import Context
from fleet.engine.observer import NullObserver
from fleet.engine.options import AuditOptions
from fleet.inventory.model import Address, Scheme, Target
from fleet.systems.catalogue import load_catalogue
from fleet.verifier.model import Verdict

MUTE = ("mute-1", "mute-2", "mute-3")
GOOD = tuple(f"good-{n}" for n in range(9))
# The silent ones come first, and there are more of them than places.
NAMES = (*MUTE, *GOOD)
TARGETS = tuple(
    Target(name, Address(Scheme.SSH, name), systems=("env",), launches=("sh -c",)) for name in NAMES
)


class Heard(NullObserver):
    """Remembers what was told, in order."""

    def __init__(self) -> None:
        self.finished: list[str] = []
        self.judged: list[str] = []

    def target_finished(self, name: str, ok: bool, note: str) -> None:
        self.finished.append(name)

    def target_judged(self, name: str, ok: bool, note: str) -> None:
        self.judged.append(name)


@pytest.fixture
def hosts(client: Client, sshd: Sshd, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An ssh configuration with hosts that answer, and hosts that say nothing for three seconds."""
    with socket.create_server(("127.0.0.1", 0), backlog=50) as server:
        for name in MUTE:
            client.host(name, sshd, "ConnectTimeout 3", port=server.getsockname()[1])
        for name in GOOD:
            client.host(name, sshd)
        client.know(sshd.known())
        monkeypatch.setenv("FLEET_SSH_CONFIG", str(client.config))
        yield client.config


@pytest.mark.usefixtures("hosts")
def test_who_never_answers_costs_nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fleet.engine.crews.SLOW_SECONDS", 0.2)
    heard = Heard()
    run = audit(TARGETS, Context(load_catalogue()), AuditOptions(jobs=2), heard)
    assert sorted(heard.judged[: len(GOOD)]) == sorted(GOOD), "they are told as they come"
    assert heard.judged == heard.finished
    assert tuple(r.target.name for r in run.results) == NAMES, "the report is in order"
    verdicts = {r.target.name: {f.verdict for f in r.findings} for r in run.results}
    assert all((Verdict.UNREACHABLE in verdicts[name]) == (name in MUTE) for name in NAMES)


@pytest.mark.usefixtures("hosts")
def test_one_at_a_time_is_one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fleet.engine.crews.SLOW_SECONDS", 0.2)
    heard = Heard()
    audit(TARGETS[2:5], Context(load_catalogue()), AuditOptions(jobs=1), heard)
    assert heard.judged == ["mute-3", "good-0", "good-1"]


def test_an_interrupt_waits_for_nobody_who_never_answers(hosts: Path, tmp_path: Path) -> None:
    lines = [f"    {name}: {{ssh: {name}, shell: sh -c}}" for name in MUTE]
    inventory = tmp_path / "fleet.yml"
    inventory.write_text(
        "groups:\n  silent:\n   systems: [env]\n   hosts:\n" + "\n".join(lines) + "\n"
    )
    hosts.write_text(hosts.read_text().replace("ConnectTimeout 3", "ConnectTimeout 120"))
    words = [sys.executable, "-m", "fleet", "audit", "-i", str(inventory), "--timeout", "120"]
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ}
    ) as process:
        while not _connected(process.pid):
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)  # half of what it would wait for otherwise
    assert (process.returncode, out, err.strip()) == (130, "", "interrupted")


def _connected(pid: int) -> int:
    """Count the sockets of a process."""
    found = 0
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        try:
            found += str(entry.readlink()).startswith("socket:")
        except FileNotFoundError:
            continue
    return found
