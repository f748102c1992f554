"""One connection and one exec, and every way in which they can fail, against real servers."""

import os
import selectors
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.busy import LAST_WORDS, LateSelector
from support.client import Client
from support.loopback import free_port
from support.sshd import Sshd

from fleet.connectors import ssh_exchange
from fleet.errors import ProbeError, TargetError, Unreachable
from fleet.inventory.model import Become
from fleet.secrets import Secret

NOTHING = Secret("")
pytestmark = pytest.mark.usefixtures("no_thread_is_left")
StartSshd = Callable[..., Sshd]


@pytest.fixture
def palace(client: Client, sshd: Sshd) -> Client:
    """A client that knows the server, under the name ``palace``."""
    client.host("palace", sshd)
    client.know(sshd.known())
    return client


@pytest.fixture
def mute() -> Iterator[int]:
    """A port that accepts connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def failure(client: Client, alias: str = "palace", **options: object) -> Unreachable:
    connector = client.connect(alias, **options)  # type: ignore[arg-type] # any option
    with pytest.raises(Unreachable) as caught:
        connector.apply("echo hello", NOTHING)
    assert "Traceback" not in str(caught.value)
    return caught.value


def test_script_and_payload_are_one_program(palace: Client) -> None:
    outcome = palace.connect("palace").apply("said=hello; ", Secret('printf %s "$said"'))
    assert outcome.output == b"hello"


def test_output_errors_and_status_come_back(palace: Client, sshd: Sshd) -> None:
    connector = palace.connect("palace")
    outcome = connector.apply("printf '\\000\\377out'; echo err >&2; exit 7", NOTHING)
    assert (outcome.status, outcome.output, outcome.errors) == (7, b"\0\xffout", b"err\n")
    assert (connector.connects, connector.round_trips) == (1, 1)
    assert (sshd.connections, sshd.sessions) == (1, 1)


def test_a_second_script_uses_the_same_connection(palace: Client, sshd: Sshd) -> None:
    connector = palace.connect("palace")
    assert connector.apply("echo 1", NOTHING).output == b"1\n"
    assert connector.apply("echo 2", NOTHING).output == b"2\n"
    assert (connector.connects, connector.round_trips) == (1, 2)
    assert (sshd.connections, sshd.sessions) == (1, 2)


def test_a_cut_connection_is_opened_again(palace: Client, sshd: Sshd) -> None:
    connector = palace.connect("palace")
    connector.apply("echo 1", NOTHING)
    sshd.cut()
    time.sleep(0.3)
    assert connector.apply("echo 2", NOTHING).output == b"2\n"
    assert connector.connects == 2


def test_the_payload_stands_in_no_argument_list(palace: Client) -> None:
    secret = "tok-EXAMPLE-argv"
    script = "for f in /proc/[0-9]*/cmdline; do tr '\\0' ' ' <$f 2>/dev/null; echo; done; "
    outcome = palace.connect("palace").apply(script, Secret(f": {secret}"))
    assert b"sshd" in outcome.output
    assert secret.encode() not in outcome.output


def test_a_program_larger_than_any_window_does_not_deadlock(palace: Client) -> None:
    """It prints while it is still being fed, more than either side buffers."""
    line = "printf '%0500d\\n' 1\n"
    outcome = palace.connect("palace", max_bytes=1 << 25).apply(line * 20_000, NOTHING)
    assert len(outcome.output) == 501 * 20_000


def test_what_a_login_script_prints_is_not_part_of_the_answer(
    client: Client, start_sshd: StartSshd
) -> None:
    noisy = start_sshd('ForceCommand printf "welcome, last login"; eval "$SSH_ORIGINAL_COMMAND"')
    client.host("noisy", noisy)
    client.know(noisy.known())
    assert client.connect("noisy").apply("echo hello", NOTHING).output == b"hello\n"


def test_an_account_that_runs_no_shell_is_told(client: Client, start_sshd: StartSshd) -> None:
    closed = start_sshd("ForceCommand printf 'go \\033[31maway' >&2; exit 3")
    client.host("closed", closed)
    client.know(closed.known())
    with pytest.raises(ProbeError) as caught:
        client.connect("closed").apply("echo hello", NOTHING)
    assert "exit status 3" in str(caught.value)
    assert "go \\x1b[31maway" in str(caught.value)


def test_100_mb_are_refused_and_not_kept(palace: Client) -> None:
    connector = palace.connect("palace")
    started = time.monotonic()
    with pytest.raises(ProbeError, match="more than 1 MiB"):
        connector.apply("head -c 100000000 /dev/zero", NOTHING)
    assert time.monotonic() - started < 10
    assert connector.apply("echo still", NOTHING).output == b"still\n"


def test_100_mb_of_complaints_are_cut(palace: Client) -> None:
    outcome = palace.connect("palace").apply("head -c 20000000 /dev/zero >&2; echo ok", NOTHING)
    assert outcome.output == b"ok\n"
    assert len(outcome.errors) == 64 * 1024


def test_no_answer_ends_at_the_deadline(palace: Client) -> None:
    connector = palace.connect("palace", timeout=1.5)
    started = time.monotonic()
    with pytest.raises(Unreachable, match=r"within 1\.5 s \(\d+ bytes came\)") as caught:
        connector.apply("echo begin; sleep 60", NOTHING)
    assert caught.value.stage == "timeout"
    assert time.monotonic() - started < 5


def test_a_background_process_does_not_hold_the_answer(palace: Client) -> None:
    started = time.monotonic()
    outcome = palace.connect("palace").apply("sleep 15 & echo done", NOTHING)
    assert (outcome.status, outcome.output) == (0, b"done\n")
    assert time.monotonic() - started < 8


def test_last_words_are_heard_on_a_busy_machine(
    palace: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selectors, "DefaultSelector", LateSelector)
    monkeypatch.setattr(ssh_exchange, "_SLICE", 0.2)
    assert palace.connect("palace").apply(LAST_WORDS, NOTHING).output == b"done\n"


def test_a_connection_cut_in_the_middle_is_told(palace: Client, sshd: Sshd) -> None:
    cutter = threading.Timer(1, sshd.cut)
    cutter.start()
    with pytest.raises(Unreachable, match="cut after") as caught:
        palace.connect("palace").apply("echo begin; sleep 60; echo end", NOTHING)
    cutter.join()
    assert caught.value.stage == "connect"


def test_a_shell_killed_by_a_signal_is_no_cut_connection(palace: Client) -> None:
    outcome = palace.connect("palace").apply("echo begin; kill -9 $$", NOTHING)
    assert outcome.output == b"begin\n"
    assert outcome.status != 0


def test_an_unknown_name_fails_at_resolving(client: Client, sshd: Sshd) -> None:
    client.host("palace", sshd, "HostName no-such-host.invalid")
    error = failure(client)
    assert error.stage == "resolve"
    assert "no-such-host.invalid" in str(error)


def test_an_address_in_numbers_asks_no_resolver(
    palace: Client, sshd: Sshd, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A resolver that never answers costs those alone that are called by names."""
    real, stopped = socket.getaddrinfo, threading.Event()

    def hanging(*asked: object, **options: int) -> object:
        if not options.get("flags", 0) & socket.AI_NUMERICHOST:
            stopped.wait(20)
        return real(*asked, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(socket, "getaddrinfo", hanging)
    palace.host("named", sshd, "HostName localhost", "HostKeyAlias palace")
    try:
        assert palace.connect("palace").apply("echo hello", NOTHING).output == b"hello\n"
        assert failure(palace, "named", connect_timeout=0.5).stage == "resolve"
    finally:
        stopped.set()


def test_a_closed_port_is_refused(client: Client, sshd: Sshd) -> None:
    client.host("palace", sshd, port=free_port())
    error = failure(client)
    assert (error.stage, error.what) == ("connect", "connection refused")


def test_a_silent_port_times_out(client: Client, sshd: Sshd, mute: int) -> None:
    client.host("palace", sshd, port=mute)
    started = time.monotonic()
    error = failure(client, connect_timeout=1)
    assert error.stage == "timeout"
    assert time.monotonic() - started < 5


def test_the_configured_connect_timeout_counts(client: Client, sshd: Sshd, mute: int) -> None:
    client.host("palace", sshd, "ConnectTimeout 1", port=mute)
    started = time.monotonic()
    assert failure(client, connect_timeout=60).stage == "timeout"
    assert time.monotonic() - started < 5


# A key exchange whose lists of names are no text.
KEXINIT = b"\x14" + b"c" * 16 + 10 * b"\0\0\0\4\xff\xfe\xfd\xfc" + b"\0" * 5
PACKET = (len(KEXINIT) + 6).to_bytes(4, "big") + b"\x05" + KEXINIT + b"p" * 5


@pytest.mark.parametrize(
    "said",
    [
        bytes((7 * n * n + 27) % 256 for n in range(50)),
        b"\x1b]0;owned\x07\x1b[2J" * 4,
        b"SSH-2.0-x\r\n" + b"\xff" * 39,
        b"SSH-2.0-" + b"A" * 42,
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"",
        b"SSH-2.0-x\r\n" + PACKET,
    ],
)
def test_a_hostile_server_leaves_one_clean_line(client: Client, sshd: Sshd, said: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            peer, _ = server.accept()
            with peer:
                peer.sendall(said)
                peer.shutdown(socket.SHUT_WR)
                peer.settimeout(5)
                while peer.recv(1024):
                    pass

        thread = threading.Thread(target=serve)
        thread.start()
        client.host("palace", sshd, port=server.getsockname()[1])
        error = failure(client, connect_timeout=30)
        thread.join()
    assert error.stage == "connect"
    assert error.what.isprintable()


def test_a_refusal_is_always_about_one_target(palace: Client) -> None:
    """The engine catches TargetError and goes on with the others."""
    assert isinstance(failure(palace, timeout=0.001), TargetError)


@pytest.fixture
def sudo(client: Client, start_sshd: StartSshd, tmp_path: Path) -> Path:
    """A host whose PATH is a folder with a shell and, if we put one there, a ``sudo``."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "sh").symlink_to("/bin/sh")
    host = start_sshd(f"SetEnv PATH={folder}")
    client.host("become", host)
    client.know(host.known())
    return folder / "sudo"


def test_become_runs_everything_as_the_declared_user(client: Client, sudo: Path) -> None:
    sudo.write_text(
        '#!/bin/sh\n[ "$1 $2 $3 $4" = "-n -H -u svc" ] || exit 9\nshift 5\nBECAME=yes exec "$@"\n'
    )
    sudo.chmod(0o755)
    connector = client.connect("become", become=Become("svc"))
    assert connector.apply('echo "$BECAME"', NOTHING).output == b"yes\n"
    assert connector.round_trips == 1


@pytest.mark.skipif(
    os.getuid() != 0 or shutil.which("sudo") is None, reason="needs root and a real sudo"
)
def test_become_works_with_the_real_sudo(palace: Client) -> None:
    connector = palace.connect("palace", become=Become("nobody"))
    assert connector.apply("id -un", NOTHING).output == b"nobody\n"


def test_without_become_there_is_no_sudo(client: Client, sudo: Path) -> None:
    sudo.write_text("#!/bin/sh\necho used >&2\nexit 9\n")
    sudo.chmod(0o755)
    assert client.connect("become").apply("echo plain", NOTHING).output == b"plain\n"


@pytest.mark.parametrize("installed", [True, False])
def test_a_sudo_that_refuses_is_told(client: Client, sudo: Path, installed: bool) -> None:
    if installed:
        sudo.write_text("#!/bin/sh\necho 'sudo: a password is required' >&2\nexit 1\n")
        sudo.chmod(0o755)
    error = failure(client, "become", become=Become())
    assert error.stage == "become"
    assert ("a password is required" if installed else "not found") in error.what
    assert "NOPASSWD" in error.hint


def test_a_user_name_is_quoted(client: Client, sudo: Path, tmp_path: Path) -> None:
    sudo.write_text("#!/bin/sh\necho no >&2\nexit 1\n")
    sudo.chmod(0o755)
    failure(client, "become", become=Become(f"x$(: >{tmp_path}/owned)"))
    assert not (tmp_path / "owned").exists()
