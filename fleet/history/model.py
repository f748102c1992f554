"""What the history tells: plain data."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from fleet.verifier.model import Verdict
from fleet.verifier.run import UNSEEN


@dataclass(frozen=True, slots=True)
class Kept:
    """One run, as a list shows it.

    Attributes:
        id: what it goes by.
        fleet: the version of fleet that judged.
        targets: how many it was about.
        counts: its findings by verdict; ``required`` the same of required ones.
    """

    id: str
    command: str
    started: datetime
    finished: datetime
    strict: bool
    fleet: str
    targets: int
    counts: Mapping[Verdict, int]
    required: Mapping[Verdict, int]


@dataclass(frozen=True, slots=True)
class Point:
    """One target in one run.

    Attributes:
        run: the run's id.
        moment: when it was looked at.
        reachable: whether there were facts.
        counts: its findings by verdict; ``required`` the same of required ones.
    """

    run: str
    moment: datetime
    reachable: bool
    counts: Mapping[Verdict, int] = field(default_factory=dict)
    required: Mapping[Verdict, int] = field(default_factory=dict)

    @property
    def verdict(self) -> Verdict:
        """Return what it comes down to: by required findings, as the exit code does."""
        if not self.reachable:
            return Verdict.UNREACHABLE
        if self.required.get(Verdict.FAIL):
            return Verdict.FAIL
        if any(self.required.get(verdict) for verdict in UNSEEN):
            return Verdict.NOT_CHECKED
        if self.counts.get(Verdict.FAIL) or self.counts.get(Verdict.WARN):
            return Verdict.WARN
        return Verdict.PASS if self.counts.get(Verdict.PASS) else Verdict.NOT_CHECKED


@dataclass(frozen=True, slots=True)
class Since:
    """Since when a gate gives the verdict that it gives on a target.

    Attributes:
        verdict: the latest one that was seen.
        first: the first run of those that gave it without a break; ``first_at`` its moment.
        runs: how many those are.
        seen: the latest run that asked.
        passed: the last run before in which it passed, None where none is kept.
        before: the verdict just before; None where ``first`` is the oldest run that is kept, so
            that it may be older.
    """

    gate: str
    target: str
    verdict: Verdict
    first: str
    first_at: datetime
    runs: int
    seen: str
    seen_at: datetime
    passed: str | None = None
    passed_at: datetime | None = None
    before: Verdict | None = None
