"""The flip from a local palace to a remote one: what answers the client, and why nothing does.

One cause is told once: that no palace answers is ``flip.path``'s to fail, and why is
``flip.symptom``'s to tell.
"""

from collections.abc import Iterator
from dataclasses import field

from fleet.dataclass import dataclass
from fleet.facts.endpoints import Answer, EndpointFact, Trouble
from fleet.facts.running import LaunchFact
from fleet.verifier.answers import line, named, placed, remedy_of, told, was_sent
from fleet.verifier.launches import text, unseen_launch, value
from fleet.verifier.look import Look
from fleet.verifier.mcp_owners import URL
from fleet.verifier.model import (
    Judgement,
    Verdict,
    failed,
    follows_from,
    not_applicable,
    not_checked,
    passed,
    warned,
)
from fleet.verifier.palace import palace_is_local, same_path

_TOOL = "mempalace_"


@dataclass(frozen=True, slots=True)
class _Clients:
    """The ways of launching pi that were seen: all that are remote, and what was not seen."""

    urls: tuple[str, ...]
    unseen: tuple[str, ...]


def _clients(look: Look) -> _Clients | Judgement:
    """Return what pi is launched with, or what that already comes down to."""
    launches = [one for one in look.launches() if one.state == "ok"]
    unseen = [unseen_launch(one) for one in look.launches() if one.state != "ok"]
    remote = [one for one in launches if value(one, URL).set]
    if not look.text("palace_url") and not remote and not unseen:
        return not_applicable("a solitary palace: no remote one is declared")
    if not launches or not (remote or look.text("palace_url")):
        why = unseen[0] if unseen else "no way of launching pi could be asked"
        return not_checked(f"the palace that pi has is not known: {why}", *unseen)
    stay = [one for one in launches if one not in remote]
    return _local(stay) if stay else _Clients(_urls(remote), tuple(unseen))


def _local(launches: list[LaunchFact]) -> Judgement:
    return failed(
        "half flipped: pi stays on the local palace",
        *(f"{one.launch} exports no {URL}" for one in launches),
    )


def _urls(launches: list[LaunchFact]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text(one, URL) for one in launches))


@dataclass(slots=True)
class _Heard:
    """What the clients' URLs brought, sorted by what it means."""

    wrong: list[str] = field(default_factory=list)
    unseen: list[str] = field(default_factory=list)
    good: list[str] = field(default_factory=list)
    silent: list[str] = field(default_factory=list)
    remedy: str | None = None


def flip_path(look: Look) -> Judgement:
    """What answers at the client's own URL is the remote palace, and not a local one."""
    clients = _clients(look)
    if isinstance(clients, Judgement):
        return clients
    heard = _Heard(unseen=[*clients.unseen])
    for endpoint in _asked(look, clients, heard.unseen):
        _sort(look, endpoint, heard)
    if heard.wrong:
        return failed("does not reach the shared palace", *heard.wrong, *heard.silent)
    if heard.silent:
        return failed(
            "no palace answers pi there; flip.symptom tells why",
            *heard.silent,
            remedy=heard.remedy,
        )
    if heard.unseen:
        why = f"the palace could not be asked as the client asks: {heard.unseen[0]}"
        return not_checked(why, *heard.unseen)
    return passed("reaches the shared palace", *heard.good)


def _asked(look: Look, clients: _Clients, unseen: list[str]) -> Iterator[EndpointFact]:
    """Yield what was heard from where the client is; notes what was not asked."""
    for url in clients.urls:
        found = [e for e in look.endpoints(url) if e.place == "target"]
        if not found:
            unseen.append(f"{url} was not asked from the target")
        for endpoint in found:
            if was_sent(endpoint):
                yield endpoint
            else:
                unseen.append(f"{endpoint.url}: {told(endpoint).detail}")


def _sort(look: Look, endpoint: EndpointFact, heard: _Heard) -> None:
    if endpoint.palace is not None:
        _compare(look, endpoint.url, endpoint.palace, heard)
    elif why := _symptom(endpoint):
        heard.silent.append(placed(endpoint))
        heard.remedy = heard.remedy or remedy_of(why)
    else:
        status = endpoint.answers.get("status")
        error = named(status) if status and status.trouble else endpoint.trouble
        heard.wrong.append(f"{endpoint.url} does not tell its palace: {error or 'no path in it'}")


def _compare(look: Look, url: str, palace: str, heard: _Heard) -> None:
    home = look.facts.platform.home
    declared = look.text("palace_path")
    if declared and not same_path(palace, declared, home=home):
        heard.wrong.append(f"{url} serves {palace}, declared is {declared}")
    elif not declared and palace_is_local(palace, home):
        heard.wrong.append(f"{url} serves {palace}, which is this machine's own default palace")
    else:
        heard.good.append(f"{url} serves {palace}")


def symptom(look: Look) -> Judgement:
    """The palace's tools are offered where pi is, or it is told by its name what keeps them away.

    That is DNS, a refused connection, a timeout, TLS, an HTTP status, a redirect, a stream that
    stays silent, or something that is no MCP server; each with its remedy.
    """
    clients = _clients(look)
    if isinstance(clients, Judgement):
        applies = clients.verdict is not Verdict.NOT_APPLICABLE
        return follows_from("flip.path") if applies else clients
    unseen = [*clients.unseen]
    heard = tuple(_asked(look, clients, unseen))
    without = [(endpoint, why) for endpoint in heard if (why := _symptom(endpoint))]
    if without:
        why = without[0][1]
        return warned(
            f"pi has no {_TOOL}* tools: {named(why)}",
            *(_explained(e, w) for e, w in without),
            remedy=remedy_of(why),
        )
    if unseen:
        return follows_from("flip.path")
    mute = [placed(endpoint) for endpoint in heard if "tools" not in endpoint.answers]
    if mute:
        return not_checked("the palace's tools were not asked for", *mute)
    return passed("the palace's tools are offered", *(_offered(endpoint) for endpoint in heard))


def _symptom(endpoint: EndpointFact) -> Answer | None:
    """Return what keeps the tools away, None where they are offered."""
    for answer in (told(endpoint), endpoint.answers.get("tools")):
        if answer is not None and answer.trouble is not None:
            return answer
    if "tools" in endpoint.answers and not any(map(_is_ours, endpoint.tools)):
        offered = f"{len(endpoint.tools)} tools, none of them a palace's"
        return Answer(status=200, trouble=Trouble.NOT_MCP, detail=f"no palace: {offered}")
    return None


def _is_ours(tool: str) -> bool:
    return tool.startswith(_TOOL)


def _explained(endpoint: EndpointFact, why: Answer) -> str:
    return line(endpoint) if why is told(endpoint) else f"{placed(endpoint)}: {named(why)}"


def _offered(endpoint: EndpointFact) -> str:
    return f"{endpoint.url} offers {sum(map(_is_ours, endpoint.tools))} of them"
