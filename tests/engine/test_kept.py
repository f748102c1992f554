"""Audits that are repeated over connections kept open, against a real server."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from support.client import Client
from support.sshd import Sshd
from support.staying import rested_script

from fleet.cli.main import main
from fleet.connectors import ssh
from fleet.engine.audit import audit
from fleet.engine.context import Context, keeping
from fleet.engine.options import AuditOptions
from fleet.facts.compile import standing_script
from fleet.inventory.model import Address, Scheme, Target
from fleet.systems.catalogue import load_catalogue
from fleet.verifier.run import Run

TARGETS = tuple(
    Target(name, Address(Scheme.SSH, name), systems=("env",), launches=("sh -c",))
    for name in ("one", "two", "three")
)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The home on the hosts, where all has rested for long."""
    home = tmp_path / "home"
    (home / ".config/pi").mkdir(parents=True)
    (home / ".config/pi/.env").write_text("PALACE=here\n")
    return home


@pytest.fixture
def hosts(
    client: Client,
    start_sshd: Callable[..., Sshd],
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Sshd:
    """One server under three names."""
    host = start_sshd(f"SetEnv HOME={home}")
    for target in TARGETS:
        client.host(target.name, host)
    client.know(host.known())
    monkeypatch.setenv("FLEET_SSH_CONFIG", str(client.config))
    monkeypatch.setattr(ssh, "standing_script", rested_script)
    return host


def seen(context: Context) -> Run:
    run = audit(TARGETS, context, AuditOptions())
    assert [r.trouble for r in run.results] == [None, None, None]
    return run


def test_a_second_audit_opens_no_connection_and_finds_the_same(hosts: Sshd) -> None:
    context = Context(load_catalogue())
    with keeping(context):
        first, second = seen(context), seen(context)
        assert len(context.connections) == 3
    assert (hosts.connections, hosts.sessions) == (3, 3)
    assert first.findings == second.findings


def test_a_second_audit_finds_what_changed(hosts: Sshd, home: Path) -> None:
    def modes(run: Run) -> set[int | None]:
        return {r.facts.paths["~/.config/pi/.env"].mode for r in run.results if r.facts}

    context = Context(load_catalogue())
    file = home / ".config/pi/.env"
    file.chmod(0o600)
    with keeping(context):
        assert modes(seen(context)) == {0o600}
        time.sleep(max(0.0, int(file.stat().st_ctime) + 1.05 - time.time()))
        file.chmod(0o644)
        for _ in range(2):
            assert modes(seen(context)) == {0o644}
    assert (hosts.connections, hosts.sessions) == (3, 6)


def test_what_changed_just_now_is_looked_at_anew_each_time(
    hosts: Sshd, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ssh, "standing_script", standing_script)
    context = Context(load_catalogue())
    with keeping(context):
        seen(context)
        seen(context)
    assert (hosts.connections, hosts.sessions) == (3, 6)


def test_a_connection_that_was_cut_between_is_no_failure(hosts: Sshd) -> None:
    context = Context(load_catalogue())
    with keeping(context):
        seen(context)
        hosts.cut()
        seen(context)
    assert (hosts.connections, hosts.sessions) == (6, 6)


def test_what_was_kept_is_closed_at_the_end(hosts: Sshd) -> None:
    context = Context(load_catalogue())
    with keeping(context):
        seen(context)
    seen(context)
    assert not len(context.connections)
    assert hosts.connections == 6


def test_the_command_audits_again_over_the_same_connections(
    hosts: Sshd, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [f"    {t.name}: {{ssh: {t.name}, shell: sh -c}}" for t in TARGETS]
    inventory = tmp_path / "fleet.yml"
    inventory.write_text(
        "groups:\n  every:\n   systems: [env]\n   hosts:\n" + "\n".join(lines) + "\n"
    )
    words = ["audit", "-i", str(inventory), "--times", "3", "--every", "0.1"]
    with pytest.raises(SystemExit):
        main(words)
    told = capsys.readouterr()
    assert told.out.count("as before: 3 targets") == 2, told
    assert (hosts.connections, hosts.sessions) == (3, 3)


@pytest.fixture
def one(
    client: Client,
    start_sshd: Callable[..., Sshd],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Sshd:
    """A host with a home of its own, and an inventory that gives it a file."""
    home = tmp_path / "home"
    home.mkdir()
    host = start_sshd(f"SetEnv HOME={home}")
    client.host("one", host)
    client.know(host.known())
    monkeypatch.setenv("FLEET_SSH_CONFIG", str(client.config))
    (tmp_path / "fleet.yml").write_text(
        "groups:\n  every:\n    systems: [env]\n"
        "    vars: {env_file: ~/kept.env, loader: false, env: {KEPT: here}}\n"
        "    hosts: {one: {ssh: one, shell: sh -c}}\n"
    )
    return host


def provision(folder: Path, *words: str) -> None:
    with pytest.raises(SystemExit):
        main(["provision", "-i", str(folder / "fleet.yml"), *words])


def test_a_provision_plans_changes_and_verifies_over_one_connection(
    one: Sshd, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    provision(tmp_path, "--yes")
    assert "KEPT" in (tmp_path / "home/kept.env").read_text(), capsys.readouterr()
    assert (one.connections, one.sessions) == (1, 3)


def test_a_connection_that_dies_while_somebody_thinks_is_opened_anew(
    one: Sshd,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def thinking(*_: object) -> bool:
        one.cut()
        return True

    monkeypatch.setattr("fleet.cli.deploying.agreed", thinking)
    provision(tmp_path)
    assert "KEPT" in (tmp_path / "home/kept.env").read_text(), capsys.readouterr()
    assert (one.connections, one.sessions) == (2, 3)
