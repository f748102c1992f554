"""A machine that is too busy to go on at once."""

import selectors
import time
from collections.abc import Sequence

AWAY = 0.8
#: Prints its last words, and ends, while who waits for them is away.
LAST_WORDS = "sleep 0.5; echo done"


class LateSelector(selectors.DefaultSelector):
    """Tells only after a while that nothing came; meanwhile much may have come."""

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready: Sequence[tuple[selectors.SelectorKey, int]] = super().select(timeout)
        if not ready:
            time.sleep(AWAY)
        return [*ready]
