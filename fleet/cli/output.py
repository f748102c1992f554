"""Where reports go: a screen, a pipe, or a file that is written whole or not at all."""

import os
import shutil
import sys
import tempfile
from pathlib import Path

import click

from fleet.cli.options import Options
from fleet.cli.places import written
from fleet.reports.view import Detail, View, renderer
from fleet.verifier.run import Run, conclude

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
    """Deliver a run's report and return its exit code."""
    conclusion = conclude(run)
    deliver(renderer(options.format)(run, view(options)), options)
    if options.output is not None and not options.quiet:
        click.echo(f"exit {conclusion.code}: {conclusion.reason}")
    return conclusion.code


def deliver(text: str, options: Options) -> None:
    """Write a report to where the options say."""
    if options.output is None:
        click.echo(text, nl=False, color=True)
        return
    write(options.output, text)
    if not options.quiet:
        click.echo(f"report written to {options.output}")


def write(path: Path, text: str, mode: int = 0o666) -> None:
    """Write a file beside its place and rename it there; devices and pipes are written directly.

    Args:
        path: a link is followed, and stays.
        text: encoded in UTF-8.
        mode: permission bits of a new file, less the umask; an old file keeps its own.

    Raises:
        UsageError: it could not be written; what was there before is untouched.
    """
    with written(path):
        _write(path.resolve(), text.encode("utf-8", "backslashreplace"), mode)


def _write(place: Path, data: bytes, mode: int) -> None:
    if place.exists() and not place.is_file():
        place.write_bytes(data)
        return
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
