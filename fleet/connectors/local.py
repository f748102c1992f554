"""This machine: one ``sh`` for everything that is asked, in a clean environment.

What the operator's own terminal exports must not make a check pass, so the program starts as a
fresh login would: with who the user is and where the session's sockets are, and nothing else.
"""

import os
import signal
import socket
import subprocess
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from fleet.connectors.answer import Program, late, no_shell, read_facts
from fleet.connectors.base import Outcome
from fleet.connectors.bounded import KIBI, MAX_BYTES, Bounded
from fleet.connectors.deadline import Deadline
from fleet.connectors.local_exchange import Exchange
from fleet.connectors.text import one_line
from fleet.errors import Unreachable
from fleet.facts.compile import probe_script
from fleet.facts.model import Facts
from fleet.facts.request import Request
from fleet.inventory.model import Target
from fleet.secrets import Secret

PATH = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"
KEPT = (
    "DBUS_SESSION_BUS_ADDRESS",
    "DOCKER_CONFIG",
    "DOCKER_CONTEXT",
    "DOCKER_HOST",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "LOGNAME",
    "SHELL",
    "SSH_AUTH_SOCK",
    "TMPDIR",
    "TZ",
    "USER",
    "XDG_RUNTIME_DIR",
)
DECLARED = "declared"

_MOST_ERRORS = 64 * KIBI
_GRACE = 2.0


class LocalConnector:
    """This machine, as the current user or, where declared, as another by ``sudo -n``.

    Args:
        target: of scheme ``local``; a home in its address stands for the user's.
        timeout: seconds that one ``collect`` or ``apply`` may take.
        max_bytes: the most that may be answered; more is refused, not cut.
    """

    def __init__(self, target: Target, *, timeout: float, max_bytes: int = MAX_BYTES) -> None:
        self.connects = 0
        self.round_trips = 0
        self._target = target
        self._timeout = timeout
        self._max_bytes = max_bytes
        self._home = _home(target)

    def collect(self, request: Request) -> Facts:
        """Answer the whole request in one round trip.

        Raises:
            Unreachable: no such home, no sudo, or no answer in time.
            ProbeError: too much was answered, or something else than was asked.
        """
        taken_at = datetime.now(UTC)
        outcome = self._run(probe_script(request))
        facts = read_facts(outcome, request, self._target, kind="host", taken_at=taken_at)
        if self._home is None:
            return facts
        platform = facts.platform.model_copy(update={"rule": DECLARED})
        return facts.model_copy(update={"platform": platform})

    def apply(self, script: str, payload: Secret) -> Outcome:
        """Run ``script`` followed by ``payload`` as one program, read by ``sh`` from stdin.

        Raises:
            Unreachable: as for :meth:`collect`; what was done by then is unknown.
            ProbeError: too much was printed, or no shell was run.
        """
        return self._run(script + payload.reveal())

    def open_tcp(self, host: str, port: int) -> socket.socket:
        """Connect to ``host:port`` from this machine.

        Raises:
            Unreachable: stage ``connect``, ``resolve`` or ``timeout``.
        """
        where = f"{one_line(host)}:{port}"
        try:
            return socket.create_connection((host, port), timeout=self._timeout)
        except socket.gaierror as error:
            raise Unreachable(error.strerror or str(error), stage="resolve", where=where) from None
        except TimeoutError:
            raise Unreachable(
                f"no connection within {self._timeout:g} s", stage="timeout", where=where
            ) from None
        except OSError as error:
            raise Unreachable(error.strerror or str(error), stage="connect", where=where) from None

    def close(self) -> None:
        """Do nothing: every program has ended when its answer is back."""

    def _run(self, text: str) -> Outcome:
        """Run a program with ``sh``, in a session of its own that ends with it."""
        if self._home is not None and not self._home.is_dir():
            raise Unreachable(
                f"there is no folder {one_line(str(self._home))}",
                stage="missing",
                where=self._target.name,
                hint="make it, or name another home in the inventory",
            )
        program = Program(text)
        output = Bounded(self._max_bytes, where=self._target.name)
        errors = Bounded(_MOST_ERRORS)
        deadline = Deadline(self._timeout)
        process = self._start()
        self.connects = 1
        self.round_trips += 1
        try:
            status = Exchange(process, output, errors).run(program.stdin, deadline)
        except TimeoutError:
            _end(process)
            raise late(deadline, len(output), where=self._target.name) from None
        except BaseException:
            _end(process)
            raise
        finally:
            _let_go(process)
        answer = program.answer(output.take())
        if answer is None:
            raise no_shell(status, errors.take(), self._target)
        return Outcome(status, answer, errors.take())

    def _start(self) -> subprocess.Popen[bytes]:
        words = self._words()
        try:
            return subprocess.Popen(
                words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                env=self._environment(),
                cwd=self._home or Path("/"),
                start_new_session=True,
            )
        except OSError as error:
            raise Unreachable(
                f"{words[0]} cannot be run: {error.strerror}",
                stage="become" if self._target.become else "connect",
                where=self._target.name,
            ) from None

    def _words(self) -> list[str]:
        become = self._target.become
        if become is None:
            return ["sh"]
        sudo = ["sudo", "-n", "-H", "-u", become.user, "--"]
        home = [] if self._home is None else ["env", f"HOME={self._home}"]
        return [*sudo, *home, "sh"]

    def _environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in KEPT if name in os.environ}
        home = str(self._home) if self._home else os.environ.get("HOME")
        return kept | {"PATH": PATH} | ({"HOME": home} if home else {})


def _home(target: Target) -> Path | None:
    name = target.address.name
    return Path(name).expanduser().absolute() if name else None


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the whole session: what listens to TERM may tidy up first."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE)


def _let_go(process: subprocess.Popen[bytes]) -> None:
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            stream.close()
