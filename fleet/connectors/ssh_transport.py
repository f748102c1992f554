"""Opening an ssh connection, through jump hosts where the configuration says so.

Every hop is resolved, verified and logged in to on its own, and named when it is the one that
fails. Nothing is ever added to known_hosts, whatever ``StrictHostKeyChecking`` says.
"""

import logging
import re
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress

from fleet.connectors import known_hosts
from fleet.connectors.deadline import Deadline
from fleet.connectors.known_hosts import Trust
from fleet.connectors.ssh_auth import authenticate, tamed
from fleet.connectors.ssh_config import SshSettings
from fleet.connectors.ssh_library import (
    Channel,
    ChannelException,
    IncompatiblePeer,
    Message,
    SSHException,
    Transport,
)
from fleet.connectors.ssh_stream import ProxyProcess, dial
from fleet.connectors.ssh_trust import distrust
from fleet.connectors.text import one_line
from fleet.dataclass import dataclass
from fleet.errors import Unreachable, Unsupported

# Without a handler of its own the library's log would reach standard error.
logging.getLogger("paramiko").addHandler(logging.NullHandler())

# The first costs a seventh of what the newest hybrid exchange costs, and every server has it.
_FIRST_EXCHANGES = ("curve25519-sha256@libssh.org", "ecdh-sha2-nistp256")
# These prove what they carry themselves; the library checks the others' proofs byte by byte.
_FIRST_CIPHERS = ("aes128-gcm@openssh.com", "aes256-gcm@openssh.com")
_JOIN = 5.0
_ENDING = 0.2
_PROHIBITED = 1  # RFC 4254, 5.1


class HopTransport(Transport):
    """A transport that keeps what the server said when it refused to open a channel."""

    said = ""
    # How often the library's thread wakes to see whether it was told to end, which _end() does not
    # depend on; at the library's own tenth of a second many resting connections keep a core busy.
    _active_check_timeout = 1.0

    def _parse_channel_open_failure(self, message: Message) -> None:
        message.get_int()
        message.get_int()
        self.said = one_line(message.get_text())
        message.rewind()
        super()._parse_channel_open_failure(message)  # type: ignore[misc] # not in the stubs

    def open_tcp(self, host: str, port: int, limit: Deadline, *, where: str) -> Channel:
        """Open a channel to ``host:port`` as the server sees it.

        Raises:
            Unreachable: stage ``resolve``, ``connect`` or ``timeout``, in the server's words.
            Unsupported: the server forbids forwarding.
        """
        try:
            with tamed():
                return self.open_channel(
                    "direct-tcpip", (host, port), ("127.0.0.1", 0), timeout=limit.left()
                )
        except ChannelException as error:
            if error.code == _PROHIBITED:
                raise Unsupported(
                    f"the ssh server forbids forwarding: {self.said}",
                    where=where,
                    hint="AllowTcpForwarding or PermitOpen in its sshd_config says so",
                ) from None
            raise Unreachable(self.said.lower(), stage=_stage(self.said), where=where) from None
        except (SSHException, EOFError, OSError):
            stage = "timeout" if limit.passed else "connect"
            raise Unreachable("no channel was opened", stage=stage, where=where) from None


def _stage(said: str) -> str:
    """Tell which stage failed from the server's system error text."""
    if re.search(r"not known|name resolution|address associated|no such host", said, re.IGNORECASE):
        return "resolve"
    return "timeout" if "timed out" in said.lower() else "connect"


class SshSession:
    """A chain of logged-in connections; ``transport`` is the target's."""

    def __init__(self, transport: HopTransport, closers: list[Callable[[], None]]) -> None:
        self.transport = transport
        self._closers = closers

    def close(self) -> None:
        """Close the chain, the target first."""
        while self._closers:
            self._closers.pop()()

    def cut_off(self) -> bool:
        """Whether the connection is gone; one that is just ending gets a moment to do so."""
        if self.transport.is_active():
            self.transport.join(_ENDING)
        return not self.transport.is_active()


@dataclass(frozen=True, slots=True)
class _Hop:
    """One connection of the chain, while it is being opened."""

    settings: SshSettings
    limit: Deadline
    where: str
    closers: list[Callable[[], None]]

    def fail(self, what: str, stage: str, hint: str = "") -> Unreachable:
        return Unreachable(what, stage=stage, where=self.where, hint=hint)


def open_session(settings: SshSettings, seconds: float, deadline: Deadline) -> SshSession:
    """Connect to a host and log in.

    Args:
        settings: as :func:`fleet.connectors.ssh_config.resolve` gives them.
        seconds: the longest each hop may take; a configured ConnectTimeout goes before it.
        deadline: the end of the whole.

    Raises:
        Unreachable: with the stage that failed and the hop it failed at.
    """
    closers: list[Callable[[], None]] = []

    def step(to: SshSettings, before: HopTransport | None) -> HopTransport:
        via = "" if to is settings else f" (jump host to {one_line(settings.alias)})"
        limit = deadline.within(to.connect_timeout or seconds)
        return _next(_Hop(to, limit, f"{one_line(str(to))}{via}", closers), before)

    try:
        transport = None
        for hop in settings.hops:
            transport = step(hop, transport)
        return SshSession(step(settings, transport), closers)
    except BaseException:
        while closers:
            closers.pop()()
        raise


def _next(hop: _Hop, before: HopTransport | None) -> HopTransport:
    """Open one connection of the chain."""
    if before is not None:
        return _log_in(hop, _through(before, hop))
    if hop.settings.proxy_command is None:
        stream = dial(hop.settings, hop.limit, hop.where)
        hop.closers.append(stream.close)
        return _log_in(hop, stream)
    try:
        proxy = ProxyProcess(hop.settings.proxy_command)
    except OSError as error:
        raise hop.fail(f"ProxyCommand cannot be run: {error.strerror}", "connect") from None
    hop.closers.append(proxy.close)
    try:
        return _log_in(hop, proxy.socket)
    except Unreachable as error:
        if error.stage in ("connect", "timeout"):
            said = proxy.said() or "nothing"
            error.hint = f"it goes through ProxyCommand, which said: {said}"
        raise


def _through(before: HopTransport, hop: _Hop) -> Channel:
    """Reach the next hop from the one before it."""
    to = hop.settings
    try:
        return before.open_tcp(to.hostname, to.port, hop.limit, where=hop.where)
    except Unsupported as error:
        raise hop.fail(f"the jump host before it: {error.what}", "connect", error.hint) from None
    except Unreachable as error:
        raise hop.fail(f"from the jump host before it: {error.what}", error.stage) from None


def _log_in(hop: _Hop, stream: socket.socket | Channel) -> HopTransport:
    """Agree on keys, verify the host, prove who we are."""
    settings = hop.settings
    keys = known_hosts.known_keys(settings.known_hosts, settings.key_names)
    transport = HopTransport(stream)
    hop.closers.append(lambda: _end(transport))
    options = transport.get_security_options()
    options.kex = _first(_FIRST_EXCHANGES, options.kex)
    options.ciphers = _first(_FIRST_CIPHERS, options.ciphers)
    allowed = [name for name in options.key_types if name in settings.key_types]
    options.key_types = known_hosts.preferred(keys, allowed or list(options.key_types))
    transport.banner_timeout = transport.handshake_timeout = hop.limit.left()
    _handshake(transport, hop)
    offered = transport.get_remote_server_key()
    judgement = known_hosts.judge(keys, offered.get_name(), offered.asbytes())
    if judgement.trust is not Trust.KNOWN:
        raise distrust(settings, judgement, offered.get_name(), offered.asbytes(), where=hop.where)
    authenticate(transport, settings, hop.limit, where=hop.where)
    return transport


def _first(wanted: Sequence[str], offered: Sequence[str]) -> list[str]:
    """Return what the library offers, those that are wanted in front."""
    front = [name for name in wanted if name in offered]
    return [*front, *(name for name in offered if name not in front)]


def _end(transport: Transport) -> None:
    with suppress(OSError, EOFError):  # its thread reads the end at once, and is not waited for
        transport.sock.shutdown(socket.SHUT_RDWR)
    transport.close()
    transport.packetizer.complete_handshake()  # else its timer outlives a failed one
    if transport.is_alive():
        transport.join(_JOIN)


def _handshake(transport: Transport, hop: _Hop) -> None:
    try:
        with tamed():
            transport.start_client(timeout=hop.limit.left())
        if not transport.initial_kex_done:
            raise TimeoutError
    except IncompatiblePeer as error:
        raise hop.fail(f"no algorithm in common: {one_line(str(error))}", "connect") from None
    except (SSHException, EOFError, OSError) as error:
        if hop.limit.passed or isinstance(error, TimeoutError):
            waited = f"connected, but no ssh answer within {hop.limit.seconds:g} s"
            raise hop.fail(waited, "timeout") from None
        reason = one_line(str(error)) or "it hung up"
        raise hop.fail(
            f"connected, but not to a working ssh server: {reason}",
            "connect",
            "sshd hangs up early when too many connections log in at once (MaxStartups)",
        ) from None
