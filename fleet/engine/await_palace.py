"""After a palace's service was (re)started: wait until it answers as an MCP server."""

from fleet.connectors.base import Connector
from fleet.engine.context import Context
from fleet.engine.palaces import PalaceQuestion, ask_palaces, palace_question
from fleet.errors import ApplyError
from fleet.facts.endpoints import EndpointFact
from fleet.installers.model import Plan, Run
from fleet.inventory.model import Target
from fleet.systems.model import Compose, Service
from fleet.systems.resolve import Resolved

SECONDS = 90.0


def await_palace(
    target: Target,
    resolved: tuple[Resolved, ...],
    plan: Plan,
    connector: Connector,
    context: Context,
) -> ApplyError | None:
    """Wait for every palace that the plan started; returns what went wrong, None for nothing.

    A palace counts as answering when it takes part in the protocol: an empty one, or one that
    wants another token, is up, and the gates say the rest.
    """
    for r in resolved:
        if not _started(r, plan):
            continue
        from fleet.probes.mcp import wait_until_answers  # noqa: PLC0415 - only a start waits

        question = palace_question(r, context.folder)
        if question.declared is None:
            continue

        def ask(question: PalaceQuestion = question) -> EndpointFact:
            return ask_palaces(question, connector, context.secrets, places=("target",))[0]

        heard = wait_until_answers(ask, SECONDS)
        if heard.version:
            continue
        last = next((a for a in heard.answers.values() if a.trouble), None)
        told = f" ({last.trouble}: {last.detail})" if last else ""
        return ApplyError(
            f"the palace did not answer as an MCP server within {SECONDS:.0f} s{told}",
            where=target.name,
            hint="what was deployed is in place; its log says why it does not answer",
        )
    return None


def _started(resolved: Resolved, plan: Plan) -> bool:
    """Tell whether the plan runs something for one of the system's services."""
    if not resolved.system.ask.endpoint:
        return False
    keys = {
        f"{resolved.system.system}.{name}"
        for name, artifact in resolved.artifacts.items()
        if isinstance(artifact, Compose | Service)
    }
    return any(
        step.key in keys
        and step.change != "remove"
        and any(isinstance(action, Run) for action in step.actions)
        for step in plan.steps
    )
