"""Saying what was found at a path, in one place, so that every gate says it the same way."""

from fleet.facts.paths import PathFact, State
from fleet.verifier.model import Judgement, errored, failed, not_checked


def way(fact: PathFact) -> str:
    """Tell where a path ends and how: ``/opt/x/mempalace.ts (via ~/.pi/…/mempalace.ts)``."""
    if fact.final is None or fact.final == fact.absolute:
        return fact.path
    via = [fact.path, *(h.path for h in fact.hops[1:])]
    return f"{fact.final} (via {' -> '.join(via)})"


def hops(fact: PathFact) -> tuple[str, ...]:
    """Return one line for each link on the way."""
    return tuple(f"{hop.path} -> {hop.target}" for hop in fact.hops)


def missing(fact: PathFact) -> Judgement | None:
    """Judge a path that does not lead to anything; None when it leads somewhere."""
    if fact.state is State.ABSENT:
        return failed("is not there", f"{fact.path} does not exist")
    if fact.state is State.DANGLING:
        return failed("dangling link", *hops(fact), f"{fact.at or 'its target'} does not exist")
    if fact.state is State.LOOP:
        return failed("link loop", *hops(fact)[:3])
    return hidden(fact)


def hidden(fact: PathFact) -> Judgement | None:
    """Judge a path that could not be seen; None when it was."""
    if fact.state is State.UNREADABLE:
        why = fact.why or "permission denied"
        return errored(f"cannot read ({why})", f"stopped at {fact.at or fact.path}")
    if fact.state is State.UNSUPPORTED:
        return not_checked(fact.why or "cannot be read here", fact.path)
    return None
