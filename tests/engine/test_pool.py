"""The same work on many targets at once."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from fleet.engine.pool import in_parallel


@pytest.mark.parametrize("jobs", [1, 2, 8])
def test_results_come_in_the_order_of_the_items(jobs: int) -> None:
    assert list(in_parallel(lambda n: n * n, range(20), jobs)) == [n * n for n in range(20)]
    assert list(in_parallel(lambda n: n, [], jobs)) == []


def test_as_many_run_at_once_as_there_are_jobs_and_no_more() -> None:
    together, lock = threading.Barrier(3), threading.Lock()
    running = most = 0

    def work(_: int) -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        together.wait(20)  # passes only where three run at once
        with lock:
            running -= 1

    list(in_parallel(work, range(9), 3))
    assert most == 3


def test_a_consumer_that_stops_drops_what_has_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[int] = []
    let_go = threading.Event()

    class Pool(ThreadPoolExecutor):
        """Lets the work go only once the pool was told to drop the rest."""

        def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
            super().shutdown(wait=False, cancel_futures=cancel_futures)
            let_go.set()
            super().shutdown(wait=wait)

    def work(number: int) -> int:
        begun.append(number)
        if number:
            let_go.wait(20)
        return number

    monkeypatch.setattr("fleet.engine.pool.ThreadPoolExecutor", Pool)
    results = in_parallel(work, range(50), 2)
    assert next(results) == 0
    results.close()  # type: ignore[attr-defined]  # a generator behind Iterator
    assert len(begun) <= 3


def test_a_fault_of_fleet_is_raised() -> None:
    def work(number: int) -> int:
        if number == 1:
            raise KeyError(number)
        return number

    with pytest.raises(KeyError):
        list(in_parallel(work, range(4), 2))
