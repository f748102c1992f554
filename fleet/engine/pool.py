"""The same work on many targets at once; one bad target never stops another."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
_WAKES = 0.25  # seconds


def in_parallel(
    work: Callable[[Item], Result], items: Sequence[Item], jobs: int
) -> Iterator[Result]:
    """Yield results in the order of ``items``, running at most ``jobs`` at once.

    ``work`` answers for its own deadline and turns what a target can cause into a result; what it
    still raises is a fault of fleet and is raised here. When the consumer stops early (Ctrl-C),
    work that has not begun is dropped.
    """
    if jobs == 1 or len(items) <= 1:
        yield from map(work, items)
        return
    pool = ThreadPoolExecutor(max_workers=min(jobs, len(items)), thread_name_prefix="fleet")
    futures: list[Future[Result]] = [pool.submit(work, item) for item in items]
    try:
        for future in futures:
            # A signal that comes to another thread is heard by this one when it wakes.
            while not future.done():
                wait([future], timeout=_WAKES)
            yield future.result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
