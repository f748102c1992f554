"""Carrying out jobs in another process than the one that judges: what runs there."""

import io
import multiprocessing
import os
import signal
import sys
import threading
from concurrent.futures import TimeoutError as Late
from multiprocessing.process import BaseProcess

from fleet.connectors.connections import Connections
from fleet.connectors.deadline import ENDING
from fleet.engine.ending import BASE
from fleet.engine.job import Answer, Job, carry_out
from fleet.engine.pool import Threads
from fleet.engine.secrets import SecretStore

# One process, one store: a reference is fetched once, with what this process can read.
_SECRETS = SecretStore()
_CONNECTIONS = Connections()


_BUSY = threading.Lock()
_LEAVE_SECONDS = 5


def work(job: Job) -> Answer:
    """Carry out a job in a process of a pool, which does one at a time."""
    with _BUSY:
        return carry_out(job, _CONNECTIONS, _SECRETS)


def settle_in() -> None:
    """Prepare a process of a pool.

    An interrupt is its starter's affair. When it is told to end, or its starter is gone, what it is
    doing is stopped in good order first.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=_leave).start())
    starter = multiprocessing.parent_process()
    if starter is not None:
        threading.Thread(target=_leave_with, args=(starter,), daemon=True).start()


def settle_in_fork() -> None:
    """Prepare a fork, which says nothing and so waits for no lock of a stream at its end."""
    sys.stdout, sys.stderr = io.StringIO(), io.StringIO()
    settle_in()


def _leave_with(starter: BaseProcess) -> None:
    starter.join()
    _leave()


def _leave() -> None:
    ENDING.set()
    _BUSY.acquire(timeout=_LEAVE_SECONDS)
    os._exit(BASE + signal.SIGTERM)


def work_aside(job: Job, slow: float | None) -> Answer:
    """Carry out a job in a worker of Dask; from when it is slow it holds none of its places."""
    threads = Threads()
    future = threads.submit(carry_out, job, _CONNECTIONS, _SECRETS)
    threads.shutdown(wait=False)
    try:
        return future.result(slow)
    except Late:
        from distributed import secede  # noqa: PLC0415 - only its workers have it

        secede()
        return future.result()
