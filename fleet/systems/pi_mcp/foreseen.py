"""What the adapter would do to a pi that has the bridge, told before it is installed."""

from collections.abc import Mapping, Sequence

from fleet.facts.paths import State
from fleet.installers.items import Item, MergeBody
from fleet.verifier.look import Look
from fleet.verifier.mcp_owners import palace_owners
from fleet.verifier.mcp_servers import ADAPTER, Host, host_of

_BRIDGE = "mempalace-bridge.bridge"
_HINT = (
    "leave `directTools` (`mcp_direct`) out of that server, or choose one of bridge and adapter; "
    "`fleet explain bridge.single` tells more"
)


def foreseen(look: Look, items: Sequence[Item]) -> Mapping[str, tuple[str, str]]:
    """Refuse what would let direct tools meet those of the bridge: pi then ends.

    Of adapter and registration the one is refused that does it by itself, else the registration:
    the adapter alone declares no tool of the palace.
    """
    own = {item.artifact: item for item in items if item.system == "pi-mcp"}
    bridge = look.artifact("bridge")
    there = bridge is not None and bridge.state is State.PRESENT
    coming = any(item.key == _BRIDGE for item in items)
    if not own or not (there or coming) or palace_owners(look).fatal:
        return {}
    host = host_of(look)
    then = Host(source=f"npm:{ADAPTER}") if "adapter" in own else host
    registration = own.get("registration")
    body = registration.body if registration else None
    added = body.values if isinstance(body, MergeBody) else {}
    for name, found in (
        ("adapter", palace_owners(look, then)),
        ("registration", palace_owners(look, then, added)),
    ):
        if found.fatal:
            why = f"{found.owners[0]}, would declare the bridge's tools again"
            return {name: (f"pi would end at its start: {why}", _HINT)}
    return {}
