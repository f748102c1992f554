"""A program on its way to a target's ``sh``, and what came back: the same for every transport."""

import secrets
import signal
from datetime import datetime
from typing import Literal

from fleet.connectors.base import Outcome
from fleet.connectors.deadline import Deadline
from fleet.connectors.text import one_line
from fleet.errors import ProbeError, Unreachable
from fleet.facts.model import Facts
from fleet.facts.parse import parse_answer
from fleet.facts.request import Request
from fleet.inventory.model import Target

#: What a shell adds to the number of a signal.
_SIGNALLED = 128


class Program:
    """A program for ``sh``, marked so that its answer can be told from what else is printed.

    Login scripts and forced commands may print first; a shell that never ran prints no mark.

    Attributes:
        stdin: the bytes for the shell to read.
    """

    def __init__(self, text: str, *, end: str = "") -> None:
        """Mark a program.

        Args:
            text: the program; may hold surrogate escapes.
            end: what to say after it, where the end of the input cannot be told.
        """
        self._mark = f"fleet-{secrets.token_hex(16)}\n".encode()
        self.stdin = b"echo " + self._mark + f"{text}{end}".encode("utf-8", "surrogateescape")

    def answer(self, output: bytes) -> bytes | None:
        """Return what the program printed, None when no shell has run it."""
        _, found, answer = output.partition(self._mark)
        return answer if found else None


def read_facts(
    outcome: Outcome,
    request: Request,
    target: Target,
    *,
    kind: Literal["host", "container"],
    taken_at: datetime,
) -> Facts:
    """Return the facts in a probe's output.

    Raises:
        ProbeError: the answer was cut, forged, too large or not understood. What the shell ended
            with is told too, where it did not end well; not what it said, which may hold anything.
    """
    try:
        return parse_answer(
            outcome.output,
            request,
            target=target.name,
            address=str(target.address),
            kind=kind,
            taken_at=taken_at,
        )
    except ProbeError as error:
        if outcome.status == 0:
            raise
        hint = f"its sh ended with {_ending(outcome.status)}; {error.hint}".removesuffix("; ")
        raise ProbeError(error.what, where=error.where, hint=hint) from None


def _ending(status: int) -> str:
    """Describe a status, which a signal makes negative here and one of 128 and more elsewhere.

    Over ssh it is -1 where none was told.
    """
    if status == -1:
        return "no status"
    number = -status if status < 0 else status - _SIGNALLED
    try:
        return f"status {status} ({signal.Signals(number).name})"
    except ValueError:
        return f"status {status}"


def late(deadline: Deadline, got: int, *, where: str) -> Unreachable:
    """Say that a deadline passed before all was answered; ``got`` bytes came."""
    return Unreachable(
        f"no whole answer within {deadline.seconds:g} s ({got} bytes came)",
        stage="timeout",
        where=where,
        hint="something on the target hangs, or --timeout is too short for it",
    )


def no_shell(status: int, errors: bytes, target: Target) -> Unreachable | ProbeError:
    """Say why no shell ran: sudo refused, or the account runs none."""
    said = one_line(errors, last=True) or "nothing was said"
    if target.become is None:
        return ProbeError(
            f"no shell was run (exit status {status}): {said}",
            where=target.name,
            hint="the login shell or a forced command of that account refused `sh`",
        )
    user = one_line(target.become.user)
    return Unreachable(
        f"sudo to {user} refused: {said}",
        stage="become",
        where=target.name,
        hint=f"a NOPASSWD rule for {user} in sudoers, or no `become` in the inventory",
    )


def unseen(request: Request, why: str) -> dict[str, str]:
    """Return the parts of a request that only something that runs can answer, with the reason."""
    asked = {
        "processes": bool(request.processes),
        "containers": bool(request.containers),
        "listeners": request.listeners,
        "crontab": bool(request.crontab),
        "checks": bool(request.checks),
        "interfaces": bool(request.interfaces),
    }
    return {part: why for part, wanted in asked.items() if wanted}
