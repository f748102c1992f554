"""Which of two hosts owns the servers of a session, and whether there is one at all."""

import json

from packaging.version import InvalidVersion, Version

from fleet.dataclass import dataclass
from fleet.facts.paths import State
from fleet.verifier.launches import unseen_launches
from fleet.verifier.look import Look
from fleet.verifier.mcp_owners import BUILT_IN, pi_versions
from fleet.verifier.mcp_servers import ADAPTER, Host, adapter_servers, host_of
from fleet.verifier.model import Judgement, failed, not_applicable, not_checked, passed
from fleet.verifier.ranges import satisfies

_PEER = "@earendil-works/pi-ai"


@dataclass(frozen=True, slots=True)
class _Adapter:
    """The adapter where pi keeps npm packages; ``wanted`` is its range of pi."""

    version: str
    wanted: str


def hosted(look: Look, *, needed: bool = False) -> Judgement:
    """The adapter owns the servers where pi loads it, else pi's own host from 0.99 on.

    Args:
        look: a system that looks at pi's settings and at the files of servers.
        needed: whether a host must be there although no server is declared yet.
    """
    found = host_of(look)
    if found.unread:
        return not_checked(f"not everything could be seen: {found.unread[0]}", *found.unread)
    if found.adapter:
        return _adapter(look, found)
    declared = [f"server {s.name} in {s.file}" for s in adapter_servers(look).servers.values()]
    if not declared and not needed:
        return not_applicable("no MCP server is declared here")
    if found.off:
        return failed("pi's own MCP host is turned off, and nothing replaces it", *declared)
    versions = pi_versions(look)
    if not versions:
        return not_checked("which pi is launched here could not be seen", *declared)
    if min(versions) < BUILT_IN:
        told = f"pi {min(versions)} has no MCP host, and {ADAPTER} is not there"
        return failed(told, *declared)
    unseen = unseen_launches(look)
    if unseen:
        return not_checked(f"not every pi that is launched was seen: {unseen[0]}", *declared)
    return passed(f"pi's own MCP host owns the servers (pi {min(versions)})", *declared)


def _adapter(look: Look, found: Host) -> Judgement:
    fact = look.artifact("adapter-manifest")
    if fact is None or fact.state in (State.ABSENT, State.DANGLING):
        return _elsewhere(found)
    try:
        manifest = json.loads(look.content(fact) or b"")
        peers = manifest.get("peerDependencies", {})
        adapter = _Adapter(str(manifest["version"]), str(peers.get(_PEER, "")))
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError):
        return not_checked(f"{fact.path}: {fact.why or 'it could not be understood'}")
    told = [f"{ADAPTER} {adapter.version}: {fact.path}"]
    versions = pi_versions(look)
    if any(version >= BUILT_IN for version in versions):
        told.append("`pi mcp list` shows pi's own host all the same, not what a session has")
    told += [line for version in versions for line in _peer(adapter, version)]
    return passed(f"{ADAPTER} {adapter.version} owns the servers", *dict.fromkeys(told))


def _peer(adapter: _Adapter, version: Version) -> list[str]:
    """Name a range that leaves this pi out. pi does not enforce it, and loads the adapter."""
    try:
        fits = satisfies(version, adapter.wanted)
    except InvalidVersion:
        fits = None
    if not adapter.wanted or fits:
        return []
    return [f"it asks for pi {adapter.wanted}, and this is {version}: not enforced by pi"]


def _elsewhere(found: Host) -> Judgement:
    """The adapter is named and not where npm packages lie: a folder or a checkout of its own."""
    if found.source.startswith("npm:"):
        told = "pi tries to install it at each start, and goes on without it"
        return failed(f"{found.source} is in pi's settings, and is not installed", told)
    return passed(f"{ADAPTER} owns the servers", f"{found.source}: its version was not looked at")
