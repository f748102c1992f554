"""Deep checks: one more round trip to a target, in which programs of its own are run."""

import math
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from fleet.connectors.base import Connector
from fleet.dataclass import dataclass
from fleet.errors import FleetError
from fleet.facts.deep import DeepFact
from fleet.facts.model import Facts
from fleet.inventory.model import Kind, Target
from fleet.secrets import Secret
from fleet.systems.ask import launches_of
from fleet.systems.catalogue import Catalogue, trials_of
from fleet.systems.resolve import Resolved
from fleet.verifier.look import Look
from fleet.verifier.trials import Trial

AGENT_DIR = "~/.pi/agent"
_MARGIN_SECONDS = 3


@dataclass(frozen=True, slots=True)
class DeepQuestion:
    """What the systems of a target want a deep check to run. Plain data: it may travel.

    Attributes:
        agent_dir: pi's agent folder, where pi itself is run; None where it is not.
        trying: systems that have servers tried, each with the package that describes it.
    """

    agent_dir: str | None = None
    trying: tuple[tuple[str, Resolved], ...] = ()


def deep_question(resolved: Sequence[Resolved], catalogue: Catalogue) -> DeepQuestion | None:
    """Return what the systems of a target want to be run; None where none of them does."""
    asking = [r for r in resolved if any(gate.deep for gate in r.system.gates)]
    if not asking:
        return None
    trying = [r for r in asking if catalogue.trials(r.system.system)]
    folders = [r.variables.get("agent_dir") or AGENT_DIR for r in asking if r not in trying]
    return DeepQuestion(
        str(folders[0]) if folders else None,
        tuple((catalogue.packages[r.system.system], r) for r in trying),
    )


def with_deep(
    facts: Facts, target: Target, question: DeepQuestion, connector: Connector, limit: float
) -> Facts:
    """Return facts with what a deep check saw.

    Raises nothing: what keeps a deep check from running is its fact.

    Args:
        facts: what was seen already.
        target: whose they are.
        question: what is run there.
        connector: leads to it.
        limit: seconds that it may take.
    """
    try:
        deep = _checked(facts, target, question, connector, limit)
    except FleetError as error:
        deep = DeepFact(state="unsupported", why=error.what)
    return facts.model_copy(update={"deep": deep})


def _trials(facts: Facts, target: Target, question: DeepQuestion) -> tuple[Trial, ...]:
    today = facts.taken_at.date()
    looks = ((package, Look(target, r, facts, today)) for package, r in question.trying)
    found = ((trials_of(package), look) for package, look in looks)
    return tuple(trial for trying, look in found if trying for trial in trying(look))


def _checked(
    facts: Facts, target: Target, question: DeepQuestion, connector: Connector, limit: float
) -> DeepFact:
    from fleet.probes.deep.script import (  # noqa: PLC0415 - only a deep check needs it
        LEAST_SECONDS,
        MOST_SECONDS,
        deep_script,
        read_deep,
    )

    trials = _trials(facts, target, question)
    if question.agent_dir is None and not trials:
        return DeepFact(state="unsupported", why="there is nothing to be tried")
    launch = _launch(target, facts)
    if launch is None:
        return DeepFact(state="unsupported", why="no way of launching pi is declared")
    seconds = math.floor(limit) - _MARGIN_SECONDS
    if seconds < LEAST_SECONDS:
        least = LEAST_SECONDS + _MARGIN_SECONDS
        return DeepFact(state="unsupported", why=f"it needs a --timeout of {least} s or more")
    nonce = secrets.token_hex(16)
    script = deep_script(
        nonce=nonce,
        seconds=min(seconds, MOST_SECONDS),
        launch=launch,
        agent_dir=question.agent_dir or AGENT_DIR,
        assume=target.kind is Kind.IMAGE,
        pi=question.agent_dir is not None,
        trials=trials,
    )
    with _runner(target, connector, limit) as runner:
        output = runner.apply(script, Secret("")).output
    return read_deep(output, nonce=nonce, launch=launch)


@contextmanager
def _runner(target: Target, connector: Connector, limit: float) -> Iterator[Connector]:
    """Yield what can run a program on a target: its connector, or an image's started container."""
    if target.kind is not Kind.IMAGE:
        yield connector
        return
    from fleet.connectors.image_started import started  # noqa: PLC0415 - only images need it

    with started(target, timeout=limit) as container:
        yield container


def _launch(target: Target, facts: Facts) -> str | None:
    """Return the first launch that finds pi, else the first that works, else the first."""
    launches = launches_of(target)
    seen = {name: facts.launches.get(name) for name in launches}
    working = [name for name, fact in seen.items() if fact and fact.state == "ok"]
    for name in working:
        fact = seen[name]
        command = fact.commands.get("pi") if fact else None
        if command and command.file:
            return name
    return next(iter([*working, *launches]), None)
