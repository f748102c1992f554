"""From whatever went wrong to a few plain lines and an exit code."""

import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress

import click

from fleet.engine.ending import BASE, Ended
from fleet.errors import FleetError, InventoryError

FAILED = 1
INTERRUPTED = BASE + signal.SIGINT
LONGEST = 2000


def guarded(work: Callable[[], object]) -> int:
    """Run a command and return its exit code; errors are told on stderr, and never raised."""
    try:
        result = work()
        sys.stdout.flush()
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return FAILED
    except click.ClickException as error:
        return _told(_of_click(error))
    except FleetError as error:
        return _told(told(error))
    except (KeyboardInterrupt, click.Abort) as error:
        return _interrupted(error)
    except BrokenPipeError:
        _close_quietly()
        return FAILED
    except OSError as error:
        return _failed_in_system(error)
    except Exception as error:  # noqa: BLE001 - the last line of defence tells, it does not hide
        return _failed_inside(error)
    return result if isinstance(result, int) else 0


def told(error: FleetError) -> Iterator[str]:
    """Tell an error: what, where, and what to do next; several mistakes of a file one by one."""
    several = getattr(error, "problems", None)
    if isinstance(error, InventoryError) and isinstance(several, tuple):
        for problem in several:
            yield from told(problem)
        yield f"{len(several)} mistakes"
        return
    yield f"error: {error.what}"
    if error.where:
        yield f"  in {error.where}" if isinstance(error, InventoryError) else f"  {error.where}"
    yield from (f"  {line}" for line in error.hint.splitlines())


def _interrupted(error: BaseException) -> int:
    ended = error if isinstance(error, Ended) else error.__cause__
    if not isinstance(ended, Ended) or ended.number == signal.SIGINT:
        _told(["interrupted"])
        return INTERRUPTED
    _told([f"ended by {ended}"])
    return BASE + ended.number


def _of_click(error: click.ClickException) -> Iterator[str]:
    message = error.format_message().rstrip(".")
    first, *more = message.splitlines() or [""]
    yield f"error: {first[:1].lower()}{first[1:]}"
    yield from (f"    {line.strip()}" for line in more)
    context = getattr(error, "ctx", None)
    if isinstance(context, click.Context):
        yield f"  {context.command_path} --help tells what it takes"


def _failed_in_system(error: OSError) -> int:
    where = f"  {error.filename}" if error.filename is not None else ""
    _close_quietly()
    return _told([f"error: {error.strerror or error}", where, *_traceback()])


def _failed_inside(error: Exception) -> int:
    text = " ".join(str(error).split()) or "no message"
    where = _traceback() or ["  FLEET_DEBUG=1 shows where; please report it with those lines"]
    return _told([f"error: {type(error).__name__}: {text}; this is a bug in fleet", *where])


def _traceback() -> list[str]:
    return traceback.format_exc().splitlines() if os.environ.get("FLEET_DEBUG") == "1" else []


def _told(lines: Iterable[str]) -> int:
    """Write lines to stderr; a stderr that is gone does not matter any more."""
    from fleet.reports.text import clip, printable  # noqa: PLC0415 - rich is not for `--help`

    with suppress(OSError):
        for line in filter(None, lines):
            click.echo(clip(printable(line), LONGEST), err=True)
    return FAILED


def _close_quietly() -> None:
    """Point stdout at nothing, so that the interpreter's own last flush does not complain."""
    try:
        sink = os.open(os.devnull, os.O_WRONLY)
        os.dup2(sink, sys.stdout.fileno())
        os.close(sink)
    except (OSError, ValueError):
        return  # stdout is no file, or closed: there is nothing left to flush
