"""A target that is none: it answers from canned facts and counts what it was asked."""

import socket
from typing import Protocol

from fleet.connectors.base import Outcome
from fleet.errors import TargetError, Unsupported
from fleet.facts.model import Facts
from fleet.facts.request import Request
from fleet.inventory.model import Target
from fleet.secrets import Secret


class Canned(Protocol):
    """What can answer a request in place of a target."""

    def answer(self, request: Request, target: Target) -> Facts:
        """Return the facts that answer a request."""
        ...


class FakeConnector:
    """Keeps the connector's contract for tests; opens nothing.

    Attributes:
        connects: how many connections a real one would have opened.
        round_trips: how many requests and programs it was sent.
        requests: the requests, in order.
        scripts: the programs, in order; their payloads, which may hold secrets, are not kept.
        closed: whether it was let go of.
    """

    def __init__(
        self,
        facts: Canned | None = None,
        *,
        outcome: Outcome | None = None,
        trouble: TargetError | None = None,
    ) -> None:
        """Make a target.

        Args:
            facts: what lies there; a fake without facts refuses to be asked.
            outcome: what running any program brings; one without an outcome runs none.
            trouble: raised by every method, as by a target that cannot be reached.
        """
        self._facts, self._outcome, self._trouble = facts, outcome, trouble
        self._target: Target | None = None
        self._open = False
        self.timeout = 0.0
        self.connects = 0
        self.round_trips = 0
        self.requests: list[Request] = []
        self.scripts: list[str] = []
        self.closed = False

    def reached_as(self, target: Target) -> "FakeConnector":
        """Stand in for a target from here on."""
        self._target, self._open = target, False
        return self

    def collect(self, request: Request) -> Facts:
        """Answer the whole request in one round trip."""
        self._sent()
        self.requests.append(request)
        if self._facts is None or self._target is None:
            raise Unsupported("this fake target has no facts")
        return self._facts.answer(request, self._target)

    def apply(self, script: str, payload: Secret) -> Outcome:  # noqa: ARG002 - may hold secrets, so it is not kept
        """Remember the program and return the canned outcome."""
        self._sent()
        self.scripts.append(script)
        if self._outcome is None:
            raise Unsupported("this fake target runs no programs")
        return self._outcome

    def open_tcp(self, host: str, port: int) -> socket.socket:
        """Refuse: a fake target leads nowhere."""
        raise Unsupported(f"this fake target cannot connect to {host}:{port}")

    @property
    def open(self) -> bool:
        """Whether a real one would have a connection now."""
        return self._open

    def rest(self) -> None:
        """Do nothing: there is only the connection."""

    def close(self) -> None:
        """Let go."""
        self.closed, self._open = True, False

    def _sent(self) -> None:
        if not self._open:
            self.connects += 1
        if self._trouble is not None:
            raise self._trouble
        self._open = True
        self.round_trips += 1
