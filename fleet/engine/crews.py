"""Who looks at targets: threads of this process, other processes, or the workers of a cluster.

All of them are the library's own ``concurrent.futures.Executor``, and all carry out the same jobs.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from fleet.engine.context import Context
from fleet.engine.job import Answer, Job, carry_out
from fleet.engine.options import PROCESSES, THREADS, AuditOptions
from fleet.engine.pool import Crew, Threads
from fleet.inventory.model import Scheme

#: Seconds after which a host that has not answered makes room for another one.
SLOW_SECONDS = 2.0
#: How many hosts may be waited for beside those that are counted.
SPARE = 64


@contextmanager
def crew_of(options: AuditOptions, context: Context) -> Iterator[Crew[Job, Answer]]:
    """Gather those who look, for the length of the block.

    Raises:
        UsageError: they cannot be had.
    """
    if options.executor == THREADS:
        yield of_threads(options, context)
        return
    if options.executor == PROCESSES:
        from fleet.engine.processes import crew_of_processes  # noqa: PLC0415 - lazy

        with crew_of_processes(options.jobs) as crew:
            yield crew
        return
    from fleet.engine.cluster import crew_of_cluster  # noqa: PLC0415 - lazy

    with crew_of_cluster(options.executor, of_threads(options, context)) as crew:
        yield crew


def of_threads(options: AuditOptions, context: Context) -> Crew[Job, Answer]:
    """Return threads of this process; the only ones that can keep connections open."""

    def work(job: Job) -> Answer:
        return carry_out(job, context.connections, context.secrets)

    spare = 0 if options.jobs == 1 else SPARE  # who wants one at a time gets one at a time
    return Crew(Threads(), work, options.jobs, spare, slow_to_answer)


def slow_to_answer(job: Job) -> float | None:
    """Return when a target is slow: only a host's work is done elsewhere and costs nothing."""
    return SLOW_SECONDS if job.target.address.scheme is Scheme.SSH else None
