"""Judging every declared way of launching pi at once: one bad launch is enough to fail."""

from collections.abc import Callable
from typing import TypeAlias

from fleet.facts.running import EnvValue, LaunchFact
from fleet.verifier.look import Look
from fleet.verifier.model import Judgement, failed, not_checked, passed


class Unseen(str):
    """A line about something that could not be seen, among lines about what is wrong."""

    __slots__ = ()


#: What is wrong with one launch: a line for each thing; none where all is well.
Complaint: TypeAlias = Callable[[LaunchFact], list[str]]

_UNSET = EnvValue(set=False)
_UNSEEN = {
    "missing": "there is no such shell here",
    "timeout": "it did not come back in time",
    "failed": "it ended before it ran what it was given",
    "unsupported": "it cannot be asked here",
}


def value(launch: LaunchFact, name: str) -> EnvValue:
    """Return a variable as a launch exports it; one that was not asked for reads as unset."""
    return launch.variables.get(name) or _UNSET


def text(launch: LaunchFact, name: str) -> str:
    """Return a public variable's value; empty where it is unset."""
    return value(launch, name).value or ""


def over_launches(
    look: Look, complaint: Complaint, *, good: str, bad: str, needed: bool = True
) -> Judgement:
    """Judge all launches of a target by one complaint.

    A complaint about any launch fails; without one, a launch that could not be seen makes the
    answer ``not-checked``.

    Args:
        look: the system on its target.
        complaint: tells what is wrong with one launch, and marks what it could not see.
        good: the message when no launch gives reason to complain.
        bad: the message when one does.
        needed: whether it matters when no launch is declared at all.
    """
    launches = look.launches()
    if not launches:
        if not needed:
            return passed(good)
        return not_checked("no way of launching pi is declared (`shell:` in the inventory)")
    told = [
        (line, f"{one.launch}: {line}")
        for one in launches
        if one.state == "ok"
        for line in complaint(one)
    ]
    wrong = [shown for line, shown in told if not isinstance(line, Unseen)]
    if wrong:
        return failed(bad, *wrong)
    unseen = unseen_launches(look)
    unseen += [shown for line, shown in told if isinstance(line, Unseen)]
    if unseen:
        return not_checked(f"not everything could be seen: {unseen[0]}", *unseen)
    return passed(good, ", ".join(one.launch for one in launches))


def unseen_launches(look: Look) -> list[str]:
    """Tell of each launch that could not be seen; none where all were."""
    return [unseen_launch(one) for one in look.launches() if one.state != "ok"]


def unseen_launch(launch: LaunchFact) -> str:
    """Tell why a launch could not be seen."""
    return f"{launch.launch}: {launch.why or _UNSEEN.get(launch.state, launch.state)}"
