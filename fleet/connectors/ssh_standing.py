"""A shell that stays on a host between two looks, and tells only what may be other than it was."""

from dataclasses import replace

from fleet.connectors.deadline import Deadline
from fleet.connectors.ssh_exchange import Exchange, let_go
from fleet.connectors.ssh_library import Channel
from fleet.dataclass import dataclass
from fleet.facts.again import ASK, stays
from fleet.facts.model import Facts
from fleet.facts.request import Request


@dataclass(frozen=True, slots=True)
class Standing:
    """A shell that waits to be asked the same again.

    Attributes:
        channel: its streams.
        request: what it was asked, with what was known then.
        facts: what came of it.
    """

    channel: Channel
    request: Request
    facts: Facts

    def answers(self, request: Request) -> bool:
        """Whether it can be asked this: what it was not to send then is not needed now either."""
        same = replace(request, known=self.request.known) == self.request
        return same and self.request.known <= request.known and not self.channel.closed

    def ask(self) -> None:
        """Ask again."""
        self.channel.sendall(ASK)

    def answer(self, exchange: Exchange, deadline: Deadline) -> bytes | None:
        """Return the answer, None where all has to be asked anew.

        Raises:
            TimeoutError: the deadline passed; what came by then is not lost.
            ProbeError: too much was answered.
        """
        ended = exchange.read(deadline, last=stays(self.request.nonce))
        return exchange.output.take() if ended is None else None

    def close(self) -> None:
        """Let it end."""
        let_go(self.channel)
