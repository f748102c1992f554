"""Hosts that accept a connection and never answer, beside hosts that do: real sockets, real ssh."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
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


class Mute:
    """A server that lets anybody in, and says nothing until it hangs up on all of them."""

    def __init__(self) -> None:
        self._server = socket.create_server(("127.0.0.1", 0), backlog=50)
        self.port: int = self._server.getsockname()[1]
        self._peers: list[socket.socket] = []
        self._thread = threading.Thread(target=self._accept)
        self._thread.start()

    def _accept(self) -> None:
        while True:
            peer, _ = self._server.accept()
            if peer.getpeername() == self._last:
                peer.close()
                return
            self._peers.append(peer)

    _last: object = None

    def hang_up(self) -> None:
        """Let nobody in any more, and let go of those who are in."""
        with socket.socket() as knock:
            knock.bind(("127.0.0.1", 0))
            self._last = knock.getsockname()
            knock.connect(("127.0.0.1", self.port))
            self._thread.join()
        self._server.close()
        for peer in self._peers:
            peer.close()


class Heard(NullObserver):
    """Remembers what was told, in order; when enough have been judged the silent ones hang up."""

    def __init__(self, mute: Mute, enough: int) -> None:
        self.finished: list[str] = []
        self.judged: list[str] = []
        self._mute, self._enough = mute, enough

    def target_finished(self, name: str, ok: bool, note: str) -> None:
        self.finished.append(name)

    def target_judged(self, name: str, ok: bool, note: str) -> None:
        self.judged.append(name)
        if len(self.judged) == self._enough:
            self._mute.hang_up()


@pytest.fixture
def mute() -> Mute:
    return Mute()


@pytest.fixture
def hosts(client: Client, sshd: Sshd, mute: Mute, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An ssh configuration with hosts that answer, and hosts that say nothing for two minutes."""
    for name in MUTE:
        client.host(name, sshd, "ConnectTimeout 120", port=mute.port)
    for name in GOOD:
        client.host(name, sshd)
    client.know(sshd.known())
    monkeypatch.setenv("FLEET_SSH_CONFIG", str(client.config))
    return client.config


@pytest.mark.usefixtures("hosts")
def test_who_never_answers_costs_nobody_else(mute: Mute, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fleet.engine.crews.SLOW_SECONDS", 0.2)
    heard = Heard(mute, len(GOOD))
    run = audit(TARGETS, Context(load_catalogue()), AuditOptions(jobs=2, timeout=120), heard)
    assert sorted(heard.judged[: len(GOOD)]) == sorted(GOOD), "they are told as they come"
    assert heard.judged == heard.finished
    assert tuple(r.target.name for r in run.results) == NAMES, "the report is in order"
    verdicts = {r.target.name: {f.verdict for f in r.findings} for r in run.results}
    assert all((Verdict.UNREACHABLE in verdicts[name]) == (name in MUTE) for name in NAMES)


@pytest.mark.usefixtures("hosts")
def test_an_interrupt_waits_for_nobody_who_never_answers(mute: Mute, tmp_path: Path) -> None:
    lines = [f"    {name}: {{ssh: {name}, shell: sh -c}}" for name in MUTE]
    inventory = tmp_path / "fleet.yml"
    inventory.write_text(
        "groups:\n  silent:\n   systems: [env]\n   hosts:\n" + "\n".join(lines) + "\n"
    )
    words = [sys.executable, "-m", "fleet", "audit", "-i", str(inventory), "--timeout", "120"]
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ}
    ) as process:
        while not _connected(process.pid):
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)  # half of what it would wait for otherwise
    mute.hang_up()
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
