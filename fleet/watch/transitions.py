"""What is worth telling: a gate or a target that came to stay in another state. Pure.

A state counts once it held for a while (the hold-down), from one look to a later one: what flaps
in between is never told. Of a target that is not seen nothing is said of its gates: they stay as
they were seen last, and the target itself is what is told.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TypeAlias

from fleet.dataclass import dataclass
from fleet.verifier.model import Finding, Verdict
from fleet.verifier.run import Run, deciding, failing

REACHED = ""  # stands for the gate where the target itself is meant

Key: TypeAlias = tuple[str, str]


class Mood(StrEnum):
    """What a verdict comes down to for who is told."""

    HOLDS = "holds"
    FAILS = "fails"
    UNSEEN = "not checked"


@dataclass(frozen=True, slots=True)
class Seen:
    """One look at a gate, or at a target."""

    mood: Mood
    message: str = ""
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Held:
    """What is known of a gate or a target.

    Attributes:
        told: the mood that counts, as it was told or taken for granted at first.
        mood: the one that was seen last, and since when.
    """

    told: Mood
    mood: Mood
    since: datetime


@dataclass(frozen=True, slots=True)
class Transition:
    """A state that came to stay.

    Attributes:
        gate: empty where the target itself is meant.
        since: when it was seen first.
    """

    target: str
    gate: str
    before: Mood
    after: Mood
    since: datetime
    message: str = ""
    remedy: str = ""


def looked(run: Run) -> Mapping[Key, Seen]:
    """Return what a run saw of what decides: gate by gate, and of each target whether it was seen.

    What only follows from another gate is left out, and so are all gates of an unseen target.
    """
    found: dict[Key, Seen] = {}
    unseen = set()
    for result in run.results:
        trouble = result.trouble
        mood = Mood.HOLDS if trouble is None else Mood.UNSEEN
        told = (trouble.what, trouble.hint) if trouble else ("", "")
        found[result.target.name, REACHED] = Seen(mood, *told)
        if trouble is not None:
            unseen.add(result.target.name)
    for finding in deciding(run):
        if finding.target not in unseen and finding.follows is None:
            found[finding.target, finding.gate] = _seen(finding, strict=run.strict)
    return found


def _seen(finding: Finding, *, strict: bool) -> Seen:
    if failing(finding.verdict, strict=strict):
        return Seen(Mood.FAILS, finding.message, finding.remedy or "")
    if finding.verdict in (Verdict.NOT_CHECKED, Verdict.ERROR, Verdict.UNREACHABLE):
        return Seen(Mood.UNSEEN, finding.message)
    return Seen(Mood.HOLDS, finding.message)


def step(
    before: Mapping[Key, Held],
    seen: Mapping[Key, Seen],
    now: datetime,
    hold: timedelta,
    watched: Iterable[str],
) -> tuple[dict[Key, Held], tuple[Transition, ...]]:
    """Take one look into account.

    Args:
        before: what was known. What is met for the first time counts as it is and is not told; of
            a target that was known already it has to hold, and is told where it does not.
        seen: what was seen now.
        now: when.
        hold: how long a state has to last before it counts.
        watched: names of targets and groups that are still of interest; others are forgotten.

    Returns:
        What is known now, and what came to stay.
    """
    names = set(watched)
    known = {target for target, _ in before}
    after = {key: held for key, held in before.items() if key[0] in names}
    told = []
    for key, one in seen.items():
        held = after.get(key)
        if held is None:
            taken = Mood.HOLDS if key[0] in known else one.mood
            held = Held(taken, one.mood, now)
        held = _again(held, one.mood, now)
        if _stays(held, now, hold):
            told.append(_transition(key, held, one))
            held = replace(held, told=held.mood)
        after[key] = held
    return after, tuple(sorted(told, key=lambda t: (t.after is Mood.HOLDS, t.target, t.gate)))


def _again(held: Held, mood: Mood, now: datetime) -> Held:
    if mood is held.mood:
        return held
    return Held(held.told, mood, now)


def _stays(held: Held, now: datetime, hold: timedelta) -> bool:
    return held.mood is not held.told and now - held.since >= hold


def _transition(key: Key, held: Held, seen: Seen) -> Transition:
    target, gate = key
    return Transition(target, gate, held.told, held.mood, held.since, seen.message, seen.remedy)


def told_text(transitions: Iterable[Transition], most: int) -> tuple[str, str]:
    """Return a title and a text for people; of more than ``most`` transitions the rest is counted.

    Texts of targets are in it as they are: who shows it escapes.
    """
    found = tuple(transitions)
    worse = sum(t.after is not Mood.HOLDS for t in found)
    better = len(found) - worse
    parts = [f"{worse} worse" if worse else "", f"{better} better" if better else ""]
    title = f"fleet: {', '.join(filter(None, parts))}"
    lines = [line for t in found[:most] for line in _lines(t)]
    if len(found) > most:
        lines.append(f"and {len(found) - most} more; `fleet audit` shows all")
    return title, "\n".join(lines)


def _lines(transition: Transition) -> Iterator[str]:
    since = f"{transition.since:%Y-%m-%d %H:%M} UTC"
    if transition.gate:
        what = f"{transition.target}  {transition.gate}"
        word = transition.after.value
    else:
        what = transition.target
        word = "answers again" if transition.after is Mood.HOLDS else "is not seen any more"
    message = f": {transition.message}" if transition.message else ""
    yield f"{what}  {word} since {since}{message}"
    if transition.remedy and transition.after is not Mood.HOLDS:
        yield f"  {transition.remedy}"
