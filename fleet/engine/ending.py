"""A process that is told to end takes away what it made first."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from threading import current_thread, main_thread
from types import FrameType

from fleet.connectors.deadline import ENDING

#: What a shell adds to the number of the signal that ended a program.
BASE = 128
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_UNTOUCHED = (signal.SIG_DFL, signal.default_int_handler)
_LAST = 3


class Ended(KeyboardInterrupt):
    """This process was told to end.

    Attributes:
        number: of the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


@contextmanager
def orderly_end() -> Iterator[None]:
    """Let signals that end a process stop its work, and leave it the time to tidy up.

    The first is raised as :class:`Ended`; looking stops in all threads. The second is let pass,
    because pipelines send SIGTERM soon after SIGINT and what tidies up is bounded. The third ends
    the process at once. Signals that are ignored, or handled by somebody else, stay as they are.
    """
    if current_thread() is not main_thread():
        yield
        return
    told = count(1)

    def end(number: int, _frame: FrameType | None) -> None:
        place = next(told)  # the next signal may be heard in any line below, and is not the first
        if place == 1:
            ENDING.set()
            raise Ended(number)
        if place >= _LAST:
            os._exit(BASE + number)

    before = {n: h for n in _SIGNALS if (h := signal.getsignal(n)) in _UNTOUCHED}
    for number in before:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        ENDING.clear()
