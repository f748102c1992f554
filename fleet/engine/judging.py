"""Judging one target by what was seen of it."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING, NamedTuple

from fleet.engine.context import Context
from fleet.engine.facts import Looked
from fleet.errors import PlanError, Unreachable
from fleet.inventory.model import Target
from fleet.systems.model import Compose, Config, Service, Template
from fleet.systems.resolve import Resolved
from fleet.verifier.fleetwide.member import Member, lessened
from fleet.verifier.judge import Expectations, judge, judge_unreachable
from fleet.verifier.run import TargetResult
from fleet.verifier.waivers import waived

if TYPE_CHECKING:
    from fleet.engine.kept import Keeper, Seen


_OF_TEMPLATES = (Compose, Config, Service, Template)


class Judged(NamedTuple):
    """One target, judged.

    Attributes:
        member: the target as the rules of the fleet see it.
        result: what its own gates say.
        seen: what was laid out of it for the history, where that is wanted.
    """

    member: Member
    result: TargetResult
    seen: "Seen | None" = None


class Standards:
    """What the facts of a run's targets are held against: the same day and files for all of them.

    Args:
        context: what the run shares; the secrets of a target must be prepared before it is asked.
        today: the day of the run.
    """

    def __init__(self, context: Context, today: date) -> None:
        self.context = context
        self.today = today
        self._templates: dict[str, str | None] = {}

    def of(self, target: Target, resolved: Sequence[Resolved]) -> Expectations:
        """Return what one target's facts are held against."""
        return Expectations(
            today=self.today,
            secrets=self.context.secrets.values,
            troubles=self.context.secrets.troubles,
            toolkit=self.context.toolkit(target),
            templates=dict(self._named(resolved)),
        )

    def _named(self, resolved: Sequence[Resolved]) -> Iterator[tuple[str, str]]:
        """Yield the templates of files that are held against them; a gate says where one lacks."""
        for r in resolved:
            for artifact in r.artifacts.values():
                if isinstance(artifact, _OF_TEMPLATES):
                    text = self._template(artifact.template)
                    if text is not None:
                        yield artifact.template, text

    def _template(self, name: str) -> str | None:
        """Return a template's text, read once; None where there is none that can be read."""
        if name not in self._templates:
            from fleet.engine.controller_files import LocalFiles  # noqa: PLC0415 - few need it

            self._templates[name] = None
            with suppress(PlanError):
                self._templates[name] = LocalFiles(self.context.folder).template(name)
        return self._templates[name]


def judged_of(
    looked: Looked, standards: Standards, *, lean: bool, keeper: "Keeper | None" = None
) -> Judged:
    """Judge one target, for itself and as one of a fleet.

    Args:
        looked: what was seen.
        standards: what it is held against.
        lean: whether what neither the rules of the fleet nor reports ask of its facts is dropped,
            so that the facts of all need not be held until the last is judged.
        keeper: lays out for the history what was seen.
    """
    result, one = judged(looked, standards), member(looked, standards.context)
    if lean:
        one = lessened(one)
        result = replace(result, facts=one.facts)
    return Judged(one, result, keeper.lay(looked) if keeper else None)


def judged(looked: Looked, standards: Standards) -> TargetResult:
    """Judge one target by what was seen of it."""
    context = standards.context
    target, resolved = looked.target, looked.resolved
    if looked.facts is None:
        trouble = looked.trouble or Unreachable("nothing was seen", stage="missing")
        findings = judge_unreachable(target, [r.system for r in resolved], trouble)
        return TargetResult(target, None, findings, trouble, looked.milliseconds)
    expectations = standards.of(target, resolved)
    findings = judge(target, resolved, looked.facts, context.catalogue, expectations)
    findings = waived(findings, context.waivers, standards.today)
    return TargetResult(target, looked.facts, findings, None, looked.milliseconds)


def member(looked: Looked, context: Context) -> Member:
    """Return a target as the rules of the fleet see it."""
    trouble = looked.trouble.what if looked.trouble else ""
    toolkit = context.toolkit(looked.target)
    return Member(looked.target, looked.resolved, looked.facts, toolkit, trouble)
