"""Time that is left for something to be done."""

import time
from threading import Event

#: Set while this process is told to end: what only looks stops, wherever it is.
ENDING = Event()


class Deadline:
    """A moment that does not move while work is passed from hand to hand.

    Attributes:
        seconds: how long it was until then, at first.
        only_looks: whether nothing is lost when the work stops sooner, as :data:`ENDING` tells.
    """

    def __init__(self, seconds: float, *, only_looks: bool = False) -> None:
        self.seconds = seconds
        self.only_looks = only_looks
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        """Return the seconds that are left; never less than a millisecond, for socket timeouts."""
        if self.passed:
            return 0.001
        return max(self._end - time.monotonic(), 0.001)

    @property
    def passed(self) -> bool:
        """Whether no time is left."""
        return time.monotonic() >= self._end or (self.only_looks and ENDING.is_set())

    def within(self, seconds: float) -> "Deadline":
        """Return a deadline that ends after ``seconds``, and not after this one."""
        return Deadline(min(seconds, self.left()), only_looks=self.only_looks)
