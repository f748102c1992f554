"""Time that is left for something to be done."""

import time


class Deadline:
    """A moment that does not move while work is passed from hand to hand."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        """Return the seconds that are left; never less than a millisecond, for socket timeouts."""
        return max(self._end - time.monotonic(), 0.001)

    @property
    def passed(self) -> bool:
        """Whether no time is left."""
        return time.monotonic() >= self._end

    def within(self, seconds: float) -> "Deadline":
        """Return a deadline that ends after ``seconds``, and not after this one."""
        return Deadline(min(seconds, self.left()))
