"""Judging saved facts in several processes: those of thousands are work for more than one core.

The processes are forks, so nothing is handed to them, and what they hand back names targets,
systems and toolkits instead of carrying them.
"""

import copyreg
import gc
import io
import os
import pickle
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import TypeAlias

from fleet.engine.context import Context
from fleet.engine.judging import Judged
from fleet.engine.pool import Crew, as_they_come
from fleet.engine.processes import Processes
from fleet.history.model import Piece
from fleet.inventory.model import Target
from fleet.systems.model import System
from fleet.verifier.model import Finding
from fleet.verifier.toolkit import Toolkit

SHARE = 50  # targets that are judged in one go
MOST = 8  # processes

Judge: TypeAlias = Callable[[Sequence[Target]], Iterator[Judged]]


def _processors() -> int:
    """Return how many processors this process may use; one where a fork is not safe."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else 1


@dataclass(frozen=True, slots=True)
class _Work:
    targets: Sequence[Target]
    names: Mapping[str, Target]
    context: Context
    judge: Judge


# Of these there are very many, and the library's own way asks each of them for its fields.
_values = attrgetter(*(field.name for field in fields(Finding)))
_told = attrgetter(*(field.name for field in fields(Piece)))

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
    _WORK.append(_Work(targets, {target.name: target for target in targets}, context, judge))
    gc.freeze()  # so that no fork copies what it only looks at
    gc.disable()  # nearly all that comes is held to the end; a fork's end is near too
    try:
        crew = Crew(Processes(count, forks=True), _judged, 2 * count, lost=_judged_here)
        for packed in as_they_come(crew, shares):
            yield from pickle.loads(packed)  # noqa: S301 - a fork of this very process wrote it
    finally:
        gc.enable()
        gc.unfreeze()
        _WORK.pop()


def _judged(first: int) -> bytes:
    """Judge the share that begins with a target, in a fork."""
    work = _WORK[-1]
    packed = io.BytesIO()
    _Writer(packed, pickle.HIGHEST_PROTOCOL).dump(
        [*work.judge(work.targets[first : first + SHARE])]
    )
    return packed.getvalue()


def _judged_here(first: int, error: Exception) -> bytes:
    if isinstance(error, BrokenExecutor):
        return _judged(first)
    raise error


def _target(name: str) -> Target:
    return _WORK[-1].names[name]


def _system(name: str) -> System:
    return _WORK[-1].context.catalogue.system(name)


def _toolkit(clone: str) -> Toolkit:
    return _WORK[-1].context.toolkits[clone]


def _clone(toolkit: Toolkit) -> str:
    held = _WORK[-1].context.toolkits
    return next(clone for clone, one in held.items() if one is toolkit)


class _Writer(pickle.Pickler):
    """Writes what was judged; what both sides have is named, and not written."""

    dispatch_table = copyreg.dispatch_table | {
        Target: lambda target: (_target, (target.name,)),
        System: lambda system: (_system, (system.system,)),
        Toolkit: lambda toolkit: (_toolkit, (_clone(toolkit),)),
        Finding: lambda finding: (Finding, _values(finding)),
        Piece: lambda piece: (Piece, _told(piece)),
    }
