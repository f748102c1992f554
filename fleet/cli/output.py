"""Where reports go: a screen, a pipe, or a file that is written whole or not at all."""

import os
import secrets
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fleet.cli.options import Options
from fleet.cli.places import is_stream, written
from fleet.cli.wanted import Wanted
from fleet.errors import HistoryError, UsageError
from fleet.reports.formats import TIMED
from fleet.reports.view import Detail, View, renderer
from fleet.verifier.run import Conclusion, Run, conclude

if TYPE_CHECKING:
    from fleet.reports.past import Past

WIDTH = 80


def view(options: Options) -> View:
    """Find out how the report will be seen; a file or a pipe gets no colours and 80 columns."""
    plain = options.output is not None
    screen = sys.stdout.isatty() and not plain
    encoding = "utf-8" if plain else (sys.stdout.encoding or "ascii")
    return View(
        width=_width(screen=screen),
        colour=_coloured(screen=screen) and not plain,
        unicode=encoding.lower().replace("-", "").startswith("utf"),
        detail=_detail(options),
    )


def report(run: Run, options: Options) -> int:
    """Deliver a run's reports and return its exit code.

    A report that shows time tells what the history knows, where it has the run.

    Raises:
        UsageError: a file could not be written; all that could be delivered was.
    """
    conclusion = conclude(run)
    past = _past(run, options)
    filed = replace(_filed(options), past=past)
    rendered = [(wanted, renderer(wanted.format)(run, filed)) for wanted in options.files]
    seen = replace(view(options), past=past)
    loose = renderer(options.format)(run, seen) if options.format else None
    told: list[Wanted] = []
    trouble: UsageError | None = None
    for wanted, text in rendered:
        try:
            _place(wanted, text)
        except UsageError as error:
            trouble = trouble or error
        else:
            told.append(wanted)
    if loose is not None:
        deliver(loose, options)
    _say(told, conclusion, options)
    if trouble is not None:
        raise trouble
    return conclusion.code


def _say(written: Sequence[Wanted], conclusion: Conclusion, options: Options) -> None:
    """Say what was written where, and the verdict where no report on stdout tells it."""
    if options.quiet:
        return
    shown = options.format is not None and options.output is None
    for wanted in written:
        click.echo(f"{wanted.format} report written to {wanted.place}", err=shown)
    if not shown:
        click.echo(f"exit {conclusion.code}: {conclusion.reason}")


def _past(run: Run, options: Options) -> "Past | None":
    """Return what the history knows of a run's targets; None where no report shows it."""
    wanted = {options.format, *(one.format for one in options.files)}
    if options.no_history or options.from_run or not wanted & set(TIMED):
        return None
    from fleet.cli.keeping import kept  # noqa: PLC0415 - lazy
    from fleet.engine.past import past  # noqa: PLC0415 - lazy

    try:
        with kept(options) as history:
            return past(history, run)
    except HistoryError:  # the run is told all the same
        return None


def _filed(options: Options) -> View:
    return View(detail=_detail(options))


def _place(wanted: Wanted, text: str) -> None:
    if wanted.place is not None:
        (append if wanted.append else write)(wanted.place, text)


def deliver(text: str, options: Options) -> None:
    """Write a report to where the options say."""
    if options.output is None:
        click.echo(text if options.aside else _unheard(text), nl=False, color=True)
        return
    write(options.output, text)
    if not options.quiet:
        click.echo(f"report written to {options.output}")


def _unheard(text: str) -> str:
    """Keep a GitHub runner, which reads the log, from taking a line of a target for a command."""
    if os.environ.get("GITHUB_ACTIONS") != "true":
        return text
    token = secrets.token_hex(16)  # only who knows it makes the runner listen again
    return f"::stop-commands::{token}\n{text}::{token}::\n"


def write(path: Path, text: str | bytes, mode: int = 0o666) -> None:
    """Write a file beside its place and rename it there; devices and pipes are written directly.

    Args:
        path: a link is followed, and stays.
        text: encoded in UTF-8; bytes as they are.
        mode: permission bits of a new file, less the umask; an old file keeps its own.

    Raises:
        UsageError: it could not be written; what was there before is untouched.
    """
    data = text if isinstance(text, bytes) else text.encode("utf-8", "backslashreplace")
    with written(path):
        if is_stream(path):
            with path.open("ab") as stream:
                stream.write(data)
        else:
            _write(path.resolve(), data, mode)


def _write(place: Path, data: bytes, mode: int) -> None:
    handle, name = tempfile.mkstemp(prefix=f".{place.name[:100]}.", dir=place.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        Path(name).chmod(place.stat().st_mode & 0o777 if place.exists() else mode & ~_umask())
        Path(name).replace(place)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def append(path: Path, text: str) -> None:
    """Add to a file, or begin it; what a failure wrote of it is taken back.

    Raises:
        UsageError: it could not be written; what was there before is untouched.
    """
    data = text.encode("utf-8", "backslashreplace")
    with written(path), path.open("ab", buffering=0) as stream:
        size = None if is_stream(path) else os.fstat(stream.fileno()).st_size
        try:
            while data:
                data = data[stream.write(data) or 0 :]
        except OSError:
            if size is not None:
                stream.truncate(size)
            raise


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _width(*, screen: bool) -> int:
    if screen or os.environ.get("COLUMNS"):
        return shutil.get_terminal_size((WIDTH, 24)).columns
    return WIDTH


def _coloured(*, screen: bool) -> bool:
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return screen or bool(os.environ.get("FORCE_COLOR"))


def _detail(options: Options) -> Detail:
    if options.verbose:
        return Detail.VERBOSE
    return Detail.QUIET if options.quiet else Detail.NORMAL
