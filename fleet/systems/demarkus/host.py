"""Who hosts demarkus' MCP servers for pi, and whether that host reads where they are declared."""

import json
from collections.abc import Iterator

from packaging.version import InvalidVersion, Version

from fleet.facts.model import LaunchFact, State
from fleet.systems.demarkus.plugins import NONE_DECLARED, plugins
from fleet.systems.pi.package import packages
from fleet.systems.pi.ranges import satisfies
from fleet.verifier.launches import Unseen, unseen_launch
from fleet.verifier.look import Look
from fleet.verifier.mcp_servers import ADAPTER, Host, host_of
from fleet.verifier.model import (
    Judgement,
    failed,
    not_applicable,
    not_checked,
    passed,
    warned,
)
from fleet.verifier.paths import way

BUILT_IN = Version("0.99")
PEER = "@earendil-works/pi-ai"
_INSTALL = f"pi install npm:{ADAPTER}"


def host(look: Look) -> Judgement:
    """There is an MCP host: the adapter, or its own."""
    if not plugins(look):
        return not_applicable(NONE_DECLARED)
    found = host_of(look)
    if found.adapter:
        return _adapter(look)
    if found.unread:
        return not_checked(f"not everything could be seen: {found.unread[0]}", *found.unread)
    return _built_in(look, found)


def _adapter(look: Look) -> Judgement:
    fact = look.artifact("adapter-manifest")
    if fact is None or fact.state is State.ABSENT:
        if _from_npm(look):
            return failed(f"{ADAPTER} is named in settings.json and is not installed")
        return passed(f"{ADAPTER} hosts the servers; which release it is was not looked at")
    manifest = _parsed(look.content(fact))
    version, wanted = _text(manifest, "version"), _text(manifest.get("peerDependencies"), PEER)
    if not version:
        return not_checked(f"which {ADAPTER} it is could not be read", way(fact))
    told = f"{ADAPTER} {version} asks for {PEER} {wanted}" if wanted else f"{ADAPTER} {version}"
    outside = [line for launch in look.launches() for line in _outside(look, launch, wanted)]
    if outside:
        why = f"{ADAPTER} hosts the servers of a pi that it was not made for; pi does not mind"
        return warned(why, told, *outside)
    return passed(f"{ADAPTER} hosts the servers", told)


def _from_npm(look: Look) -> bool:
    content = look.content(look.artifact("settings")) or b""
    return f"npm:{ADAPTER}".encode() in content


def _outside(look: Look, launch: LaunchFact, wanted: str) -> Iterator[str]:
    """Yield the pi of a launch where it is out of the adapter's range."""
    for package in packages(look, launch)[:1] if wanted else ():
        version = _version(package.version)
        if version is not None and satisfies(version, wanted) is False:
            yield f"{launch.launch}: {package}"


def _built_in(look: Look, found: Host) -> Judgement:
    if found.off:
        return failed(f"pi's own MCP host is turned off, and there is no {ADAPTER}")
    told = [line for launch in look.launches() for line in _too_old(look, launch)]
    old = [line for line in told if not isinstance(line, Unseen)]
    if old:
        why = f"no MCP host: pi has one of its own since {BUILT_IN}, and there is no {ADAPTER}"
        return failed(why, *old)
    if told or not look.launches():
        unseen = told[0] if told else "no way of launching pi is declared (`shell:`)"
        return not_checked(f"whether this pi has an MCP host could not be seen: {unseen}", *told)
    return passed("pi's own MCP host hosts the servers")


def _too_old(look: Look, launch: LaunchFact) -> Iterator[str]:
    if launch.state != "ok":
        yield Unseen(unseen_launch(launch))
        return
    found = packages(look, launch)
    version = _version(found[0].version) if found else None
    if version is None:
        yield Unseen(f"{launch.launch}: which pi it starts could not be seen")
    elif version < BUILT_IN:
        yield f"{launch.launch}: {found[0]}"


def _version(text: str) -> Version | None:
    try:
        return Version(text)
    except InvalidVersion:
        return None


def _parsed(content: bytes | None) -> dict[str, object]:
    try:
        parsed: object = json.loads(content or b"{}")
    except (ValueError, RecursionError):
        return {}
    return parsed if isinstance(parsed, dict) else {}


def _text(mapping: object, key: str) -> str:
    value = mapping.get(key) if isinstance(mapping, dict) else None
    return value if isinstance(value, str) else ""
