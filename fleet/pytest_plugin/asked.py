"""Which gates will be asked of whom, and by what name: known without looking at anything. Pure."""

import hashlib
import re
from collections.abc import Iterator, Sequence

from fleet.dataclass import dataclass
from fleet.engine.context import Context
from fleet.inventory.model import Target
from fleet.reports.text import printable
from fleet.systems.resolve import resolve
from fleet.verifier.fleetwide.member import FLEET, Member
from fleet.verifier.fleetwide.rules import RULES, judge_fleet

#: The one question that belongs to no gate: whether anything required was checked at all.
CHECKED = "checked"

_UNFIT = re.compile(r"::|//|[\[\]\s\\]")


@dataclass(frozen=True, slots=True)
class Asked:
    """One gate, and of whom it is asked.

    Attributes:
        subject: a target's name; of a gate of the whole fleet a group's, or ``fleet``.
        target: None where the gate is not asked of one target.
    """

    subject: str
    gate: str
    system: str
    target: Target | None = None


def asked_of(target: Target, context: Context, *, deep: bool) -> Iterator[Asked]:
    """Yield what is asked of one target, in the order of the report."""
    for system in context.systems(target):
        for gate in system.gates:
            if deep or not gate.deep:
                yield Asked(target.name, gate.id, system.system, target)


def asked_of_fleet(targets: Sequence[Target], context: Context) -> tuple[Asked, ...]:
    """Return what is asked of several targets together, and whether anything was checked.

    Most rules tell of whom they speak even where nobody was seen. Others find an image's containers
    or a compose file by what those say, so a rule that speaks of nobody yet may still speak of the
    fleet.
    """
    members = [Member(t, resolve(context.systems(t), t), None) for t in targets]
    fleet = context.inventory.targets if context.inventory else targets
    told = dict.fromkeys((f.gate, f.target) for f in judge_fleet(members, fleet))
    found = []
    for gate in RULES:
        subjects = [subject for of, subject in told if of == gate]
        found += [Asked(subject, gate, FLEET) for subject in subjects or [FLEET]]
    return (*found, Asked(FLEET, CHECKED, FLEET))


def node_name(subject: str) -> str:
    """Return a name as it stands in a test's id: readable, on one line, one for each name.

    Without ``ssh://``'s slashes, because ids are paths; what an id cannot hold is replaced, and
    told apart by a digest.
    """
    text = re.sub(r"^ssh://", "ssh:", printable(subject))
    fit = _UNFIT.sub("-", text)
    if fit == text and text == re.sub(r"^ssh://", "ssh:", subject):
        return text
    return f"{fit}-{hashlib.sha256(subject.encode('utf-8', 'backslashreplace')).hexdigest()[:8]}"
