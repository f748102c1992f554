"""Looking from several processes of this machine, where one interpreter is not enough."""

import multiprocessing
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing.context import BaseContext
from multiprocessing.process import BaseProcess
from typing import ParamSpec, TypeVar

from fleet.engine import worker
from fleet.engine.job import Answer, Job
from fleet.engine.pool import Crew
from fleet.errors import TargetError

Words = ParamSpec("Words")
Result = TypeVar("Result")

_TRIES = 2
_NEEDED = ["fleet.engine.worker", "fleet.connectors.ssh", "fleet.probes.mcp"]


@contextmanager
def crew_of_processes(jobs: int) -> Iterator[Crew[Job, Answer]]:
    """Look from as many processes as there are jobs at once."""
    with Processes(jobs) as executor:
        yield Crew(executor, worker.work, jobs, lost=_lost)


def _lost(job: Job, error: Exception) -> Answer:
    if not isinstance(error, BrokenExecutor):
        raise error
    trouble = TargetError(
        "the process that looked at it was ended, twice",
        where=job.target.name,
        hint="the system ends processes when memory is short; fewer --jobs need less",
    )
    return Answer(job.number, None, trouble)


class Processes(Executor):
    """The library's pool of processes, made anew when one of them was ended from outside.

    The processes come from a server that has everything loaded and no thread, so a fork is safe
    there; or they are forks of this one, which must then have no thread whose locks they need. They
    leave an interrupt to the one that started them, and do not outlive it.
    """

    def __init__(self, processes: int, *, forks: bool = False) -> None:
        self._count = processes
        self._context: BaseContext = multiprocessing.get_context("fork" if forks else "forkserver")
        self._settle_in = worker.settle_in_fork if forks else worker.settle_in
        if not forks:
            self._context.set_forkserver_preload(_NEEDED)
        self._lock = threading.Lock()
        self._others = set(multiprocessing.active_children())
        self._ended = False
        self._pool = self._made()

    def submit(
        self, fn: Callable[Words, Result], /, *args: Words.args, **kwargs: Words.kwargs
    ) -> Future[Result]:
        """Begin a piece of work; it is begun once more where its process was ended."""
        future: Future[Result] = Future()
        future.set_running_or_notify_cancel()
        self._begin(future, lambda pool: pool.submit(fn, *args, **kwargs), _TRIES)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the processes: after their work, or at once where nobody waits for it."""
        with self._lock:
            self._ended = True
        if not wait:
            for process in self._own():
                process.terminate()  # in good order, as worker.settle_in() has it
        # The library's thread is waited for even then: it closes what the interpreter, at its own
        # end, would write to without a look.
        self._pool.shutdown(wait=True, cancel_futures=cancel_futures)

    def _begin(
        self,
        future: Future[Result],
        start: Callable[[ProcessPoolExecutor], Future[Result]],
        tries: int,
    ) -> None:
        pool = self._pool

        def ended(inner: Future[Result]) -> None:
            error = inner.exception() if not inner.cancelled() else BrokenExecutor("cancelled")
            if error is None:
                future.set_result(inner.result())
            elif isinstance(error, BrokenExecutor) and tries > 1 and self._replaced(pool):
                self._begin(future, start, tries - 1)
            else:
                future.set_exception(error)

        try:
            inner = start(pool)
        except RuntimeError as error:  # it broke since the work before was begun, or all is over
            if self._replaced(pool):
                self._begin(future, start, tries)
            else:
                future.set_exception(error)
        else:
            inner.add_done_callback(ended)

    def _replaced(self, broken: ProcessPoolExecutor) -> bool:
        """Have a pool that is not the broken one; False where all is over."""
        with self._lock:
            if self._ended:
                return False
            if self._pool is broken:
                self._pool = self._made()
            return True

    def _made(self) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(
            self._count, mp_context=self._context, initializer=self._settle_in
        )

    def _own(self) -> set[BaseProcess]:
        return set(multiprocessing.active_children()) - self._others
