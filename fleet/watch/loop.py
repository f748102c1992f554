"""The loop: audit, keep, expose, tell, and wait; whatever one round meets, the next one comes."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Lock
from typing import Protocol

from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric

from fleet.dataclass import dataclass
from fleet.errors import FleetError
from fleet.reports.prometheus import exposed, metrics
from fleet.reports.text import printable
from fleet.verifier.run import Run, conclude
from fleet.watch.memory import Memory, recalled, remember
from fleet.watch.serve import Page
from fleet.watch.tell import Destination
from fleet.watch.transitions import Transition, looked, step

LATE = 3  # rounds that may be missed before the watch is no longer healthy
GRACE = 120.0  # seconds that a round may take beside


class Fleet(Protocol):
    """The targets of one state of the inventory, and how they are audited."""

    def changed(self) -> bool:
        """Whether the inventory is another than when this was loaded."""
        ...

    def names(self) -> Iterable[str]:
        """Return the names that findings may be about: targets, groups and the fleet."""
        ...

    def open(self) -> AbstractContextManager[object]:
        """Keep connections open within the block."""
        ...

    def audit(self) -> Run:
        """Look at every target once and judge it."""
        ...

    def keep(self, run: Run) -> None:
        """Put a run into the history; tells by itself what goes wrong."""
        ...


@dataclass(frozen=True, slots=True)
class Plan:
    """How a fleet is watched.

    Attributes:
        every: seconds from the start of one round to the start of the next.
        hold: how long a state lasts before it is told.
        times: how many rounds there are; None goes on until it is stopped.
        memory: the file that remembers over a restart.
    """

    every: float
    hold: timedelta
    memory: Path
    times: int | None = None


@dataclass(slots=True)
class Watch:
    """Watches until it is interrupted.

    Attributes:
        load: loads the inventory.
        say: tells a line to whoever reads the log.
    """

    load: Callable[[], Fleet]
    plan: Plan
    destinations: Sequence[Destination]
    say: Callable[[str], None]
    sleep: Callable[[float], None] = time.sleep
    _run: Run | None = None
    _memory: Memory = field(default_factory=Memory)
    _rounds: int = 0
    _failed: int = 0
    _told: int = 0
    _untold: int = 0
    _inventory: bool = True
    _began: float = field(default_factory=time.monotonic)
    _ended: float | None = None
    _lock: Lock = field(default_factory=Lock)

    def run(self) -> None:
        """Watch; returns when all rounds are done, and leaves an interruption to the caller.

        Raises:
            FleetError: the inventory cannot be loaded at the start.
        """
        self._memory, trouble = recalled(self.plan.memory)
        if trouble:
            self.say(f"{self.plan.memory} is not read, so all begins anew: {trouble}")
        fleet = self.load()
        while True:
            with fleet.open():
                if self._rounds_of(fleet):
                    return
            fleet = self._reloaded(fleet)

    def _rounds_of(self, fleet: Fleet) -> bool:
        """Make rounds until the inventory is another; whether that was all of them."""
        while True:
            started = time.monotonic()
            self._round(fleet)
            if self._rounds == self.plan.times:
                return True
            self.sleep(max(0.0, started + self.plan.every - time.monotonic()))
            if fleet.changed():
                return False

    def _reloaded(self, fleet: Fleet) -> Fleet:
        try:
            loaded = self.load()
        except Exception as error:  # noqa: BLE001 - a watch outlives whatever it finds there
            where = error.where if isinstance(error, FleetError) else ""
            told = f"{_what(error)} ({printable(where)})" if where else _what(error)
            self.say(f"the inventory is broken, the last good one stays: {told}")
            self._inventory = False
            return fleet
        self.say("the inventory changed and is loaded anew")
        self._inventory = True
        return loaded

    def _round(self, fleet: Fleet) -> None:
        try:
            run = fleet.audit()
        except Exception as error:  # noqa: BLE001 - a watch outlives whatever one round meets
            self._met("this round could not be made", error)
        else:
            try:
                fleet.keep(run)
                self._take(run, fleet)
            except Exception as error:  # noqa: BLE001 - nor does what becomes of it end the watch
                self._met("this round could not be kept and told", error)
            with self._lock:
                self._ended = time.monotonic()  # not of a round that failed: nothing was looked at
        self._rounds += 1

    def _met(self, what: str, error: Exception) -> None:
        """Say what a round met."""
        self._failed += 1
        self.say(f"{what}: {_what(error)}")

    def _take(self, run: Run, fleet: Fleet) -> None:
        with self._lock:
            self._run = run
        held, found = step(
            self._memory.held, looked(run), datetime.now(UTC), self.plan.hold, fleet.names()
        )
        owed = dict(self._tell(found))
        self._memory = Memory(held, owed)
        try:
            remember(self.plan.memory, self._memory)
        except OSError as error:
            self.say(f"{self.plan.memory} cannot be written: {error.strerror or error}")
        conclusion = conclude(run)  # said last: who reads it may end the watch, and nothing is lost
        self.say(f"exit {conclusion.code}: {printable(conclusion.reason)}")

    def _tell(self, found: tuple[Transition, ...]) -> Iterator[tuple[int, tuple[Transition, ...]]]:
        """Tell every destination what is new and what it is owed; yields what stays owed."""
        for number, one in enumerate(self.destinations, start=1):
            due = (*self._memory.owed.get(number, ()), *found)
            if not due:
                continue
            trouble = one.tell(due)
            if trouble:
                self._untold += 1
                self.say(f"{one.name} could not be told, and is told again: {printable(trouble)}")
                yield number, due
            else:
                self._told += len(due)

    def metrics(self) -> Page:
        """Return the metrics of the last run, and of the watch itself."""
        with self._lock:
            run = self._run
        found = [*self._own(), *(metrics(run) if run else ())]
        return Page(200, exposed(found))

    def _own(self) -> Iterator[Metric]:
        for name, about, value in (
            ("fleet_watch_rounds", "Rounds that were made.", self._rounds),
            ("fleet_watch_failed_rounds", "Rounds that could not be made.", self._failed),
            ("fleet_watch_told", "Transitions that a destination was told.", self._told),
            ("fleet_watch_untold", "Times that a destination could not be told.", self._untold),
        ):
            yield CounterMetricFamily(name, about, value)
        yield GaugeMetricFamily(
            "fleet_watch_inventory_loaded",
            "Whether the inventory as it is now is loaded; 0: it is broken, an older counts.",
            float(self._inventory),
        )
        yield GaugeMetricFamily(
            "fleet_watch_interval_seconds", "How often a round is to be made.", self.plan.every
        )

    def health(self) -> Page:
        """Say whether audits are made: 200 where they are, 503 where none was for too long.

        "ok" is said from the first audit's end on; before it nothing was seen.
        """
        with self._lock:
            ended, rounds = self._ended, self._rounds
        late = time.monotonic() - (self._began if ended is None else ended)
        if late > LATE * self.plan.every + GRACE:
            return Page(503, f"no audit ended for {late:.0f} s, {self._failed} rounds failed\n")
        if ended is None:
            return Page(200, f"begun {late:.0f} s ago, no audit ended yet\n")
        return Page(200, f"ok, {rounds} rounds\n")


def _what(error: Exception) -> str:
    """Tell an error; of a fault only the kind, for its text may be a target's, or hold a secret."""
    return printable(error.what if isinstance(error, FleetError) else type(error).__name__)
