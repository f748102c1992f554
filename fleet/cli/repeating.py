"""``fleet audit --keep``: the same audit again and again, told in full where it came out otherwise.

The connections stay open between two audits, so that looking again costs no handshake.
"""

import time
from collections.abc import Callable
from typing import TypeAlias

import click

from fleet.cli.options import Options
from fleet.cli.output import report
from fleet.dataclass import dataclass
from fleet.verifier.model import Verdict
from fleet.verifier.run import Run, conclude

MINUTE = 60.0

_Verdicts: TypeAlias = frozenset[tuple[str, str, Verdict]]


@dataclass(frozen=True, slots=True)
class Again:
    """How an audit is repeated.

    Attributes:
        every: seconds from the start of one to the start of the next; one that takes longer is
            followed by the next at once.
        times: how many there are in all; None goes on until it is interrupted.
    """

    every: float = MINUTE
    times: int | None = None


def repeat(audit: Callable[[], Run], again: Again, options: Options) -> int:
    """Audit until it is interrupted, or as often as is wanted; returns the last one's exit code.

    Interrupted between two audits it ends in good order; in the middle of one nothing is known of
    that one, and the interruption is the result.
    """
    before: Run | None = None
    code = done = 0
    while True:
        started = time.monotonic()
        run = audit()
        code, before = _told(run, before, options), run
        done += 1
        if done == again.times:
            return code
        try:
            time.sleep(max(0.0, started + again.every - time.monotonic()))
        except KeyboardInterrupt:
            return code


def _told(run: Run, before: Run | None, options: Options) -> int:
    """Report a run; one that came out as the one before is one line for a person."""
    same = before is not None and _verdicts(run) == _verdicts(before)
    if not same or options.aside or options.files or options.output is not None:
        return report(run, options)
    code = conclude(run).code
    if not options.quiet:
        click.echo(_as_before(run, code))
    return code


def _as_before(run: Run, code: int) -> str:
    number = len(run.results)
    targets = "1 target" if number == 1 else f"{number} targets"
    seconds = (run.finished - run.started).total_seconds()
    at = run.started.astimezone().strftime("%H:%M:%S")
    return f"{at}  as before: {targets}, exit {code} ({seconds:.1f} s)"


def _verdicts(run: Run) -> _Verdicts:
    return frozenset((f.target, f.gate, f.verdict) for f in run.findings)
