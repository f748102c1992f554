"""What the bridge would do to a pi whose adapter declares its tools, told before it is placed."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from fleet.facts.paths import State
from fleet.verifier.look import Look
from fleet.verifier.mcp_owners import palace_owners

if TYPE_CHECKING:
    from fleet.installers.items import Item


def foreseen(look: Look, items: "Sequence[Item]") -> Mapping[str, tuple[str, str]]:
    """Refuse the bridge where another owner's tools have its names: pi then ends."""
    bridge = look.artifact("bridge")
    if bridge is None or bridge.state is State.PRESENT:
        return {}
    found = palace_owners(look)
    if not found.fatal or not any(item.key == "mempalace-bridge.bridge" for item in items):
        return {}
    told = f"pi would end at its start: {found.owners[0]}, declares the bridge's tools already"
    return {"bridge": (told, "take `directTools` out of that server, or leave the bridge away")}
