"""The same work on many targets at once."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor

import pytest

from fleet.engine.pool import Crew, Threads, as_they_come, in_parallel


@pytest.mark.parametrize("jobs", [1, 2, 8])
def test_results_come_in_the_order_of_the_items(jobs: int) -> None:
    assert list(in_parallel(lambda n: n * n, range(20), jobs)) == [n * n for n in range(20)]
    assert list(in_parallel(lambda n: n, [], jobs)) == []


class Gauge:
    """Counts how many are inside at once."""

    def __init__(self) -> None:
        self.now = self.most = 0
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        with self._lock:
            self.now += 1
            self.most = max(self.most, self.now)

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self.now -= 1


def test_as_many_run_at_once_as_there_are_jobs_and_no_more() -> None:
    together, gauge = threading.Barrier(3), Gauge()

    def work(_: int) -> None:
        with gauge:
            together.wait(20)  # passes only where three run at once

    list(in_parallel(work, range(9), 3))
    assert gauge.most == 3


def test_a_fault_of_fleet_is_raised() -> None:
    def work(number: int) -> int:
        if number == 1:
            raise KeyError(number)
        return number

    with pytest.raises(KeyError):
        list(in_parallel(work, range(4), 2))


class Held:
    """Work that is held up for some items until it is let go."""

    def __init__(self, *held: int) -> None:
        self.held, self.free, self.begun = held, threading.Event(), list[int]()

    def __call__(self, number: int) -> int:
        self.begun.append(number)
        if number in self.held:
            self.free.wait(20)
        return number


@pytest.fixture
def held() -> Iterator[Callable[..., Held]]:
    made: list[Held] = []

    def make(*numbers: int) -> Held:
        made.append(Held(*numbers))
        return made[-1]

    yield make
    for each in made:
        each.free.set()


def test_who_is_done_first_comes_first(held: Callable[..., Held]) -> None:
    work = held(0, 2)
    results = as_they_come(Crew(Threads(), work, 3), range(6))
    assert [next(results) for _ in range(4)] == [1, 3, 4, 5]
    work.free.set()
    assert sorted(results) == [0, 2]


def test_who_is_slow_makes_room_for_others(held: Callable[..., Held]) -> None:
    """Two that never answer hold both places; as soon as that is clear the others get theirs."""
    work = held(0, 1)
    crew = Crew(Threads(), work, 2, spare=2, slow=lambda _: 0.05)
    results = as_they_come(crew, range(30))
    assert sorted(next(results) for _ in range(28)) == list(range(2, 30))
    work.free.set()
    assert sorted(results) == [0, 1]


def test_who_works_long_makes_no_room(held: Callable[..., Held]) -> None:
    """An image that is read for minutes is no host that does not answer."""
    work = held(0)
    crew = Crew(Threads(), work, 1, spare=8, slow=lambda n: None if n == 0 else 0.05)
    threading.Timer(0.3, work.free.set).start()
    results = as_they_come(crew, range(3))
    assert next(results) == 0
    assert [*results] == [1, 2]


def test_there_is_an_end_to_making_room(held: Callable[..., Held]) -> None:
    work = held(*range(10))
    crew: Crew[int, int] = Crew(Threads(), work, 2, spare=3, slow=lambda _: 0.01)
    threading.Timer(0.5, work.free.set).start()
    results = as_they_come(crew, iter(range(10)))
    next(results)
    assert len(work.begun) in (5, 6)  # five, and one in the place of the first that was let go
    list(results)


def test_a_consumer_that_stops_begins_nothing_more_and_waits_for_nobody_slow(
    held: Callable[..., Held],
) -> None:
    work = held(1)
    results = as_they_come(Crew(Threads(), work, 2, slow=lambda _: 60.0), range(50))
    assert next(results) == 0
    results.close()  # type: ignore[attr-defined]  # a generator behind Iterator
    assert len(work.begun) <= 3
    assert not work.free.is_set()


def test_a_consumer_that_stops_waits_for_what_has_something_to_take_away(
    held: Callable[..., Held],
) -> None:
    work, ended = held(1), list[int]()

    def tidy(number: int) -> int:
        work(number)
        ended.append(number)
        return number

    results = as_they_come(Crew(Threads(), tidy, 2), iter(range(2)))
    assert next(results) == 0
    threading.Timer(0.3, work.free.set).start()
    results.close()  # type: ignore[attr-defined]  # a generator behind Iterator
    assert ended == [0, 1]


def test_what_is_asked_for_is_asked_for_as_there_is_room() -> None:
    asked: list[int] = []

    def items() -> Iterator[int]:
        for number in range(50):
            asked.append(number)
            yield number

    crew: Crew[int, int] = Crew(Threads(), abs, 2)
    results = as_they_come(crew, items())
    next(results)
    assert len(asked) <= 3
    list(results)


def test_lost_work_has_a_result_of_its_own() -> None:
    def work(number: int) -> str:
        if number == 1:
            raise OSError("the worker is gone")
        return "done"

    crew = Crew(Threads(), work, 1, lost=lambda number, error: f"{number}: {error}")
    assert [*as_they_come(crew, range(3))] == ["done", "1: the worker is gone", "done"]


def test_a_silence_without_end_is_ended(
    held: Callable[..., Held], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fleet.engine.pool._WAKES", 0.01)

    def gone() -> None:
        raise RuntimeError("nobody is left")

    with pytest.raises(RuntimeError, match="nobody is left"):
        list(as_they_come(Crew(Threads(), held(0), 1, slow=lambda _: 60.0, alive=gone), range(1)))


def test_threads_are_an_executor_as_the_library_has_them() -> None:
    with Threads() as threads:
        assert isinstance(threads, Executor)
        futures = [threads.submit(pow, 2, n) for n in range(4)]
        broken = threads.submit(lambda: 1 // 0)
        assert [f.result(20) for f in futures] == [1, 2, 4, 8]
        assert isinstance(broken.exception(20), ZeroDivisionError)
        assert list(threads.map(abs, [-1, -2])) == [1, 2]


def test_a_thread_that_is_done_does_the_next_piece_and_goes_at_the_end() -> None:
    before = threading.active_count()
    threads = Threads()
    names = {threads.submit(threading.get_ident).result(20) for _ in range(20)}
    assert len(names) <= 2  # it may be told to be done before it waits
    free = threading.Event()
    future = threads.submit(free.wait, 20)
    threads.shutdown(wait=False)
    with pytest.raises(RuntimeError, match="after the shutdown"):
        threads.submit(int)
    free.set()
    threads.shutdown()
    assert future.result(20) is True
    assert threading.active_count() == before
