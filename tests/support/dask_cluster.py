"""A real Dask cluster on loopback: a scheduler and workers, each a process of its own."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from support.loopback import free_port


class Cluster:
    """A scheduler and workers.

    Args:
        folder: where they write.
        environ: what the workers' environment has beside this process's.
        workers: how many.
        threads: of each worker.
    """

    def __init__(
        self, folder: Path, environ: Mapping[str, str], *, workers: int = 2, threads: int = 2
    ) -> None:
        self._folder, self._environ = folder, environ
        self._number, self._threads = workers, threads
        self.port = free_port()
        self.workers: list[subprocess.Popen[bytes]] = []
        self._scheduler: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        """What `--executor` takes."""
        return f"dask://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        here = ["--host", "127.0.0.1", "--no-dashboard", "--dashboard-address", "127.0.0.1:0"]
        self._scheduler = self._started("scheduler", [*here, "--port", str(self.port)])
        for number in range(self._number):
            place = ["--nthreads", str(self._threads), "--no-nanny"]
            beside = ["--local-directory", str(self._folder / str(number)), "--death-timeout", "60"]
            words = [f"tcp://127.0.0.1:{self.port}", *here, *place, *beside]
            self.workers.append(self._started("worker", words))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for process in [*self.workers, self._scheduler]:
            if process is not None:
                process.kill()
                process.wait()

    def kill(self, number: int) -> None:
        """End a worker as a machine ends that loses its power."""
        self.workers[number].send_signal(signal.SIGKILL)
        self.workers[number].wait()

    def log(self) -> str:
        """Return what all of them wrote."""
        return "\n".join(path.read_text() for path in sorted(self._folder.glob("*.log")))

    def ready(self) -> Self:
        """Wait until every worker has said that it is there."""
        until = time.monotonic() + 90
        while self.log().count("Registered to:") < self._number:
            assert time.monotonic() < until, self.log()
            time.sleep(0.05)
        return self

    def _started(self, what: str, words: list[str]) -> subprocess.Popen[bytes]:
        self._folder.mkdir(parents=True, exist_ok=True)
        environ = {**os.environ, **self._environ}
        name = f"{what}-{len(self.workers)}.log"
        with (self._folder / name).open("wb") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "distributed.cli.dask_" + what, *words],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environ,
            )
