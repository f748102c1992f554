"""Letting old runs go: by age and by number, and never the last run of a target."""

import json
import sqlite3
from collections.abc import Iterable
from datetime import datetime, timedelta

from fleet.dataclass import dataclass
from fleet.history.blobs import Blobs
from fleet.history.writing import micro


@dataclass(frozen=True, slots=True)
class Retention:
    """What is kept.

    Attributes:
        age: runs younger than this are; None sets no limit.
        most: the newest so many runs are; None sets no limit.
    """

    age: timedelta | None = None
    most: int | None = None


@dataclass(frozen=True, slots=True)
class Pruned:
    """What letting go came to.

    Attributes:
        runs: ids of the runs that are gone, or would be; the oldest first.
        last: ids of runs that are past the limit and stay, because one of them is a target's last.
        bytes: how much smaller the file became.
    """

    runs: tuple[str, ...]
    last: tuple[str, ...]
    bytes: int = 0


def past(connection: sqlite3.Connection, retention: Retention, now: datetime) -> Pruned:
    """Say which runs are past the limits; a target's last run, and the last that saw it, stay."""
    rows = connection.execute(
        "SELECT id, name, started FROM run ORDER BY started DESC, id DESC"
    ).fetchall()
    oldest = None if retention.age is None else micro(now - retention.age)
    beyond = [
        (number, name)
        for place, (number, name, started) in enumerate(rows)
        if (oldest is not None and started < oldest)
        or (retention.most is not None and place >= retention.most)
    ]
    needed = _last(connection)
    gone = tuple(name for number, name in reversed(beyond) if number not in needed)
    return Pruned(gone, tuple(name for number, name in reversed(beyond) if number in needed))


def _last(connection: sqlite3.Connection) -> set[int]:
    """Return the last run of each target: any, one that has facts, and one that changed it."""
    found: set[int] = set()
    for source, condition in (("result", ""), ("result", " AND facts IS NOT NULL"), ("action", "")):
        rows = connection.execute(
            f"SELECT target, run, max(started) FROM {source} JOIN run ON run.id = {source}.run"  # noqa: S608 - words from this file
            f" WHERE 1{condition} GROUP BY target"
        )
        found |= {run for _, run, _ in rows}
    return found


def drop(connection: sqlite3.Connection, blobs: Blobs, names: Iterable[str]) -> None:
    """Remove runs and all that only they consist of; the transaction is the caller's."""
    for name in names:
        row = connection.execute("SELECT id FROM run WHERE name = ?", (name,)).fetchone()
        if row is None:
            continue
        for table in ("result", "action"):
            connection.execute(f"DELETE FROM {table} WHERE run = ?", row)  # noqa: S608 - names from this file
        connection.execute("DELETE FROM run WHERE id = ?", row)
    connection.execute("DELETE FROM findings WHERE id NOT IN (SELECT findings FROM result)")
    _sweep(connection, blobs)


def _sweep(connection: sqlite3.Connection, blobs: Blobs) -> None:
    connection.execute("CREATE TEMP TABLE held (id INTEGER PRIMARY KEY)")
    try:
        _mark(connection, blobs)
        connection.execute("DELETE FROM finding WHERE body NOT IN (SELECT id FROM temp.held)")
        # What others build on stays as long as they do.
        connection.execute(
            "INSERT OR IGNORE INTO temp.held SELECT base FROM blob"
            " WHERE base IS NOT NULL AND id IN (SELECT id FROM temp.held)"
        )
        connection.execute("PRAGMA defer_foreign_keys = ON")
        connection.execute("DELETE FROM blob WHERE id NOT IN (SELECT id FROM temp.held)")
        connection.execute(
            "DELETE FROM target WHERE id NOT IN (SELECT target FROM result)"
            " AND id NOT IN (SELECT target FROM action)"
        )
    finally:
        connection.execute("DROP TABLE temp.held")
    blobs.forget()


def _mark(connection: sqlite3.Connection, blobs: Blobs) -> None:
    for table, columns in (
        ("run", ("gates", "drift", "volatile")),
        ("result", ("about", "facts", "contents", "trouble", "pieces")),
        ("action", ("steps",)),
        ("findings", ("list", "tally")),
    ):
        for column in columns:
            connection.execute(
                f"INSERT OR IGNORE INTO temp.held SELECT DISTINCT {column} FROM {table}"  # noqa: S608 - names from this file
                f" WHERE {column} IS NOT NULL"
            )
    lists = connection.execute("SELECT DISTINCT contents FROM result WHERE contents IS NOT NULL")
    held = {n for (number,) in lists.fetchall() for n in json.loads(blobs.get(number))}
    told: set[int] = set()
    for (number,) in connection.execute("SELECT list FROM findings").fetchall():
        told.update(json.loads(blobs.get(number)))
    connection.executemany("INSERT OR IGNORE INTO temp.held VALUES (?)", [(n,) for n in held])
    connection.execute("CREATE TEMP TABLE named (id INTEGER PRIMARY KEY)")
    connection.executemany("INSERT INTO temp.named VALUES (?)", [(n,) for n in told])
    connection.execute(
        "INSERT OR IGNORE INTO temp.held SELECT body FROM finding"
        " WHERE id IN (SELECT id FROM temp.named)"
    )
    connection.execute("DROP TABLE temp.named")
