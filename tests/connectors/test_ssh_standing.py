"""A shell that stays on a host between two looks, against real servers."""

import os
import signal
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from support.client import Client
from support.probing import NONCE, otherwise
from support.sshd import Sshd
from support.staying import rested_script

from fleet.connectors import ssh
from fleet.connectors.base import Connector
from fleet.connectors.connections import Connections
from fleet.errors import ProbeError, Unreachable
from fleet.facts.model import Facts
from fleet.facts.request import LaunchQuestion, PathQuestion, ProcessQuestion, Read, Request
from fleet.inventory.model import Address, Scheme, Target

PALACE = Target("palace", Address(Scheme.SSH, "palace"))
pytestmark = [pytest.mark.usefixtures("no_thread_is_left"), pytest.mark.usefixtures("rested")]


@pytest.fixture
def rested(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let what was made a moment ago count as if it had been made an hour ago."""
    monkeypatch.setattr(ssh, "standing_script", rested_script)


@pytest.fixture
def kept(client: Client, sshd: Sshd, monkeypatch: pytest.MonkeyPatch) -> Iterator[Connections]:
    client.host("palace", sshd)
    client.know(sshd.known())
    monkeypatch.setenv("FLEET_SSH_CONFIG", str(client.config))
    connections = Connections(keep=True, again=True)
    yield connections
    connections.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder on the host, with a file in it and what its login shell reads."""
    folder = tmp_path / "on the host"
    folder.mkdir()
    (folder / "file").write_text("one\n")
    (folder / "rc").write_text("export PALACE=here\n")
    return folder


def asked(folder: Path, *more: PathQuestion) -> Request:
    return Request(
        NONCE,
        paths=(PathQuestion(f"{folder}/file", Read.WHOLE), *more),
        launches=(LaunchQuestion(f"bash --init-file '{folder}/rc' -ic", ("PALACE",)),),
        processes=(ProcessQuestion("sshd", ("nothing-of-this-name",)),),
        interfaces="lo",
    )


def looked(kept: Connections, request: Request, *, timeout: float = 20) -> tuple[Facts, Connector]:
    with kept.to(PALACE, timeout=timeout) as connector:
        return connector.collect(request), connector


def same(one: Facts, other: Facts) -> bool:
    return one.model_copy(update={"taken_at": other.taken_at}) == other


def changed(folder: Path, text: str) -> None:
    """Change the file in another second than it was made in."""
    time.sleep(max(0.0, int((folder / "file").stat().st_ctime) + 1.05 - time.time()))
    (folder / "file").write_text(text)


def test_a_second_look_asks_the_shell_that_stayed(
    sshd: Sshd, kept: Connections, folder: Path
) -> None:
    first, _ = looked(kept, asked(folder))
    for _ in range(3):
        found, connector = looked(kept, asked(folder))
        assert same(first, found)
        assert found.taken_at > first.taken_at
        assert found.content(found.paths[f"{folder}/file"]) == b"one\n"
    assert (sshd.connections, sshd.sessions) == (1, 1)
    assert (connector.connects, connector.round_trips) == (1, 4)


def test_what_changed_is_told_and_then_again_not_twice(
    sshd: Sshd, kept: Connections, folder: Path
) -> None:
    looked(kept, asked(folder))
    changed(folder, "two\n")
    for _ in range(2):
        found, _ = looked(kept, asked(folder))
        assert found.content(found.paths[f"{folder}/file"]) == b"two\n"
    assert (sshd.connections, sshd.sessions) == (1, 2)


def test_another_question_is_asked_anew(sshd: Sshd, kept: Connections, folder: Path) -> None:
    looked(kept, asked(folder))
    found, _ = looked(kept, asked(folder, PathQuestion(str(folder))))
    assert found.paths[str(folder)].state == "present"
    assert sshd.sessions == 2


def test_what_is_known_no_longer_is_sent(sshd: Sshd, kept: Connections, folder: Path) -> None:
    first, _ = looked(kept, asked(folder))
    known = replace(asked(folder), known=frozenset(first.contents))
    assert looked(kept, known)[0].contents == first.contents  # it was sent, and is held
    changed(folder, "two\n")
    looked(kept, known)
    second, _ = looked(kept, asked(folder))
    third = replace(asked(folder), known=frozenset({*first.contents, *second.contents}))
    changed(folder, "one\n")
    assert looked(kept, third)[0].contents == {}
    assert looked(kept, asked(folder))[0].contents == first.contents
    assert sshd.sessions == 5


def test_of_what_is_asked_once_nothing_stays(sshd: Sshd, kept: Connections, folder: Path) -> None:
    once = Connections(keep=True)
    with once.to(PALACE, timeout=20) as connector:
        first = connector.collect(asked(folder))
        assert same(first, connector.collect(asked(folder)))
    assert sshd.sessions == 2
    once.close()


def shells(sshd: Sshd) -> list[int]:
    """Return the shells on the host that stay there."""
    pids = [pid for served in sshd.children() for pid in (served, *_below(served))]
    return [pid for pid in pids if Path(f"/proc/{pid}/cmdline").read_bytes().endswith(b"sh\0")]


def _below(pid: int) -> list[int]:
    own = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [one for child in map(int, own) for one in (child, *_below(child))]


def test_closing_ends_the_shell(sshd: Sshd, kept: Connections, folder: Path) -> None:
    looked(kept, asked(folder))
    (pid,) = shells(sshd)
    kept.close()
    until = time.monotonic() + 10
    while Path(f"/proc/{pid}").exists() and time.monotonic() < until:
        time.sleep(0.02)
    assert not Path(f"/proc/{pid}").exists()


def test_where_the_shell_was_ended_all_is_asked_anew(
    sshd: Sshd, kept: Connections, folder: Path
) -> None:
    first, _ = looked(kept, asked(folder))
    (pid,) = shells(sshd)
    os.kill(pid, signal.SIGKILL)
    assert same(first, looked(kept, asked(folder))[0])
    assert (sshd.connections, sshd.sessions) == (1, 2)


def test_a_connection_that_was_cut_is_opened_anew(
    sshd: Sshd, kept: Connections, folder: Path
) -> None:
    first, _ = looked(kept, asked(folder))
    sshd.cut()
    found, connector = looked(kept, asked(folder))
    assert same(first, found)
    assert (connector.connects, sshd.connections) == (2, 2)


def test_a_connection_that_went_silent_is_opened_anew(
    sshd: Sshd, kept: Connections, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ssh, "FIRST_WORD", 0.5)
    first, _ = looked(kept, asked(folder))
    sshd.freeze()
    found, connector = looked(kept, asked(folder))
    assert same(first, found)
    assert connector.connects == 2
    sshd.cut()


def test_who_takes_long_to_answer_is_waited_for(
    sshd: Sshd, kept: Connections, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ssh, "FIRST_WORD", 0.5)
    (folder / "rc").write_text("sleep 1.5\nexport PALACE=here\n")
    first, _ = looked(kept, asked(folder))
    found, connector = looked(kept, asked(folder))
    assert same(first, found)
    assert (connector.connects, sshd.connections) == (1, 1)
    # The one that stayed, and the one that was opened to see whether there is anybody.
    assert sshd.sessions == 1


def test_who_does_not_answer_in_time_is_told_so(
    kept: Connections, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ssh, "FIRST_WORD", 0.2)
    looked(kept, asked(folder))
    (folder / "rc").write_text("sleep 30\n")
    with pytest.raises(Unreachable) as caught:
        looked(kept, asked(folder), timeout=1)
    assert caught.value.stage == "timeout"
    assert not len(kept)


def test_what_it_answers_is_no_more_trusted_than_an_answer(
    kept: Connections, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forged(request: Request) -> str:
        was = "_n=0 _buf=$_NL\n"
        return otherwise(rested_script(request), was, was.replace("0", "7"))

    monkeypatch.setattr(ssh, "standing_script", forged)
    looked(kept, asked(folder))
    with pytest.raises(ProbeError):
        looked(kept, asked(folder))


def test_letting_go_of_a_connection_that_is_cut_at_this_moment_is_no_error(
    kept: Connections, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut(_: object) -> None:
        raise EOFError

    looked(kept, asked(folder))
    with monkeypatch.context() as patched:
        patched.setattr("paramiko.Channel.close", cut)
        kept.only(())
    assert not len(kept)
