import threading
import time
from collections.abc import Iterator

import pytest


@pytest.fixture
def no_thread_is_left() -> Iterator[None]:
    """Whatever happened, no thread outlives its connector."""
    before = set(threading.enumerate())
    yield
    deadline = time.monotonic() + 3
    while left := set(threading.enumerate()) - before:
        assert time.monotonic() < deadline, f"threads left running: {left}"
        time.sleep(0.01)
