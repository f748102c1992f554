"""What the history tells: plain data."""

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime

from fleet.dataclass import dataclass
from fleet.history.split import Laid
from fleet.verifier.model import Verdict
from fleet.verifier.run import UNSEEN


@dataclass(frozen=True, slots=True)
class Step:
    """One change of a target.

    Attributes:
        key: ``system.artifact``.
        change: ``create``, ``change`` or ``remove``.
        summary: one line.
    """

    key: str
    change: str
    summary: str


@dataclass(frozen=True, slots=True)
class Acted:
    """What was done to one target.

    Attributes:
        steps: what was planned.
        changed: how many changes were made and stayed.
        trouble: why they did not stay, or were refused; empty where it went well.
    """

    target: str
    steps: tuple[Step, ...] = ()
    changed: int = 0
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class Piece:
    """One artifact as it lay on a target.

    Attributes:
        name: ``system.artifact``.
        state: what became of the attempt to read it: ``present``, ``absent``, ...
        where: the file where links end; empty where they end nowhere.
        content: sha256; empty of a folder, and of what may not travel.
        commit: of the toolkit, the newest one that carries these bytes; empty where none is known.
        date: of that commit.
        version: of a package.
    """

    name: str
    state: str
    where: str = ""
    content: str = ""
    commit: str = ""
    date: str = ""
    version: str = ""

    @property
    def told(self) -> str:
        """Return what it is in a few words: a commit, a version, the head of its hash, a state."""
        if self.commit:
            return f"{self.commit[:7]} of {self.date}" if self.date else self.commit[:7]
        return self.version or self.content[:7] or self.state


@dataclass(frozen=True, slots=True)
class Beside:
    """What is kept with a run and stands in no report.

    Attributes:
        who: the user who ran it; ``host``: the machine it was run on.
        acted: what was done to targets.
        pieces: the artifacts that lay on each target, by its name.
        laid: facts of targets that were laid out when they were judged; they stand for those that
            the run itself has.
        code: the exit code; None where the run was cut, or an older fleet kept it.
        reason: of the exit code.
    """

    who: str = ""
    host: str = ""
    acted: tuple[Acted, ...] = ()
    pieces: Mapping[str, tuple[Piece, ...]] = field(default_factory=dict)
    laid: Mapping[str, Laid] = field(default_factory=dict)
    code: int | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Kept:
    """One run, as a list shows it.

    Attributes:
        id: what it goes by.
        fleet: the version of fleet that judged.
        targets: how many it looked at; ``changed``: to how many it did something.
        counts: its findings by verdict; ``required`` the same of required ones.
    """

    id: str
    command: str
    started: datetime
    finished: datetime
    strict: bool
    fleet: str
    who: str
    host: str
    code: int | None
    reason: str
    targets: int
    changed: int
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
        failed: the first run after that in which it failed, however often it was not seen in
            between; None where it did not. Of a gate that warns a warning counts as well.
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
    failed: str | None = None
    failed_at: datetime | None = None
    before: Verdict | None = None

    @property
    def broke(self) -> str:
        """Return the run to hold against the last pass: the first failure, else ``first``."""
        return self.failed or self.first
