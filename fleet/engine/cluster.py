"""Looking from the workers of a Dask cluster, for fleets that outgrow one controller.

What only this machine can see (a home, a container, an image in a file) is looked at from here.
"""

import logging
import re
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Executor, Future
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from fleet.engine.job import Answer, Job
from fleet.engine.options import DASK
from fleet.engine.pool import Crew
from fleet.engine.worker import work_aside
from fleet.errors import TargetError, UsageError
from fleet.inventory.model import Scheme

if TYPE_CHECKING:
    from distributed import Client

PORT = 8786
#: Targets that look the same from wherever they are looked at.
FAR = frozenset({Scheme.SSH, Scheme.DOCKER})
CONNECT_SECONDS = 10
#: How long a cluster may be without a worker before what is left is given up.
ALONE_SECONDS = 30.0
_ASKED_EVERY = 2.0

_ADDRESS = re.compile(
    r"dask(?P<tls>\+tls)?://(?P<host>\[[0-9a-fA-F:.]+\]|[^\s/:@]+)(:(?P<port>\d+))?/?"
)


class Gone(Exception):
    """No worker is left."""


def scheduler_of(executor: str) -> str:
    """Return the address of a scheduler as Dask writes it.

    Raises:
        UsageError: it is none.
    """
    found = _ADDRESS.fullmatch(executor)
    port = int(found["port"] or PORT) if found else 0
    if found is None or not 0 < port < 1 << 16:
        raise UsageError(
            f"{executor!r} is no address of a Dask scheduler",
            hint=f"{DASK}HOST:{PORT}, or dask+tls://HOST:{PORT}",
        )
    return f"{'tls' if found['tls'] else 'tcp'}://{found['host']}:{port}"


@contextmanager
def crew_of_cluster(executor: str, here: Crew[Job, Answer]) -> Iterator[Crew[Job, Answer]]:
    """Look from a cluster's workers, and from here at what only this machine can see.

    Raises:
        UsageError: Dask is not installed, no scheduler answers, or it has no workers.
    """
    address = scheduler_of(executor)
    with _client(address) as client:
        places = _places(client, address)
        yield Crew(
            _Parted(client.get_executor(pure=False), here),
            here.work,
            # Some wait at the workers, so that none of them is ever without work.
            2 * places,
            here.spare,
            here.slow,
            _lost,
            _Watch(client),
        )


@contextmanager
def _client(address: str) -> "Iterator[Client]":
    try:
        from distributed import Client  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise UsageError(
            f"--executor {DASK}… needs Dask, which is not installed ({error})",
            hint="pip install 'mempalace-fleet[dask]'",
        ) from None
    # What the library has to say of lost workers is told per target, or not worth telling.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    try:
        client = Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TypeError, ImportError) as error:
        raise UsageError(
            f"no Dask scheduler answers at {address}: {_first_line(error)}",
            hint="start one with `dask scheduler`, or mend the address",
        ) from None
    try:
        yield client
    finally:
        client.close(timeout=CONNECT_SECONDS)


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0].strip() or type(error).__name__


def _places(client: "Client", address: str) -> int:
    """Return how many jobs the workers can do at once."""
    until = time.monotonic() + CONNECT_SECONDS
    while True:
        places = sum(_threads(client).values())
        if places:
            return places
        if time.monotonic() > until:
            raise UsageError(
                f"the Dask scheduler at {address} has no workers",
                hint=f"start some with `dask worker {address}`, where fleet is installed too",
            )
        time.sleep(0.1)


def _threads(client: "Client") -> dict[str, int]:
    return cast("dict[str, int]", client.nthreads())


class _Parted(Executor):
    """Gives each job to who can see its target."""

    def __init__(self, far: Executor, here: Crew[Job, Answer]) -> None:
        self._far, self._here = far, here

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:  # noqa: ANN401 - the library's own signature
        """Begin a job."""
        (job,) = args
        if isinstance(job, Job) and job.target.address.scheme in FAR:
            return self._far.submit(work_aside, job, self._here.slow(job))
        return self._here.executor.submit(fn, *args, **kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002 - the library's drops all that it does not wait for
        """Wait for all, or drop what is not done."""
        self._far.shutdown(wait=wait)
        self._here.executor.shutdown(wait=wait)


class _Watch:
    """Sees when the last worker is gone, and when the scheduler is."""

    def __init__(self, client: "Client") -> None:
        self._client = client
        self._seen = self._asked = time.monotonic()

    def __call__(self) -> None:
        now = time.monotonic()
        if now - self._asked < _ASKED_EVERY:
            return
        self._asked = now
        if self._working():
            self._seen = now
        elif now - self._seen > ALONE_SECONDS:
            raise Gone

    def _working(self) -> bool:
        try:
            return bool(_threads(self._client))
        except (OSError, CancelledError):
            return False


def _lost(job: Job, error: Exception) -> Answer:
    """Say that a job was lost: with all workers, or with each one that it was given to."""
    from distributed import KilledWorker  # noqa: PLC0415 - an extra

    if isinstance(error, KilledWorker):
        why = "each worker that looked at it ended meanwhile"
    elif isinstance(error, CancelledError | OSError | Gone):
        why = "no Dask worker is left to look at it"
    else:
        why = f"the worker could not do the job: {type(error).__name__}: {_first_line(error)}"
    trouble = TargetError(why, where=job.target.name, hint="see the logs of scheduler and workers")
    return Answer(job.number, None, trouble)
