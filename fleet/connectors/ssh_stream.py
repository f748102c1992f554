"""The byte stream an ssh connection runs over: a TCP connection, or a ProxyCommand."""

import errno
import os
import socket
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import IO

from fleet.connectors.deadline import Deadline
from fleet.connectors.ssh_config import SshSettings
from fleet.connectors.text import one_line
from fleet.errors import Unreachable

_FAMILIES = {"inet": socket.AF_INET, "inet6": socket.AF_INET6}
_ALIVE = {"TCP_KEEPIDLE": 30, "TCP_KEEPALIVE": 30, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3}
_JOIN = 5.0
_SAID = 4096
_AddressInfo = Sequence[tuple[int, int, int, str, tuple[str | int | bytes, ...]]]


class ProxyProcess:
    """A ProxyCommand, run as OpenSSH runs it: by the user's shell, its ends a socket of ours."""

    def __init__(self, command: str) -> None:
        self.command = command
        self.socket, theirs = socket.socketpair()
        self._said: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 # closed by close()
        shell = os.environ.get("SHELL") or "/bin/sh"
        try:
            self._process = subprocess.Popen(
                [shell, "-c", f"exec {command}"],
                stdin=theirs.fileno(),
                stdout=theirs.fileno(),
                stderr=self._said,
            )
        except OSError:
            self._said.close()
            self.socket.close()
            raise
        finally:
            theirs.close()

    def said(self) -> str:
        """Return the first line of the command's complaints."""
        return one_line(os.pread(self._said.fileno(), _SAID, 0))

    def close(self) -> None:
        """End the command and wait for it."""
        self.socket.close()
        self._process.terminate()
        try:
            self._process.wait(_JOIN)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._said.close()


def dial(hop: SshSettings, limit: Deadline, where: str) -> socket.socket:
    """Open a TCP connection; every address a name has is tried in order."""
    reason: OSError = TimeoutError()
    for family, kind, protocol, _, address in _addresses(hop, limit, where):
        stream = socket.socket(family, kind, protocol)
        stream.settimeout(limit.left())
        try:
            stream.connect(address)
        except OSError as error:
            stream.close()
            reason = error
            continue
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        _keep_alive(stream)
        return stream
    if isinstance(reason, TimeoutError):
        raise Unreachable(f"no answer within {limit.seconds:g} s", stage="timeout", where=where)
    hint = "is sshd running there, and on this port?" if reason.errno == errno.ECONNREFUSED else ""
    what = (reason.strerror or "connection failed").lower()
    raise Unreachable(what, stage="connect", where=where, hint=hint) from None


def _keep_alive(stream: socket.socket) -> None:
    """Let the kernel ask now and then whether the other side is there, as OpenSSH does.

    That also keeps a firewall between from forgetting a connection that rests.
    """
    stream.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _ALIVE.items():
        if hasattr(socket, name):  # macOS calls the first one TCP_KEEPALIVE
            stream.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def _addresses(hop: SshSettings, limit: Deadline, where: str) -> _AddressInfo:
    """Look a name up; a resolver that never answers costs a thread, not the run."""
    answers: list[_AddressInfo | OSError] = []
    family = _FAMILIES.get(hop.family, socket.AF_UNSPEC)
    with suppress(OSError, UnicodeError):  # an address that is written in numbers asks nobody
        return socket.getaddrinfo(
            hop.hostname, hop.port, family, socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST
        )

    def ask() -> None:
        try:
            found = socket.getaddrinfo(hop.hostname, hop.port, family, socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            answers.append(error if isinstance(error, OSError) else OSError(0, "no such name"))
        else:
            answers.append(found)

    thread = threading.Thread(target=ask, name=f"resolve {hop.hostname}", daemon=True)
    thread.start()
    thread.join(limit.left())
    answer = answers[0] if answers else OSError(0, f"no answer within {limit.seconds:g} s")
    if isinstance(answer, OSError):
        raise Unreachable(
            f"the name {one_line(hop.hostname)} cannot be resolved: {answer.strerror}",
            stage="resolve",
            where=where,
            hint=f"see what ssh would connect to: ssh -G {hop.alias}",
        )
    return answer
