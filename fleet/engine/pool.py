"""The same work on many targets at once; one bad or slow target never stops another."""

import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, wait
from typing import Generic, ParamSpec, TypeAlias, TypeVar

from fleet.dataclass import dataclass

Item = TypeVar("Item")
Result = TypeVar("Result")
Words = ParamSpec("Words")

_Inbox: TypeAlias = "queue.SimpleQueue[Callable[[], None] | None]"

# A signal that comes to another thread is heard by the waiting one when it wakes.
_WAKES = 0.25  # seconds


class Threads(Executor):
    """A thread for each piece of work that runs; how many run at once is for the caller to bound.

    A thread that has done its piece waits for another, until the shutdown. The process does not
    wait for them at its end, so an interrupt is quick even where a target never answers.
    """

    def __init__(self) -> None:
        self._threads: set[threading.Thread] = set()
        self._idle: list[_Inbox] = []
        self._ended = False
        self._lock = threading.Lock()

    def submit(
        self, fn: Callable[Words, Result], /, *args: Words.args, **kwargs: Words.kwargs
    ) -> Future[Result]:
        """Begin a piece of work.

        Raises:
            RuntimeError: all is over.
        """
        future: Future[Result] = Future()

        def run() -> None:
            try:
                future.set_result(fn(*args, **kwargs))
            except BaseException as error:  # noqa: BLE001 - it is raised where the result is asked for
                future.set_exception(error)

        future.set_running_or_notify_cancel()
        with self._lock:
            if self._ended:
                raise RuntimeError("work was begun after the shutdown")
            inbox = self._idle.pop() if self._idle else None
        (inbox or self._begun()).put(run)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002 - all has begun
        """Let the threads go, each when its piece is done; wait for that, where it is wanted."""
        with self._lock:
            self._ended = True
            idle, self._idle = self._idle, []
            threads = [*self._threads]
        for inbox in idle:
            inbox.put(None)
        for thread in threads if wait else ():
            thread.join()

    def _begun(self) -> "_Inbox":
        inbox: _Inbox = queue.SimpleQueue()
        thread = threading.Thread(target=self._serve, args=(inbox,), name="fleet", daemon=True)
        with self._lock:
            self._threads.add(thread)
        thread.start()
        return inbox

    def _serve(self, inbox: "_Inbox") -> None:
        while (run := inbox.get()) is not None:
            run()
            del run  # what was done is not kept by who waits
            with self._lock:
                if self._ended:
                    return
                self._idle.append(inbox)


@dataclass(frozen=True, slots=True)
class Crew(Generic[Item, Result]):
    """Who does the work, and how much of it at once.

    Attributes:
        executor: where it is done.
        work: what is done with an item; it answers for its own deadline, and turns what a target
            can cause into a result.
        at_once: how many items are worked on at once.
        spare: how many more may be, while as many have been slow.
        slow: after how many seconds an item is no longer counted among ``at_once``: it waits for
            somebody who does not answer, and costs nothing here. None counts it to its end.
        lost: makes a result of an item whose work was lost with the one who did it; None where
            that cannot be.
        alive: asked now and then while nothing comes; raises where nothing will come any more, and
            all that is left is lost.
    """

    executor: Executor
    work: Callable[[Item], Result]
    at_once: int
    spare: int = 0
    slow: Callable[[Item], float | None] = lambda _: None
    lost: Callable[[Item, Exception], Result] | None = None
    alive: Callable[[], None] = lambda: None


def as_they_come(crew: Crew[Item, Result], items: Iterable[Item]) -> Iterator[Result]:
    """Yield results in the order in which they are there.

    Items are taken as there is room for them. What the work raises is a fault of fleet and is
    raised here. When the consumer stops early (Ctrl-C) nothing more is begun; what runs is waited
    for, because it may have something to take away, but for those who may be slow.
    """
    flow = _Flow(crew, iter(items))
    try:
        yield from flow.results()
    except BaseException:
        flow.stop()
        raise
    crew.executor.shutdown(wait=True)


class _Flow(Generic[Item, Result]):
    """The state of one run: what is being worked on, and since when."""

    def __init__(self, crew: Crew[Item, Result], items: Iterator[Item]) -> None:
        self._crew = crew
        self._items = items
        self._more = True
        self._done: queue.SimpleQueue[Future[Result]] = queue.SimpleQueue()
        self._running: dict[Future[Result], tuple[Item, float]] = {}

    def results(self) -> Iterator[Result]:
        while True:
            self._fill()
            if not self._running:
                return
            try:
                future = self._done.get(timeout=self._patience())
            except queue.Empty:
                yield from self._given_up()
                continue
            item, _ = self._running.pop(future)
            self._fill()  # before the consumer takes its time
            yield self._result(item, future)

    def stop(self) -> None:
        """Drop what has not begun, and wait for what may not be left alone."""
        busy = [f for f, (item, _) in self._running.items() if self._crew.slow(item) is None]
        self._crew.executor.shutdown(wait=False, cancel_futures=True)
        while wait(busy, timeout=_WAKES).not_done:
            pass

    def _given_up(self) -> Iterator[Result]:
        """Lose all that is left, where nothing of it will come any more."""
        try:
            self._crew.alive()
        except Exception as error:
            if self._crew.lost is None:
                raise
            left = [*(item for item, _ in self._running.values()), *self._items]
            self._running.clear()
            self._more = False
            for item in left:
                yield self._crew.lost(item, error)

    def _result(self, item: Item, future: Future[Result]) -> Result:
        try:
            return future.result()
        except Exception as error:
            if self._crew.lost is None:
                raise
            return self._crew.lost(item, error)

    def _fill(self) -> None:
        while self._more and self._room():
            try:
                item = next(self._items)
            except StopIteration:
                self._more = False
                return
            future = self._crew.executor.submit(self._crew.work, item)
            self._running[future] = item, time.monotonic()
            future.add_done_callback(self._done.put)

    def _room(self) -> bool:
        if len(self._running) >= self._crew.at_once + self._crew.spare:
            return False
        return sum(1 for left in self._left() if left > 0) < self._crew.at_once

    def _patience(self) -> float:
        """Return how long to wait: until somebody is slow and makes room, and never for ever."""
        coming = [left for left in self._left() if left > 0] if self._more else []
        return min([*coming, _WAKES])

    def _left(self) -> Iterator[float]:
        """Yield, for each that runs, the seconds after which it is slow."""
        now = time.monotonic()
        for item, since in self._running.values():
            slow = self._crew.slow(item)
            yield _WAKES if slow is None else since + slow - now


def in_parallel(
    work: Callable[[Item], Result], items: Sequence[Item], jobs: int
) -> Iterator[Result]:
    """Yield results in the order of ``items``, running at most ``jobs`` at once in threads."""

    def numbered(item: tuple[int, Item]) -> tuple[int, Result]:
        return item[0], work(item[1])

    held: dict[int, Result] = {}
    following = 0
    for number, result in as_they_come(Crew(Threads(), numbered, jobs), enumerate(items)):
        held[number] = result
        while following in held:
            yield held.pop(following)
            following += 1
