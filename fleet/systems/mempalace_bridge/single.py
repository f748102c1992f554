"""Who gives the palace's tools to the model? Two owners are twice the tools, or no pi at all."""

from fleet.facts.paths import State
from fleet.verifier.look import Look
from fleet.verifier.mcp_owners import palace_owners
from fleet.verifier.model import Judgement, failed, follows_from, not_checked, passed


def single(look: Look) -> Judgement:
    """Exactly one of bridge, adapter and built-in MCP declares the palace's tools."""
    fact = look.artifact("bridge")
    if fact is None or fact.state is not State.PRESENT:
        return follows_from("bridge.placed")
    found = palace_owners(look)
    if found.owners:
        told = "pi ends with a conflict of tools" if found.fatal else "every tool is there twice"
        lines = ("the bridge", *found.owners, *found.notes)
        return failed(f"{len(found.owners) + 1} owners: {told}", *lines)
    if found.unseen:
        return not_checked(f"not everything could be seen: {found.unseen[0]}", *found.unseen)
    return passed("the bridge is the only owner", *found.notes)
