"""Files and folders on this machine that a command writes to: tried before the work, not after."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from fleet.errors import UsageError

ELSEWHERE = "name another place, or make this one writable"


def writable(_ctx: click.Context, _param: click.Parameter, path: Path | None) -> Path | None:
    """Take a file for a report; ``-`` is stdout.

    Raises:
        UsageError: it could not be written after the work.
    """
    if path is None or str(path) == "-":
        return None
    try_file(path, hint=f"-o {path}/report")
    return path


def try_file(path: Path, hint: str = ELSEWHERE) -> None:
    """Refuse before the work what could not be written after it.

    Raises:
        UsageError: it could not; ``hint`` says what to do where it is a folder.
    """
    with written(path):
        place = path.resolve()
        if place.is_dir():
            raise UsageError(f"{path} is a folder; it takes a file", hint=hint)
        if is_stream(path):
            if not os.access(path, os.W_OK):
                raise PermissionError(13, "Permission denied")
            return
        if not place.parent.is_dir():
            folder = place.parent
            if not next(above for above in place.parents if above.exists()).is_dir():
                raise NotADirectoryError(20, "Not a directory")
            raise UsageError(f"there is no folder {folder} to write to", hint=f"mkdir -p {folder}")
        _try(place.parent)


def is_stream(path: Path) -> bool:
    """Whether it is no file of its own: a device, a pipe, or a stream of this process."""
    own = str(path).startswith(("/dev/", "/proc/"))
    return path.exists() and (own or not path.is_file())


def made_folder(folder: Path, mode: int = 0o777) -> None:
    """Make a folder, with those above it, and make sure that files can be put there.

    Raises:
        UsageError: it cannot be made, or nothing can be put there.
    """
    with written(folder):
        folder.mkdir(parents=True, exist_ok=True, mode=mode)
        _try(folder)


def _try(folder: Path) -> None:
    """Put a file there and take it away: rights alone do not tell (/proc, a full disk)."""
    with tempfile.NamedTemporaryFile(prefix=".fleet-", dir=folder):
        pass


@contextmanager
def written(path: Path) -> Iterator[None]:
    """Turn what keeps a path from being written into an error that says so.

    Raises:
        UsageError: names the path, and why.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        why = error.strerror or str(error)
        raise UsageError(f"{path} cannot be written: {why}", hint=ELSEWHERE) from None
    except RuntimeError:  # what pathlib makes of a link that leads to itself
        raise UsageError(f"{path} leads through a link loop", hint=ELSEWHERE) from None
