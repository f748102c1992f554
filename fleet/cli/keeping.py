"""Putting a run into the history when it is over, and taking one out."""

import getpass
import os
import platform
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fleet.cli.options import Options
from fleet.dataclass import dataclass
from fleet.errors import HistoryError
from fleet.reports.text import printable

if TYPE_CHECKING:
    from fleet.engine.context import Context
    from fleet.engine.deploy import TargetApplied, TargetPlan
    from fleet.engine.kept import Keeper
    from fleet.facts.model import Facts
    from fleet.history.model import Acted
    from fleet.history.store import History
    from fleet.verifier.model import Verdict
    from fleet.verifier.run import Conclusion, Run

HOUR = timedelta(hours=1)


def place(options: Options) -> Path:
    """Return the history's file: the one that is named, else this platform's."""
    from fleet.history.place import default_place  # noqa: PLC0415 - lazy

    return options.history or default_place()


def kept(options: Options) -> "History":
    """Open the history to read it.

    Raises:
        HistoryError: there is none, or it cannot be read.
    """
    from fleet.history.store import History  # noqa: PLC0415 - lazy

    return History(place(options))


def recalled(options: Options) -> "tuple[Mapping[str, Facts], str]":
    """Return the facts of a run that was kept, by target, and what to call them.

    Raises:
        HistoryError: there is no such run, or it looked at nothing.
    """
    with kept(options) as history:
        run = history.load(options.from_run)
    facts = {r.target.name: r.facts for r in run.results if r.facts is not None}
    if not facts:
        raise HistoryError(f"the run {run.id} ({run.command}) has no facts to judge")
    return facts, f"the run {run.id}"


def keeps(options: Options) -> bool:
    """Whether a run is kept: one that judged facts of the history saw nothing new."""
    return not (options.no_history or options.from_run)


def keep(
    run: "Run",
    context: "Context",
    options: Options,
    plans: "Sequence[TargetPlan]" = (),
    applied: "Sequence[TargetApplied] | None" = (),
    conclusion: "Conclusion | None" = None,
    *,
    keeper: "Keeper | None" = None,
) -> None:
    """Keep a run; what goes wrong is told on stderr and changes no exit code.

    Args:
        run: what to keep.
        context: what it shared.
        options: whether it is kept, and where.
        plans: what was planned.
        applied: what was changed.
        conclusion: what it came to, where that is not what its findings come to.
        keeper: has laid its facts out, where the run holds them no more.
    """
    if not keeps(options):
        return
    from fleet.engine.kept import pieces  # noqa: PLC0415 - lazy
    from fleet.history.model import Beside  # noqa: PLC0415 - lazy
    from fleet.history.store import History  # noqa: PLC0415 - lazy
    from fleet.verifier.run import conclude  # noqa: PLC0415 - lazy

    ended = conclusion or conclude(run)
    beside = Beside(
        who=who(),
        host=platform.node(),
        acted=acted(plans, applied or ()),
        pieces=pieces(run, context) if keeper is None else keeper.pieces,
        laid={} if keeper is None else keeper.laid,
        code=ended.code,
        reason=ended.reason,
    )
    try:
        with History(place(options), write=True) as history:
            history.save(run, beside, hide=context.secrets.values.values())
    except HistoryError as error:
        told = f"warning: this run is not kept: {printable(error.what)}"
        where = f"\n  {printable(error.where)}" if error.where else ""
        hint = f"\n  {printable(error.hint)}" if error.hint else ""
        click.echo(f"{told}{where}{hint}", err=True)


@dataclass(slots=True)
class Spared:
    """Keeps of many audits in a row those that say something new, and one an hour.

    Attributes:
        context: what they share.
        options: where they are kept.
    """

    context: "Context"
    options: Options
    _said: "frozenset[tuple[str, str, Verdict]]" = frozenset()
    _at: datetime | None = None

    def keep(self, run: "Run", keeper: "Keeper | None" = None) -> bool:
        """Keep a run where a verdict is another, or the last that was kept is an hour old.

        Returns:
            Whether it was to be kept.
        """
        said = frozenset((f.target, f.gate, f.verdict) for f in run.findings)
        if self._at is not None and said == self._said and run.started - self._at < HOUR:
            return False
        self._said, self._at = said, run.started
        keep(run, self.context, self.options, keeper=keeper)
        return True


def changed_only(command: str, started: datetime) -> "Run":
    """Return the run of a command that changes and does not judge."""
    from fleet.verifier.run import Run  # noqa: PLC0415 - lazy

    return Run(run_id(started), command, started, datetime.now(UTC), ())


def run_id(started: datetime) -> str:
    """Name a run by its start."""
    return started.strftime("%Y%m%dT%H%M%S.%fZ")


def acted(plans: "Sequence[TargetPlan]", applied: "Sequence[TargetApplied]") -> "tuple[Acted, ...]":
    """Say what was done to targets, in the history's words; diffs are not kept."""
    from fleet.history.model import Acted, Step  # noqa: PLC0415 - lazy

    planned = {p.target.name: p.plan for p in plans}
    found = []
    for one in applied:
        plan = planned.get(one.target.name)
        steps = tuple(Step(s.key, s.change, s.summary) for s in plan.steps) if plan else ()
        trouble = one.trouble.what if one.trouble else ""
        found.append(Acted(one.target.name, steps, one.changed, trouble))
    return tuple(found)


def who() -> str:
    """Return the user; of one who became another by sudo, both."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = "unknown"
    behind = os.environ.get("SUDO_USER")
    return f"{behind} as {user}" if behind and behind != user else user
