"""Targets that a fork has judged, as bytes for the process that it is a fork of.

What both sides have (targets, systems, the toolkit's history) is named, and not written. What gates
say is the same on most targets of a share, so a finding without its target is written once.
"""

import copyreg
import io
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from functools import partial
from operator import attrgetter
from typing import TypeAlias

from fleet.dataclass import dataclass
from fleet.engine.context import Context
from fleet.engine.judging import Judged
from fleet.errors import TargetError
from fleet.facts.base import Fact
from fleet.facts.model import Facts
from fleet.history.model import Piece
from fleet.inventory.model import Target
from fleet.systems.model import System
from fleet.systems.resolve import Resolved
from fleet.verifier.fleetwide.member import Member
from fleet.verifier.model import Finding
from fleet.verifier.run import TargetResult
from fleet.verifier.toolkit import Toolkit

Reduced: TypeAlias = tuple[Callable[..., object], tuple[object, ...]]
Rest: TypeAlias = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class _Both:
    """What both sides have."""

    targets: Mapping[str, Target]
    context: Context


_BOTH: list[_Both] = []
_new = tuple.__new__  # of a rest that was a finding's: its length need not be looked at
_set = object.__setattr__  # facts are frozen, once they are made


@contextmanager
def both_having(targets: Sequence[Target], context: Context) -> Iterator[None]:
    """Let targets and what a context holds be named; forks are made within the block."""
    _BOTH.append(_Both({target.name: target for target in targets}, context))
    try:
        yield
    finally:
        _BOTH.pop()


def packed(share: Sequence[Judged]) -> bytes:
    """Return what was judged as bytes."""
    out = io.BytesIO()
    _Writer(out).dump(share)
    return out.getvalue()


def unpacked(written: bytes) -> Sequence[Judged]:
    """Return what a fork of this very process has packed."""
    share: Sequence[Judged] = pickle.loads(written)  # noqa: S301 - nobody else wrote it
    return share


class _Writer(pickle.Pickler):
    def __init__(self, out: io.BytesIO) -> None:
        self.dispatch_table = {
            **copyreg.dispatch_table,
            **_WAYS,
            TargetResult: partial(_parted, {}),
        }
        super().__init__(out, pickle.HIGHEST_PROTOCOL)


def _parted(said: dict[Rest, Rest], result: TargetResult) -> Reduced:
    """Part the findings from their target; those alike are one object, which is written once."""
    rests = [said.setdefault(rest, rest) for rest in [finding[1:] for finding in result.findings]]
    return _joined, (result.target, result.facts, rests, result.trouble, result.milliseconds)


def _joined(
    target: Target,
    facts: Facts | None,
    rests: Sequence[Rest],
    trouble: TargetError | None,
    milliseconds: int,
) -> TargetResult:
    name = (target.name,)
    findings = tuple([_new(Finding, name + rest) for rest in rests])
    return TargetResult(target, facts, findings, trouble, milliseconds)


def _target(name: str) -> Target:
    return _BOTH[-1].targets[name]


def _system(name: str) -> System:
    return _BOTH[-1].context.catalogue.system(name)


def _toolkit(clone: str) -> Toolkit:
    return _BOTH[-1].context.toolkits[clone]


def _clone(toolkit: Toolkit) -> str:
    held = _BOTH[-1].context.toolkits
    return next(clone for clone, one in held.items() if one is toolkit)


def _fact(fact: Fact) -> Reduced:
    return _made, (type(fact), fact.__dict__, fact.__pydantic_fields_set__)


def _made(kind: type[Fact], told: dict[str, object], given: set[str]) -> Fact:
    """Make a fact of what was validated on the other side."""
    fact = kind.__new__(kind)
    _set(fact, "__dict__", told)
    _set(fact, "__pydantic_fields_set__", given)
    _set(fact, "__pydantic_extra__", None)
    _set(fact, "__pydantic_private__", None)
    return fact


def _kinds(kind: type[Fact]) -> Iterator[type[Fact]]:
    yield kind
    for further in kind.__subclasses__():
        yield from _kinds(further)


def _by_fields(kind: type[object], names: Sequence[str]) -> Callable[[object], Reduced]:
    """Write objects of a kind, of which there are many, as their values in the order of fields."""
    values = attrgetter(*names)
    return lambda made: (kind, values(made))


_WAYS: dict[type[object], Callable[..., Reduced]] = {
    Target: lambda target: (_target, (target.name,)),
    System: lambda system: (_system, (system.system,)),
    Toolkit: lambda toolkit: (_toolkit, (_clone(toolkit),)),
    **dict.fromkeys(_kinds(Fact), _fact),
    **{
        kind: _by_fields(kind, [field.name for field in fields(kind)])
        for kind in (Member, Resolved, Piece)
    },
}
