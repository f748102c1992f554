"""Connections that stay open between two uses, against real servers."""

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.client import Client
from support.sshd import Sshd

from fleet.connectors.base import Connector
from fleet.connectors.connections import Connections
from fleet.connectors.local import LocalConnector
from fleet.errors import ProbeError, Unreachable
from fleet.inventory.model import Address, Become, Scheme, Target
from fleet.secrets import Secret

NOTHING = Secret("")
PALACE = Target("palace", Address(Scheme.SSH, "palace"))
pytestmark = pytest.mark.usefixtures("no_thread_is_left")
StartSshd = Callable[..., Sshd]


@pytest.fixture
def palace(client: Client, sshd: Sshd, monkeypatch: pytest.MonkeyPatch) -> Client:
    """A client whose configuration is the one that is read."""
    client.host("palace", sshd)
    client.host("other", sshd)
    client.know(sshd.known())
    monkeypatch.setenv("FLEET_SSH_CONFIG", str(client.config))
    return client


@pytest.fixture
def kept() -> Iterator[Connections]:
    connections = Connections(keep=True)
    yield connections
    connections.close()


def said(connections: Connections, target: Target = PALACE, *, timeout: float = 20) -> Connector:
    with connections.to(target, timeout=timeout) as connector:
        assert connector.apply("echo hello", NOTHING).output == b"hello\n"
    return connector


@pytest.mark.usefixtures("palace")
def test_a_second_use_opens_no_connection(sshd: Sshd, kept: Connections) -> None:
    assert said(kept) is said(kept)
    assert (sshd.connections, sshd.sessions) == (1, 2)


@pytest.mark.usefixtures("palace")
def test_unless_they_are_to_be_kept_they_are_closed(sshd: Sshd) -> None:
    connections = Connections()
    for _ in range(2):
        said(connections)
        assert not len(connections)
    assert sshd.connections == 2


@pytest.mark.usefixtures("palace")
def test_closing_closes_what_is_kept_and_keeps_no_more(sshd: Sshd, kept: Connections) -> None:
    with kept.to(PALACE, timeout=20) as lent:
        lent.apply("echo hello", NOTHING)
        kept.close()
    assert not len(kept)
    assert not lent.open  # type: ignore[attr-defined]  # it leads to a host
    said(kept)
    assert sshd.connections == 2


@pytest.mark.usefixtures("palace")
def test_one_that_was_cut_meanwhile_is_opened_anew(sshd: Sshd, kept: Connections) -> None:
    said(kept)
    sshd.cut()
    connector = said(kept)  # at once: it may not know yet that it was cut
    assert connector.connects == 2
    assert (sshd.connections, sshd.sessions) == (2, 2)


@pytest.mark.usefixtures("palace")
def test_one_that_has_gone_silent_is_opened_anew(
    sshd: Sshd, kept: Connections, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As behind a firewall that has forgotten it: nothing comes back, and nothing is refused."""
    monkeypatch.setattr("fleet.connectors.ssh.FIRST_WORD", 0.5)
    said(kept)
    sshd.freeze()
    connector = said(kept)
    assert (connector.connects, sshd.sessions) == (2, 2)
    sshd.cut()


@pytest.mark.usefixtures("palace")
def test_what_is_being_done_is_not_done_twice(
    sshd: Sshd, kept: Connections, tmp_path: Path
) -> None:
    """A connection that is cut while its program runs is told, not tried again."""
    ran = tmp_path / "ran"

    def use() -> None:
        with kept.to(PALACE, timeout=20) as connector:
            connector.apply(f"echo x >> {ran}; sleep 30", NOTHING)

    def cut_once_it_runs() -> None:
        while not ran.exists():
            time.sleep(0.01)
        sshd.cut()

    said(kept)
    cutter = threading.Thread(target=cut_once_it_runs)
    cutter.start()
    with pytest.raises(Unreachable, match="cut after"):
        use()
    cutter.join()
    assert ran.read_text() == "x\n"
    assert not len(kept)


@pytest.mark.usefixtures("palace")
def test_one_that_was_used_in_vain_is_not_used_again(sshd: Sshd, kept: Connections) -> None:
    def use() -> None:
        with kept.to(PALACE, timeout=20) as connector:
            connector.apply("echo hello", NOTHING)
            raise ProbeError("not what was asked for")

    with pytest.raises(ProbeError):
        use()
    said(kept)
    assert sshd.connections == 2


@pytest.mark.parametrize(
    "other",
    [
        Target("palace", Address(Scheme.SSH, "other")),
        Target("palace", PALACE.address, become=Become("nobody")),
        Target("palace", PALACE.address, identity="/nowhere/key"),
        Target("palace", PALACE.address, variables={"docker_host": "unix:///elsewhere"}),
    ],
    ids=["address", "become", "identity", "variables"],
)
@pytest.mark.usefixtures("palace")
def test_who_is_reached_in_another_way_is_reached_anew(other: Target, kept: Connections) -> None:
    first = said(kept)
    with kept.to(other, timeout=20) as second:
        assert second is not first
    assert not first.open  # type: ignore[attr-defined]  # it leads to a host


@pytest.mark.usefixtures("palace")
def test_other_systems_and_another_deadline_change_nothing(kept: Connections) -> None:
    first = said(kept)
    narrowed = Target("palace", PALACE.address, systems=("env",), require=("feed",))
    second = said(kept, narrowed, timeout=7)
    assert second is first
    assert second.timeout == 7  # type: ignore[attr-defined]  # it leads to a host


@pytest.mark.usefixtures("palace")
def test_none_is_used_for_ever(sshd: Sshd) -> None:
    connections = Connections(keep=True, seconds=0)
    said(connections)
    time.sleep(0.01)
    said(connections)
    connections.close()
    assert sshd.connections == 2


@pytest.mark.usefixtures("palace")
def test_more_than_can_be_afforded_are_not_kept(sshd: Sshd) -> None:
    connections = Connections(keep=True, most=1)
    other = Target("other", Address(Scheme.SSH, "other"))
    for _ in range(2):
        said(connections)
        said(connections, other)
    assert len(connections) == 1
    connections.close()
    assert sshd.connections == 3


@pytest.mark.usefixtures("palace")
def test_two_uses_at_once_get_two_connections(sshd: Sshd, kept: Connections) -> None:
    with kept.to(PALACE, timeout=20) as one, kept.to(PALACE, timeout=20) as other:
        assert one is not other
        one.apply("echo 1", NOTHING)
        other.apply("echo 2", NOTHING)
    assert len(kept) == 1
    assert sshd.connections == 2


@pytest.mark.usefixtures("palace")
def test_of_targets_that_are_gone_none_is_kept(kept: Connections) -> None:
    gone = Target("other", Address(Scheme.SSH, "other"))
    said(kept)
    connector = said(kept, gone)
    kept.only([PALACE])
    assert len(kept) == 1
    assert not connector.open  # type: ignore[attr-defined]  # it leads to a host


def test_what_costs_nothing_to_open_is_not_kept(kept: Connections, tmp_path: Path) -> None:
    here = Target("here", Address(Scheme.LOCAL, str(tmp_path)))
    assert isinstance(said(kept, here), LocalConnector)
    assert not len(kept)


def test_who_asks_the_same_again_frames_it_the_same() -> None:
    assert len({Connections(keep=True).nonce() for _ in range(3)}) == 3
    once = Connections(keep=True)
    assert once.nonce() != once.nonce()
    again = Connections(keep=True, again=True)
    assert again.nonce() == again.nonce()
    short = Connections(keep=True, again=True, seconds=0)
    first = short.nonce()
    time.sleep(0.01)
    assert short.nonce() != first
