"""A history: the one door to it."""

import re
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from fleet.errors import HistoryError
from fleet.facts.model import Facts
from fleet.history.blobs import Blobs
from fleet.history.database import PATIENCE, opened, told, transaction
from fleet.history.model import Beside, Kept, Point, Since
from fleet.history.reading import STRIP, Reader
from fleet.history.retain import Pruned, Retention, drop, past
from fleet.history.veil import Veil
from fleet.history.writing import Writer
from fleet.secrets import Secret
from fleet.verifier.run import Run

_LAST = re.compile(r"last(?:~(\d{1,6}))?")
SHORT = 500  # milliseconds that giving room back waits for others
_LIST = "`fleet history` lists the runs that are kept"


class History:
    """Runs in one SQLite file. Use it in a ``with``; it belongs to one thread at a time.

    Args:
        path: the file.
        write: whether runs will be kept; a missing file is made then, readable to its owner only.
            Who only reads sees the file as it is now until it is closed, whatever others do to it.

    Raises:
        HistoryError: the file cannot be opened, is no history, or a newer fleet wrote it. Every
            method may raise it too.
    """

    def __init__(self, path: Path, *, write: bool = False) -> None:
        self.path = path
        self._connection = opened(path, write=write)
        self._blobs = Blobs(self._connection)
        self._reader = Reader(self._connection, self._blobs)
        self._seen = 0
        if not write:
            with told(path):
                self._connection.execute("BEGIN")
                self._connection.execute("SELECT id FROM run LIMIT 1").fetchone()  # from here on

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        with told(self.path):
            self._connection.close()

    def save(self, run: Run, beside: Beside | None = None, *, hide: Iterable[Secret] = ()) -> str:
        """Keep a run, whole or not at all, and return the id it goes by.

        Args:
            run: what to keep.
            beside: what is kept with it.
            hide: secrets of the run; where a value of theirs stands in it all the same, it is
                masked, and a file's content that holds one is not kept.
        """
        with told(self.path), transaction(self._connection):
            self._refresh()
            return Writer(self._connection, self._blobs, Veil(hide)).run(run, beside or Beside())

    def load(self, name: str, *, facts: bool = True) -> Run:
        """Return a run as it was, but for the variables of its targets, which are not kept.

        Args:
            name: an id, a beginning of one, ``last``, or ``last~1`` for the one before.
            facts: whether its facts are needed.
        """
        with self._using():
            return self._reader.run(self.resolve(name), facts=facts)

    def facts(self, name: str, target: str) -> Facts | None:
        """Return what one run read on one target; None where it read nothing there."""
        with self._using():
            return self._reader.facts(self.resolve(name), target)

    def state(
        self, *, after: datetime | None = None, until: datetime | None = None
    ) -> tuple[Run, Beside] | None:
        """Return each target as it was last seen within a time, as if one run had seen all.

        None where nothing was seen in it. Facts are left out.
        """
        from fleet.history.compare import together  # noqa: PLC0415 - lazy, few commands compare

        with self._using():
            latest = self._reader.latest(after, until)
            if not latest:
                return None
            runs = {name: self._reader.run(name, facts=False) for name in set(latest.values())}
            kept = {name: self._reader.beside(name) for name in runs}
        return together(latest, runs, kept)

    def beside(self, name: str) -> Beside:
        """Return who ran a run, what it changed, and which artifacts lay where."""
        with self._using():
            return self._reader.beside(self.resolve(name))

    def listed(self, name: str) -> Kept:
        """Return one run as a list shows it."""
        with self._using():
            return self._reader.listed(self.resolve(name))

    def runs(self, most: int | None = None) -> list[Kept]:
        """Return what is kept, the newest run first."""
        with self._using():
            return list(self._reader.runs(most))

    def targets(self) -> list[str]:
        """Return every target that a run looked at, by name."""
        with self._using():
            rows = self._connection.execute(
                "SELECT DISTINCT name FROM target JOIN result ON result.target = target.id"
                " ORDER BY name"
            )
            return [str(name) for (name,) in rows]

    def resolve(self, name: str) -> str:
        """Return the id that a word means: itself, a beginning of one, ``last``, ``last~1``.

        Raises:
            HistoryError: it means none, or several.
        """
        with self._using():
            last = _LAST.fullmatch(name)
            found = self._back(int(last[1] or 0)) if last else self._beginning(name)
        if len(found) == 1:
            return found[0]
        if found:
            some = ", ".join(found[:3]) + (", ..." if len(found) > 3 else "")  # noqa: PLR2004
            raise HistoryError(f"several runs begin with {name}", hint=some)
        raise HistoryError(f"there is no run {name}", where=str(self.path), hint=_LIST)

    def strips(
        self, targets: Iterable[str], *, most: int = STRIP, until: str | None = None
    ) -> dict[str, list[Point]]:
        """Return what targets came down to in their last runs, the oldest first, by target."""
        with self._using():
            return {t: self._reader.strip(t, most=most, until=until) for t in targets}

    def since(self, gate: str, target: str, *, until: str | None = None) -> Since | None:
        """Return since when a gate gives its verdict on a target; None where it was never asked."""
        return self.sinces(target, [gate], until=until).get(gate)

    def sinces(
        self, target: str, gates: Iterable[str] | None = None, *, until: str | None = None
    ) -> dict[str, Since]:
        """Return the same for several gates of a target, by gate, in one pass.

        Args:
            target: its name; of a finding about several targets ``fleet``, or the group's.
            gates: which; None means all that were asked last.
            until: a run's id; runs that started later are left out.
        """
        with self._using():
            return self._reader.since(target, gates, until=until)

    def prune(self, retention: Retention, now: datetime, *, dry: bool = False) -> Pruned:
        """Let old runs go; a target's last run stays whatever its age.

        Args:
            retention: what is kept.
            now: from which ages count.
            dry: only say what would go.
        """
        with self._using():
            before = self._size()
            if dry:
                return past(self._connection, retention, now)
            with transaction(self._connection):
                self._refresh()
                found = past(self._connection, retention, now)
                if found.runs:
                    drop(self._connection, self._blobs, found.runs)
            if found.runs:
                self._shrink()
            return replace(found, bytes=max(0, before - self._size()))

    @contextmanager
    def _using(self) -> Iterator[None]:
        with told(self.path):
            self._refresh()
            yield

    def _refresh(self) -> None:
        """Forget what was read where another program wrote: its numbers may mean others now."""
        seen = int(self._connection.execute("PRAGMA data_version").fetchone()[0])
        if seen != self._seen:
            self._seen = seen
            self._blobs.forget()
            self._reader.forget()

    def _shrink(self) -> None:
        """Give the room back, unless others use the file just now: then it is used again later."""
        self._connection.execute(f"PRAGMA busy_timeout = {SHORT}")
        with suppress(sqlite3.OperationalError):
            self._connection.execute("VACUUM")
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self._connection.execute(f"PRAGMA busy_timeout = {int(PATIENCE * 1000)}")

    def _size(self) -> int:
        return self.path.stat().st_size

    def _back(self, steps: int) -> list[str]:
        rows = self._connection.execute(
            "SELECT name FROM run ORDER BY started DESC, id DESC LIMIT 1 OFFSET ?", (steps,)
        )
        return [str(name) for (name,) in rows]

    def _beginning(self, name: str) -> list[str]:
        rows = self._connection.execute(
            "SELECT name FROM run WHERE substr(name, 1, ?) = ? ORDER BY name", (len(name), name)
        )
        found = [str(row[0]) for row in rows]
        return [name] if name in found else found
