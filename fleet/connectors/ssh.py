"""Hosts over ssh: one connection, and one exec of ``sh`` for everything that is asked."""

import os
import shlex
import socket
from contextlib import suppress
from datetime import UTC, datetime

from fleet.connectors.answer import Program, late, no_shell, read_facts
from fleet.connectors.base import Outcome
from fleet.connectors.bounded import MAX_BYTES
from fleet.connectors.deadline import Deadline
from fleet.connectors.ssh_auth import tamed
from fleet.connectors.ssh_config import resolve
from fleet.connectors.ssh_exchange import Exchange
from fleet.connectors.ssh_library import Channel, SSHException
from fleet.connectors.ssh_standing import Standing
from fleet.connectors.ssh_transport import SshSession, open_session
from fleet.connectors.text import one_line
from fleet.connectors.tunnel import Tunnel
from fleet.errors import Unreachable
from fleet.facts.again import asked_again, joined, stays
from fleet.facts.compile import probe_script, standing_script
from fleet.facts.model import Facts
from fleet.facts.request import Request
from fleet.inventory.model import Target
from fleet.secrets import Secret

FIRST_WORD = 5.0  # seconds for a connection that has rested to answer at all


class SshConnector:
    """A host reached over ssh, as the user's own OpenSSH configuration says.

    The connection may be used again. One that has died since its last use is opened anew: nothing
    was sent over it yet, so nothing is done twice.

    Attributes:
        timeout: may be set between two uses.
        again: whether the same will be asked again: then a shell stays there for it.

    Args:
        target: of scheme ``ssh``; its ``become`` makes everything run as that user by ``sudo -n``.
        timeout: seconds that one ``collect`` or ``apply`` may take, connecting included.
        connect_timeout: seconds for each hop, unless ssh's configuration sets ConnectTimeout.
        max_bytes: the most that may be answered; more is refused, not cut.
        config: ssh configuration file to read instead of the usual ones; without it the one that
            ``FLEET_SSH_CONFIG`` names, as ``ssh -F`` would.
    """

    def __init__(
        self,
        target: Target,
        *,
        timeout: float,
        connect_timeout: float = 10,
        max_bytes: int = MAX_BYTES,
        config: str | None = None,
    ) -> None:
        self.connects = 0
        self.round_trips = 0
        self._target = target
        self.timeout = timeout
        self._connect_timeout = connect_timeout
        self._max_bytes = max_bytes
        self._config = config or os.environ.get("FLEET_SSH_CONFIG") or None
        self.again = False
        self._session: SshSession | None = None
        self._standing: Standing | None = None
        self._tunnels: list[Tunnel] = []

    def collect(self, request: Request) -> Facts:
        """Answer the whole request in one round trip.

        Of a shell that stayed, where something is other than it was, in two.

        Raises:
            Unreachable: no connection, no login, no sudo, no answer in time, or cut off.
            ProbeError: too much was answered, or something else than was asked.
        """
        taken_at = datetime.now(UTC)
        deadline = Deadline(self.timeout, only_looks=True)
        return self._again(request, taken_at, deadline) or self._anew(request, taken_at, deadline)

    def apply(self, script: str, payload: Secret) -> Outcome:
        """Run ``script`` followed by ``payload`` as one program, read by ``sh`` from stdin.

        Raises:
            Unreachable: as for :meth:`collect`; what was done by then is unknown.
            ProbeError: too much was printed, or no shell was run.
        """
        return self._run(script + payload.reveal(), Deadline(self.timeout))[0]

    def open_tcp(self, host: str, port: int) -> socket.socket:
        """Connect to ``host:port`` from the target, through the ssh connection.

        Raises:
            Unreachable: stage ``connect``, ``resolve`` or ``timeout``, from the target's view.
            Unsupported: the server forbids forwarding.
        """
        deadline = Deadline(self.timeout)
        channel = self._connected(deadline).transport.open_tcp(
            host, port, deadline, where=f"{one_line(host)}:{port} from {self._target.name}"
        )
        tunnel = Tunnel(channel)
        self._tunnels.append(tunnel)
        return tunnel.socket

    @property
    def open(self) -> bool:
        """Whether there is a connection that, as far as is known, still stands."""
        return self._session is not None and self._session.transport.is_active()

    def rest(self) -> None:
        """Let go of tunnels; the connection stays."""
        while self._tunnels:
            self._tunnels.pop().close()

    def close(self) -> None:
        """Let go of tunnels and connection."""
        self.rest()
        self._dismiss()
        if self._session is not None:
            self._session.close()
            self._session = None

    def _connected(self, deadline: Deadline) -> SshSession:
        if not self.open:
            self.close()
        if self._session is None:
            settings = resolve(
                self._target.address, identity=self._target.identity, config=self._config
            )
            self._session = open_session(settings, self._connect_timeout, deadline)
            self.connects += 1
        return self._session

    def _anew(self, request: Request, taken_at: datetime, deadline: Deadline) -> Facts:
        """Ask everything, of a shell that stays where the same will be asked again."""
        self._dismiss()
        text = standing_script(request) if self.again else probe_script(request)
        last = stays(request.nonce) if self.again else b""
        outcome, channel = self._run(text, deadline, last=last)
        facts = read_facts(outcome, request, self._target, kind="host", taken_at=taken_at)
        if channel is not None:
            self._standing = Standing(channel, request, facts)
        return facts

    def _again(self, request: Request, taken_at: datetime, deadline: Deadline) -> Facts | None:
        """Ask the shell that stayed; None where none can answer, or not all is as it was."""
        standing, session = self._standing, self._session
        if standing is None or session is None or not standing.answers(request):
            return None
        exchange = Exchange(standing.channel, self._max_bytes, self._target.name)
        try:
            self.round_trips += 1
            with tamed():
                output = self._heard(session, standing, exchange, deadline)
        except TimeoutError:
            raise late(deadline, len(exchange.output), where=self._target.name) from None
        except (SSHException, EOFError, OSError):
            return None  # cut off in the middle of looking: all is asked anew, and then told
        if output is None:
            return None
        outcome = Outcome(0, output)
        told = read_facts(
            outcome, asked_again(request), self._target, kind="host", taken_at=taken_at
        )
        return joined(standing.facts, told)

    def _heard(
        self, session: SshSession, standing: Standing, exchange: Exchange, deadline: Deadline
    ) -> bytes | None:
        """Ask again; over a connection that is dead, and nobody told, only until that is seen.

        Raises:
            TimeoutError: there is somebody, and no answer in time.
        """
        standing.ask()
        with suppress(TimeoutError):
            return standing.answer(exchange, deadline.within(FIRST_WORD))
        if deadline.passed:
            raise TimeoutError
        try:
            _opened(session, deadline.within(FIRST_WORD)).close()
        except (SSHException, EOFError, OSError):
            self.close()
            return None
        return standing.answer(exchange, deadline)

    def _dismiss(self) -> None:
        if self._standing is not None:
            self._standing.close()
            self._standing = None

    def _run(
        self, text: str, deadline: Deadline, *, last: bytes = b""
    ) -> tuple[Outcome, Channel | None]:
        """Run a program with the target's ``sh``; its channel where it stays, and said so last."""
        program = Program(text)
        session, channel = self._channel(deadline)
        exchange = Exchange(channel, self._max_bytes, self._target.name)
        status: int | None = -1
        try:
            self.round_trips += 1
            with tamed():
                channel.exec_command(self._shell())
                status = exchange.run(program.stdin, deadline, last=last)
        except TimeoutError:
            raise late(deadline, len(exchange.output), where=self._target.name) from None
        except (SSHException, EOFError, OSError):
            raise self._lost(session, deadline, "the command was not run") from None
        finally:
            if status is not None:
                exchange.close()
        outcome = self._judged(session, exchange, status or 0, program)
        return outcome, channel if status is None else None

    def _channel(self, deadline: Deadline) -> tuple[SshSession, Channel]:
        """Open a session; over a connection that has rested, only if it answers at once."""
        rested = self._session
        session = self._connected(deadline)
        if session is rested:
            with suppress(SSHException, EOFError, OSError):
                return session, _opened(session, deadline.within(FIRST_WORD))
            self.close()
            session = self._connected(deadline)
        try:
            return session, _opened(session, deadline)
        except (SSHException, EOFError, OSError):
            raise self._lost(session, deadline, "no session was opened") from None

    def _shell(self) -> str:
        become = self._target.become
        if become is None:
            return "exec sh"
        return f"exec sudo -n -H -u {shlex.quote(become.user)} -- sh"

    def _judged(
        self, session: SshSession, exchange: Exchange, status: int, program: Program
    ) -> Outcome:
        """Tell an answer from the ways of getting none."""
        if status < 0 and session.cut_off():
            got = len(exchange.output)
            raise Unreachable(
                f"the connection was cut after {got} bytes of the answer",
                stage="connect",
                where=self._target.name,
            )
        output = program.answer(exchange.output.take())
        if output is None:
            raise no_shell(status, exchange.errors.take(), self._target)
        return Outcome(status, output, exchange.errors.take())

    def _lost(self, session: SshSession, deadline: Deadline, what: str) -> Unreachable:
        if deadline.passed:
            return Unreachable(
                f"{what} within {deadline.seconds:g} s", stage="timeout", where=self._target.name
            )
        why = "the connection was cut" if session.cut_off() else "the server refused"
        return Unreachable(f"{what}: {why}", stage="connect", where=self._target.name)


def _opened(session: SshSession, limit: Deadline) -> Channel:
    with tamed():
        return session.transport.open_session(timeout=limit.left())
