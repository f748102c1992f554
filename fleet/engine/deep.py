"""Deep checks: one more round trip to a target, in which its own pi is run."""

import math
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from fleet.connectors.base import Connector
from fleet.errors import FleetError
from fleet.facts.deep import DeepFact
from fleet.facts.model import Facts
from fleet.inventory.model import Kind, Target
from fleet.secrets import Secret
from fleet.systems.ask import launches_of
from fleet.systems.resolve import Resolved

AGENT_DIR = "~/.pi/agent"
_MARGIN_SECONDS = 3


def agent_folder(resolved: Sequence[Resolved]) -> str | None:
    """Return pi's agent folder where a system of the target asks for a deep check, else None."""
    asking = next((r for r in resolved if any(gate.deep for gate in r.system.gates)), None)
    if asking is None:
        return None
    declared = asking.variables.get("agent_dir")
    return declared if isinstance(declared, str) and declared else AGENT_DIR


def with_deep(
    facts: Facts, target: Target, agent_dir: str, connector: Connector, limit: float
) -> Facts:
    """Return facts with what a deep check saw.

    Raises nothing: what keeps a deep check from running is its fact.

    Args:
        facts: what was seen already.
        target: whose they are.
        agent_dir: pi's agent folder there.
        connector: leads to it.
        limit: seconds that it may take.
    """
    try:
        deep = _checked(facts, target, agent_dir, connector, limit)
    except FleetError as error:
        deep = DeepFact(state="unsupported", why=error.what)
    return facts.model_copy(update={"deep": deep})


def _checked(
    facts: Facts, target: Target, agent_dir: str, connector: Connector, limit: float
) -> DeepFact:
    from fleet.probes.deep.script import (  # noqa: PLC0415 - only a deep check needs it
        LEAST_SECONDS,
        MOST_SECONDS,
        deep_script,
        read_deep,
    )

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
        agent_dir=agent_dir,
        assume=target.kind is Kind.IMAGE,
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
