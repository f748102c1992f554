"""A pool of processes ends whole."""

import threading
import time
from concurrent.futures import BrokenExecutor

import pytest

from fleet.engine.processes import Processes

LONG = 60  # seconds


@pytest.mark.parametrize("forks", [True, False])
def test_of_one_that_is_ended_at_once_no_thread_is_left(*, forks: bool) -> None:
    before = {*threading.enumerate()}
    pool = Processes(2, forks=forks)
    began = time.monotonic()
    work = [pool.submit(time.sleep, LONG) for _ in range(2)]
    pool.shutdown(wait=False)
    assert not {*threading.enumerate()} - before
    assert all(isinstance(one.exception(), BrokenExecutor) for one in work)
    assert time.monotonic() - began < LONG / 2


def test_what_is_begun_after_the_end_says_so() -> None:
    pool = Processes(1, forks=True)
    pool.shutdown()
    with pytest.raises(RuntimeError, match="after shutdown"):
        pool.submit(time.sleep, 0).result()


def test_work_is_begun_again_in_a_pool_that_broke_meanwhile() -> None:
    pool = Processes(1, forks=True)
    pool._pool._broken = True  # as one of its processes leaves it
    assert pool.submit(abs, -1).result(LONG) == 1
    pool.shutdown()
