"""A deep check over ssh: the target's own pi, on the far side of a connection."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.client import Client
from support.deep import Machine
from support.sshd import Sshd
from support.tools import pi_tool

from fleet.probes.deep.script import deep_script, read_deep
from fleet.secrets import Secret

pytestmark = [pytest.mark.network, pytest.mark.usefixtures("no_thread_is_left")]
NONCE = "deep-over-ssh"


def test_pi_is_run_on_the_far_side(client: Client, sshd: Sshd, tmp_path: Path) -> None:
    machine = Machine.healthy(tmp_path, pi_tool())
    machine.inventory()
    scratch = tmp_path / "tmp"
    scratch.mkdir()
    client.host("far", sshd)
    client.know(sshd.known())
    connector = client.connect("far", timeout=90)
    script = deep_script(
        nonce=NONCE,
        seconds=60,
        launch=f"env HOME={machine.home} bash -lc",
        agent_dir="~/.pi/agent",
        assume=False,
    )
    outcome = connector.apply(f"TMPDIR={scratch}; export TMPDIR\n{script}", Secret(""))
    fact = read_deep(outcome.output, nonce=NONCE, launch="bash -lc")
    assert (fact.state, fact.pi_version, fact.device) == ("ran", "1.6.0", "laptop")
    assert {run.name: run.answered for run in fact.runs} == dict.fromkeys(
        ("healthy", "again", "dead", "refused", "silent"), True
    )
    assert list(scratch.iterdir()) == []
    assert (connector.connects, connector.round_trips) == (1, 1)
