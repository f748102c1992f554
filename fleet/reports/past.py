"""What the history knows beside a run, for the reports that show time."""

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime

from fleet.dataclass import dataclass
from fleet.reports.matrix import Mark

STRIP = 30  # runs of a target that are shown


@dataclass(frozen=True, slots=True)
class Then:
    """One earlier run of a target.

    Attributes:
        run: the run's id.
        mark: what the target came down to in it; None where nothing was asked.
    """

    run: str
    at: datetime
    mark: Mark | None


@dataclass(frozen=True, slots=True)
class Before:
    """What came before one finding.

    Attributes:
        since: the start of the first run of the unbroken row with this verdict.
        failed: the start of the first run after the last pass in which it failed; None where it is
            ``since``, or where it was only not seen.
        last_pass: the start of the last run in which the gate held; None where none is kept.
        older: whether it may be older: no run before ``since`` is kept that asked.
        differed: what differed in the facts between those two, one line each, as of a diff.
    """

    since: datetime | None = None
    last_pass: datetime | None = None
    failed: datetime | None = None
    older: bool = False
    differed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Past:
    """What a history kept of a run's targets.

    Attributes:
        strips: the last runs of each target, oldest first, this one included.
        before: by target and gate, of what does not hold.
    """

    strips: Mapping[str, tuple[Then, ...]] = field(default_factory=dict)
    before: Mapping[tuple[str, str], Before] = field(default_factory=dict)
