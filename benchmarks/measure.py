"""Run a program and tell what it cost: time on the wall, time of the processor, memory.

Called as a program it runs another and writes the cost as JSON to the descriptor named first. What
a process held before it became another program counts as the other's, so that the parent has to be
a small one.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple


class Cost(NamedTuple):
    """What one run cost.

    Attributes:
        wall: seconds until it ended.
        processor: seconds of its own and of the processes it waited for.
        peak: KiB of memory, the most that one of its processes held.
    """

    wall: float
    processor: float
    peak: int


@dataclass(frozen=True, slots=True)
class Ended:
    """A run that came to its end."""

    code: int
    output: bytes
    errors: bytes
    cost: Cost


def run(words: Sequence[str], environ: Mapping[str, str]) -> Ended:
    """Run a program to its end."""
    with (
        tempfile.TemporaryFile() as output,
        tempfile.TemporaryFile() as errors,
        tempfile.TemporaryFile() as told,
    ):
        small = [sys.executable, "-I", "-S", __file__, str(told.fileno()), *words]
        subprocess.run(
            small,
            stdout=output,
            stderr=errors,
            env=dict(environ),
            pass_fds=[told.fileno()],
            check=True,
        )
        for file in (output, errors, told):
            file.seek(0)
        code, *cost = json.load(told)
        return Ended(code, output.read(), errors.read(), Cost(*cost))


def measured(words: Sequence[str]) -> tuple[int, Cost]:
    """Run a program to its end; return its exit code and its cost."""
    begun = time.perf_counter()
    _, status, usage = os.wait4(os.posix_spawn(words[0], list(words), os.environ), 0)
    wall = time.perf_counter() - begun
    cost = Cost(round(wall, 4), round(usage.ru_utime + usage.ru_stime, 4), usage.ru_maxrss)
    return os.waitstatus_to_exitcode(status), cost


def middle(costs: Sequence[Cost]) -> float:
    """Return the median of the time on the wall."""
    return median(cost.wall for cost in costs)


def peak(costs: Sequence[Cost]) -> float:
    """Return the most memory of all runs, in MB."""
    return max(cost.peak for cost in costs) * 1024 / 1_000_000


def machine() -> dict[str, object]:
    """Describe this machine, as far as it matters to a measurement."""
    names = {"model name": "processor"}
    found: dict[str, object] = {"processors": os.cpu_count()}
    with open("/proc/cpuinfo", encoding="utf-8") as lines:  # noqa: PTH123 - no file of ours
        for line in lines:
            key, _, value = line.partition(":")
            if key.strip() in names:
                found.setdefault(names[key.strip()], value.strip())
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {**found, "memory_gb": round(pages / 1e9, 1), "kernel": os.uname().release}


if __name__ == "__main__":
    ended, spent = measured(sys.argv[2:])
    os.write(int(sys.argv[1]), json.dumps([ended, *spent]).encode())
