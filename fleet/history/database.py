"""A history's file: made private, opened, and brought to today's tables."""

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from fleet.errors import HistoryError
from fleet.history.schema import APPLICATION, STEPS, VERSION

PRIVATE = 0o600
PATIENCE = 30.0  # seconds that one writer waits for another
ELSEWHERE = "--history FILE names another; --no-history keeps none"


@contextmanager
def told(path: Path) -> Iterator[None]:
    """Turn what goes wrong with a history's file into an error that names it.

    Raises:
        HistoryError: says what is wrong, and what can be done.
    """
    try:
        yield
    except sqlite3.Error as error:
        what, hint = _meaning(error)
        raise HistoryError(f"the history {what}", where=str(path), hint=hint) from None
    except OSError as error:
        why = error.strerror or str(error)
        raise HistoryError(
            f"the history cannot be used: {why}", where=str(path), hint=ELSEWHERE
        ) from None


def _meaning(error: sqlite3.Error) -> tuple[str, str]:
    text = " ".join(str(error).split())
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
        return f"is damaged, or is none: {text}", f"move it away and begin anew; {ELSEWHERE}"
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return f"is held by another program: {text}", f"run it again later; {ELSEWHERE}"
    return f"cannot be used: {text}", ELSEWHERE


def opened(path: Path, *, write: bool = True) -> sqlite3.Connection:
    """Open a history; to write, a missing one is made, readable to its owner only.

    Raises:
        HistoryError: it cannot be opened, is no history, or a newer fleet wrote it.
    """
    with told(path):
        if write:
            _made(path)
        elif not path.exists():
            raise HistoryError(
                "there is no history yet",
                where=str(path),
                hint="`fleet audit` and `fleet check` keep each run; --history FILE names another",
            )
        connection = _connected(path, write=write)
        try:
            _brought(connection, path, write=write)
        except BaseException:
            connection.close()
            raise
        return connection


def _made(path: Path) -> None:
    """Make the file private before SQLite opens it; what SQLite puts beside it gets its rights."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, PRIVATE))


def _connected(path: Path, *, write: bool) -> sqlite3.Connection:
    address = f"{path.resolve().as_uri()}?mode={'rw' if write else 'ro'}"
    connection = sqlite3.connect(
        address, uri=True, timeout=PATIENCE, isolation_level=None, check_same_thread=False
    )
    connection.execute("PRAGMA foreign_keys = ON")
    return connection


def _brought(connection: sqlite3.Connection, path: Path, *, write: bool) -> None:
    version = _version(connection, path)
    if not write:
        if version != VERSION:
            _unread(path, version)
        return
    _write_ahead(connection)
    if version == VERSION:
        return
    with transaction(connection):
        for number in range(_version(connection, path), VERSION):
            for statement in STEPS[number].split(";"):
                if statement.strip():
                    connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute(f"PRAGMA user_version = {VERSION}")


def _unread(path: Path, version: int) -> None:
    if version == 0:
        raise HistoryError("the history is empty", where=str(path))
    # Reading never changes a file by itself, but an old one has to be brought to today's tables.
    opened(path, write=True).close()


def _version(connection: sqlite3.Connection, path: Path) -> int:
    application = int(connection.execute("PRAGMA application_id").fetchone()[0])
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    tables = int(connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])
    if tables and application != APPLICATION:
        raise HistoryError(
            "this is a database of something else, not a history of fleet",
            where=str(path),
            hint=ELSEWHERE,
        )
    if version > VERSION:
        raise HistoryError(
            f"a newer fleet wrote this history (its version {version}; this fleet reads up to"
            f" {VERSION})",
            where=str(path),
            hint=f"update fleet here; {ELSEWHERE}",
        )
    return version


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Switch to write-ahead logging: who reads never waits for who writes."""
    until = time.monotonic() + PATIENCE
    while connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        try:
            connection.execute("PRAGMA journal_mode = wal")
        except sqlite3.OperationalError:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)  # another program is switching it; SQLite itself does not wait here
        else:
            return  # where the file system cannot, SQLite keeps its older way, which is as safe


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Hold the file for writing: all of it is kept or none; one writer waits for another."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")
