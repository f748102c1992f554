"""One palace: all clients that are declared on it find the same one behind its URL."""

from collections import defaultdict
from collections.abc import Sequence

from fleet.facts.endpoints import EndpointFact
from fleet.inventory.model import Kind, Target
from fleet.verifier.fleetwide.member import BRIDGE, FLEET, Member, Told, Unseen, carriers, whole
from fleet.verifier.model import failed, passed
from fleet.verifier.palace import without_credentials


def palace(members: Sequence[Member], fleet: Sequence[Target]) -> tuple[Told, ...]:
    """Palace path and server version are compared, as each client heard them where it is."""
    groups: dict[str, list[Member]] = defaultdict(list)
    for member in carriers(members, Kind.HOST, Kind.CONTAINER):
        url = _url(member.target)
        if url:
            groups[url].append(member)
    asked = {url: clients for url, clients in groups.items() if len(clients) > 1}
    if not asked:
        return ()
    unseen: list[Unseen] = []
    lines: list[str] = []
    split = False
    for url, clients in asked.items():
        answers: dict[str, list[str]] = defaultdict(list)
        for client in clients:
            heard = _heard(client, url)
            if isinstance(heard, Unseen):
                unseen.append(heard)
            else:
                answers[heard].append(client.name)
        split = split or len(answers) > 1
        lines += [f"{url}: {answer}: {', '.join(names)}" for answer, names in answers.items()]
    total = sum(len(clients) for clients in asked.values())
    if split:
        found = failed("clients of one URL do not reach one palace", *lines)
    else:
        found = passed("all clients of a URL reach one palace", *lines)
    every = sum(_url(t) in asked for t in fleet if BRIDGE in t.systems and t.kind in _KINDS)
    return (Told(FLEET, whole(found, total - len(unseen), unseen, every - total)),)


_KINDS = (Kind.HOST, Kind.CONTAINER)


def _url(target: Target) -> str:
    url = target.variables.get("palace_url")
    return without_credentials(url).rstrip("/") if isinstance(url, str) else ""


def _heard(member: Member, url: str) -> str | Unseen:
    if member.facts is None:
        return Unseen(member.name, member.trouble or "it was not asked")
    found = [e for e in member.facts.endpoints if e.url.rstrip("/") == url]
    from_there = next((e for e in found if e.place == "target"), None)
    endpoint = from_there or next(iter(found), None)
    if endpoint is None:
        return Unseen(member.name, "its palace was not asked")
    if not endpoint.palace or not endpoint.version:
        return Unseen(member.name, _silence(endpoint))
    return f"{endpoint.palace}, {endpoint.server or 'server'} {endpoint.version}"


def _silence(endpoint: EndpointFact) -> str:
    for answer in endpoint.answers.values():
        if answer.trouble is not None and answer.trouble.value != "http":
            return f"its palace did not answer ({answer.trouble.value})"
    return endpoint.trouble or "its palace did not tell its path and version"
