"""Progress for a person who waits: one line on stderr that leaves nothing behind."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING

import click

from fleet.cli.options import Options
from fleet.engine.observer import NullObserver, Observer

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

ROOM = 34  # cells for the names of those that are being worked on


class Told(NullObserver):
    """Tells only what concerns the whole job, one line each, on stderr.

    Args:
        each: whether what each target comes to is told too, as it comes.
    """

    def __init__(self, *, each: bool = False) -> None:
        self._each = each

    def target_judged(self, name: str, ok: bool, note: str) -> None:  # noqa: ARG002 - told either way
        """Tell a target's result, where that is wanted."""
        if self._each:
            self.said(f"{name}: {note}")

    def said(self, text: str) -> None:
        """Write it."""
        from fleet.reports.text import printable  # noqa: PLC0415 - lazy

        click.echo(printable(text), err=True)


class Bar:
    """Counts targets and names those that are being worked on. Safe from any thread.

    What a target comes to is told as it comes; where its gates hold, only if ``each`` says so.
    """

    def __init__(self, progress: "Progress", total: int | None, *, each: bool = False) -> None:
        self._progress = progress
        self._each = each
        self._failed: set[str] = set()
        self._lock = Lock()
        self._running: dict[str, None] = {}
        self._started = 0
        self._total = total
        self._task: TaskID = progress.add_task("starting", total=total, names="")

    def target_started(self, name: str, what: str) -> None:
        """Name a target that is being worked on."""
        with self._lock:
            self._running[name] = None
            self._started += 1  # a target that is asked again counts again
            total = None if self._total is None else max(self._total, self._started)
            self._progress.update(self._task, description=what, total=total, names=self._names())

    def target_finished(self, name: str, ok: bool, note: str) -> None:
        """Count a target; one that failed is told at once, so that nobody waits for nothing."""
        if not ok:
            self._failed.add(name)
            self.said(f"{name}: {note}" if note else f"{name}: failed")
        with self._lock:
            self._running.pop(name, None)
            self._progress.update(self._task, advance=1, names=self._names())

    def target_judged(self, name: str, ok: bool, note: str) -> None:
        """Tell what a target comes to, unless it was told already why it could not be asked."""
        if name not in self._failed and (self._each or not ok):
            self.said(f"{name}: {note}")

    def said(self, text: str) -> None:
        """Write a line above the bar."""
        from rich.text import Text  # noqa: PLC0415 - lazy

        from fleet.reports.text import printable  # noqa: PLC0415 - lazy

        self._progress.console.print(Text(printable(text)))

    def _names(self) -> str:
        from fleet.reports.text import names, printable, shorten  # noqa: PLC0415 - lazy

        return shorten(names([printable(name) for name in self._running], ROOM), ROOM)


@contextmanager
def watching(total: int | None, options: Options) -> Iterator[Observer]:
    """Show progress while the block runs: nothing with ``--quiet``, lines off a terminal."""
    if options.quiet:
        yield NullObserver()
    elif not sys.stderr.isatty():
        yield Told(each=options.verbose)
    else:
        with _progress() as progress:
            yield Bar(progress, total, each=options.verbose)


def _progress() -> "Progress":
    from rich.console import Console  # noqa: PLC0415 - lazy
    from rich.progress import (  # noqa: PLC0415 - lazy
        MofNCompleteColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
    )

    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[names]}", markup=False),
        console=Console(stderr=True),
        transient=True,
    )
