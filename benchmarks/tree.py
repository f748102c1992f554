"""Run a program with all that it starts, for a limited time, and tell what the whole of it cost.

Called as a program it runs another and writes the cost as JSON to the descriptor named first. It
is the one that inherits whatever the other leaves behind: connections that are kept open in the
background are ended, and what they used is counted.
"""

import ctypes
import json
import os
import resource
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_BECOME_REAPER = 36  # PR_SET_CHILD_SUBREAPER
_LEAST = 0.25
_SHARE = 20  # looking at memory may take one part of so many of the time


@dataclass(frozen=True, slots=True)
class Whole:
    """What a program and all below it cost.

    Attributes:
        wall: seconds until it ended.
        processor: seconds of all of them together.
        peak: KiB of memory that all of them held together, each shared page counted once; or what
            the largest held alone, where that is more.
        late: whether it was ended because its time was over.
    """

    code: int
    wall: float
    processor: float
    peak: int
    late: bool
    output: bytes = b""
    errors: bytes = b""


def run_whole(
    words: Sequence[str], environ: Mapping[str, str], *, seconds: float, folder: Path | None = None
) -> Whole:
    """Run a program to its end, or until its time is over."""
    with (
        tempfile.TemporaryFile() as output,
        tempfile.TemporaryFile() as errors,
        tempfile.TemporaryFile() as told,
    ):
        small = [sys.executable, "-I", "-S", __file__, str(told.fileno()), str(seconds), *words]
        subprocess.run(
            small,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            env=dict(environ),
            cwd=folder,
            pass_fds=[told.fileno()],
            check=True,
        )
        for file in (output, errors, told):
            file.seek(0)
        cost = json.load(told)
        return Whole(**cost, output=output.read(), errors=errors.read())


def watched(words: Sequence[str], seconds: float) -> dict[str, object]:
    """Run a program, look at its memory now and then, and end what it leaves."""
    ctypes.CDLL(None, use_errno=True).prctl(_BECOME_REAPER, 1, 0, 0, 0)
    begun = time.perf_counter()
    pid = os.posix_spawn(words[0], list(words), os.environ, setsigmask=[])
    ended = os.pidfd_open(pid)
    most, pause, late = 0, _LEAST, False
    while not select.select([ended], [], [], pause)[0]:
        if time.perf_counter() - begun > seconds:
            late = True
            break
        looked = time.perf_counter()
        most = max(most, _memory(os.getpid()))
        pause = max(_LEAST, _SHARE * (time.perf_counter() - looked))
    wall = time.perf_counter() - begun
    status = _end_all(pid)
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "code": os.waitstatus_to_exitcode(status),
        "wall": round(wall, 4),
        "processor": round(usage.ru_utime + usage.ru_stime, 4),
        "peak": max(most, usage.ru_maxrss),
        "late": late,
    }


def _end_all(first: int) -> int:
    """End and reap everything below; return the status of the first."""
    status = 0
    while True:
        for pid in _below(os.getpid()):
            if pid != first or not _ended(first):
                _kill(pid)
        try:
            pid, told = os.waitpid(-1, 0)
        except ChildProcessError:
            return status
        status = told if pid == first else status


def _ended(pid: int) -> bool:
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _memory(root: int) -> int:
    """Return the KiB of everything below a process."""
    total = 0
    for pid in _below(root):
        try:
            text = Path(f"/proc/{pid}/smaps_rollup").read_text()
        except OSError:
            continue
        line = next((line for line in text.splitlines() if line.startswith("Pss:")), "Pss: 0 kB")
        total += int(line.split()[1])
    return total


def _below(root: int) -> list[int]:
    """Return all processes below one; those that come and go meanwhile may be missing."""
    found, waiting = [], [root]
    while waiting:
        pid = waiting.pop()
        try:
            threads = os.listdir(f"/proc/{pid}/task")  # noqa: PTH208 - names
            told = [Path(f"/proc/{pid}/task/{thread}/children").read_text() for thread in threads]
        except OSError:
            continue
        below = [int(word) for text in told for word in text.split()]
        found += below
        waiting += below
    return found


if __name__ == "__main__":
    # Ended from outside, it ends what it runs.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: sys.exit(_end_all(0)))
    os.write(int(sys.argv[1]), json.dumps(watched(sys.argv[3:], float(sys.argv[2]))).encode())
