"""The contract every way to a target keeps."""

import socket
from typing import Protocol

from fleet.dataclass import dataclass
from fleet.facts.model import Facts
from fleet.facts.request import Request
from fleet.secrets import Secret


@dataclass(frozen=True, slots=True)
class Outcome:
    """What running a script on a target brought: untrusted text, bounded by the connector."""

    status: int
    output: bytes
    errors: bytes = b""


class Connector(Protocol):
    """One target, reached one way. Opens on first use; safe to close twice.

    ``round_trips`` counts scripts or archive reads sent to the target, ``connects`` connections
    opened: tests hold the promise of one of each to an audit.

    Every method may raise :class:`fleet.errors.Unreachable`, :class:`fleet.errors.ProbeError` (the
    answer was cut, too large or forged) or :class:`fleet.errors.Unsupported`.
    """

    connects: int
    round_trips: int

    def collect(self, request: Request) -> Facts:
        """Answer the whole request in one round trip."""
        ...

    def apply(self, script: str, payload: Secret) -> Outcome:
        """Run ``script`` followed by ``payload`` as one POSIX shell program, read from stdin.

        The payload may hold secrets, so neither part ever stands in an argument list. The script
        goes on or undoes itself when the connection is cut.
        """
        ...

    def open_tcp(self, host: str, port: int) -> socket.socket:
        """Connect to ``host:port`` as seen from the target; names are resolved there."""
        ...

    def close(self) -> None:
        """Let go of the connection."""
        ...
