"""What the adapter would do to a pi that has the bridge, told before it is installed."""

from collections.abc import Mapping, Sequence

from fleet.facts.model import State
from fleet.installers.items import Item
from fleet.verifier.look import Look
from fleet.verifier.mcp_owners import palace_owners
from fleet.verifier.mcp_servers import ADAPTER, Host

_BRIDGE = "mempalace-bridge.bridge"
_HINT = (
    "take `directTools` out of that server, or choose one of bridge and adapter; "
    "`fleet explain bridge.single` tells more"
)


def foreseen(look: Look, items: Sequence[Item]) -> Mapping[str, tuple[str, str]]:
    """Refuse the adapter where its direct tools would meet those of the bridge: pi then ends."""
    if not any(item.key == "pi-mcp.adapter" for item in items):
        return {}
    bridge = look.artifact("bridge")
    there = bridge is not None and bridge.state is State.PRESENT
    if not there and not any(item.key == _BRIDGE for item in items):
        return {}
    then = palace_owners(look, Host(source=f"npm:{ADAPTER}"))
    if not then.fatal or palace_owners(look).fatal:
        return {}
    told = f"pi would end at its start: {then.owners[0]}, would declare the bridge's tools again"
    return {"adapter": (told, _HINT)}
