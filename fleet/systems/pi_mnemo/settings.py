"""The ``PI_MNEMO_`` variables of every launch: what is replaced in silence, and by what."""

from collections.abc import Iterator

from fleet.facts.running import LaunchFact
from fleet.systems.pi_mnemo.values import PREFIX, RULES, complaints
from fleet.verifier.launches import over_launches
from fleet.verifier.look import Look
from fleet.verifier.model import Judgement, failed


def settings(look: Look) -> Judgement:
    """Each launch exports values that are taken as they are meant; so does the inventory."""
    declared = list(_declared(look))
    if declared:
        return failed("the inventory declares what is not taken as it is meant", *declared)
    return over_launches(
        look,
        _wrong,
        good=f"{_count(look)} taken as they are meant",
        bad="a value is not taken as it is meant",
    )


def _declared(look: Look) -> Iterator[str]:
    """Yield what is wrong with declared values, as the environment will spell them."""
    for name, value in look.resolved.exports.items():
        if name.startswith(PREFIX) and isinstance(value, str):
            yield from (f"declared: {line}" for line in complaints(name, value))


def _wrong(launch: LaunchFact) -> list[str]:
    return [line for name, text in _set(launch) for line in complaints(name, text)]


def _set(launch: LaunchFact) -> Iterator[tuple[str, str]]:
    for suffix in RULES:
        held = launch.variables.get(PREFIX + suffix)
        if held is not None and held.set and held.value is not None:
            yield PREFIX + suffix, held.value


def _count(look: Look) -> str:
    names = {name for launch in look.launches() for name, _ in _set(launch)}
    if not names:
        return "none is set, and the defaults are"
    return f"{', '.join(sorted(names))}:" if len(names) < 3 else f"all {len(names)}"  # noqa: PLR2004 - what fits a line
