"""Ways to a tool that lead around the publish gate.

Beside its ``mcp`` tool the adapter gives the model two more by default, measured with its 2.36.0:
``mcpScript`` runs calls out of a script, of which no handler is told, and ``mcp__SERVER`` takes the
tool's name in its arguments, so that a handler which knows ``mcp`` only does not see it. Both can
be turned off in the adapter's settings, the second since 2.35.
"""

import json
from collections.abc import Iterator

from packaging.version import Version

from fleet.facts.paths import State
from fleet.systems.demarkus.plugins import NONE_DECLARED, plugins
from fleet.verifier.look import Look
from fleet.verifier.mcp_servers import adapter_servers, host_of
from fleet.verifier.model import Judgement, failed, not_applicable, not_checked, passed
from fleet.verifier.ranges import version_in

SCRIPT, NAMESPACE = "scriptMode", "namespaceProxyTools"
CAN_TURN_OFF = Version("2.35")
_WAYS = {
    SCRIPT: "mcpScript runs calls out of a script, of which no handler is told",
    NAMESPACE: "mcp__SERVER takes the tool's name in its arguments",
}


def detours(look: Look) -> Judgement:
    """The adapter gives the model no tool whose calls the publish gate does not see."""
    if not plugins(look):
        return not_applicable(NONE_DECLARED)
    host = host_of(look)
    if host.unread:
        return not_checked(f"not everything could be seen: {host.unread[0]}", *host.unread)
    if not host.adapter:
        return not_applicable("pi's own MCP host tells handlers of every call, out of scripts too")
    found = adapter_servers(look)
    if found.unread:
        return not_checked(f"not everything could be seen: {found.unread[0]}", *found.unread)
    version = _version(look)
    unable = version is not None and version < CAN_TURN_OFF
    open_ways = list(_open(found.settings, unable=unable))
    if open_ways:
        return failed("a write can go around the publish gate", *open_ways)
    return passed("the adapter's other tools are turned off", *(f"{w}: false" for w in _WAYS))


def _open(settings: dict[str, object], *, unable: bool) -> Iterator[str]:
    for name, way in _WAYS.items():
        if name == NAMESPACE and unable:
            yield f"{way}, and this adapter cannot turn that off: {CAN_TURN_OFF} can"
        elif settings.get(name) is not False:
            yield f"{way}: `settings.{name}` is not false"


def _version(look: Look) -> Version | None:
    fact = look.artifact("adapter-manifest")
    if fact is None or fact.state is not State.PRESENT:
        return None
    try:
        manifest: object = json.loads(look.content(fact) or b"")
    except (ValueError, RecursionError):
        return None
    version = manifest.get("version") if isinstance(manifest, dict) else None
    return version_in(version) if isinstance(version, str) else None
