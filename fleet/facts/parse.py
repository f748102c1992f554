"""Read a target's answer: hostile until it is parsed."""

from datetime import datetime

from fleet.facts.model import Facts
from fleet.facts.request import Request


def parse_answer(
    output: bytes, request: Request, *, target: str, address: str, kind: str, taken_at: datetime
) -> Facts:
    """Return the facts that a probe's output holds.

    Raises:
        ProbeError: the answer was cut, forged, too large or not understood.
    """
    raise NotImplementedError
