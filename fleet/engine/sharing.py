"""Judging saved facts in several processes: those of thousands are work for more than one core.

The processes are forks, so nothing is handed to them.
"""

import gc
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor
from typing import TypeAlias

from fleet.dataclass import dataclass
from fleet.engine.context import Context
from fleet.engine.handed import both_having, packed, unpacked
from fleet.engine.judging import Judged
from fleet.engine.pool import Crew, as_they_come
from fleet.engine.processes import Processes
from fleet.inventory.model import Target

SHARE = 50  # targets that are judged in one go
MOST = 8  # processes

Judge: TypeAlias = Callable[[Sequence[Target]], Iterator[Judged]]


def _processors() -> int:
    """Return how many processors this process may use; one where a fork is not safe."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else 1


@dataclass(frozen=True, slots=True)
class _Work:
    targets: Sequence[Target]
    judge: Judge


# Where a fork finds its work: set before it is made.
_WORK: list[_Work] = []


def shared_out(targets: Sequence[Target], context: Context, judge: Judge) -> Iterator[Judged]:
    """Judge targets in several processes, and yield each as it comes.

    Where a process is ended from outside, its share is judged once more.

    Args:
        targets: whom to judge.
        context: what the run shares.
        judge: judges some of them; it opens nothing, and starts no thread.
    """
    context.secrets.prepare(targets)
    for target in targets:
        context.toolkit(target)  # read here, once
    shares = range(SHARE, len(targets), SHARE)
    count = min(MOST, _processors(), len(shares))
    if count <= 1:
        yield from judge(targets)
        return
    yield from judge(targets[:SHARE])  # what that imports and works out, forks need not again
    _WORK.append(_Work(targets, judge))
    gc.freeze()  # so that no fork copies what it only looks at
    gc.disable()  # nearly all that comes is held to the end; a fork's end is near too
    try:
        with both_having(targets, context):
            crew = Crew(Processes(count, forks=True), _judged, 2 * count, lost=_judged_here)
            for share in as_they_come(crew, shares):
                yield from unpacked(share)
    finally:
        gc.enable()
        gc.unfreeze()
        _WORK.pop()


def _judged(first: int) -> bytes:
    """Judge the share that begins with a target, in a fork."""
    work = _WORK[-1]
    return packed([*work.judge(work.targets[first : first + SHARE])])


def _judged_here(first: int, error: Exception) -> bytes:
    if isinstance(error, BrokenExecutor):
        return _judged(first)
    raise error
