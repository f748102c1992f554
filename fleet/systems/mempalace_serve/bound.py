"""Where the server listens, told by sockets, published ports and its own argument list."""

import ipaddress
from collections.abc import Iterator
from urllib.parse import urlsplit

from fleet.facts.paths import State
from fleet.systems.mempalace_serve.server import (
    ALLOWED_HOSTS,
    INNER_PORT,
    LOOPBACK,
    addresses_of,
    containers,
    could_not_bind,
    environment_of,
    is_name,
    processes,
)
from fleet.verifier.look import Look
from fleet.verifier.model import (
    Judgement,
    failed,
    follows_from,
    not_checked,
    passed,
    warned,
)
from fleet.verifier.palace import without_credentials

_EVERYWHERE = frozenset({"0.0.0.0", "::"})  # noqa: S104 - looked for, never bound
_FORBIDDEN = 403


def bind(look: Look) -> Judgement:
    """The server listens on the declared address and on no other."""
    ended = could_not_bind(look)
    if ended:
        return failed(
            f"{ended.name} could not bind its address",
            ended.error,
            *_docker0(look),
            remedy="set `bind` to an interface that is there, and deploy again",
        )
    if not look.text("port").isdecimal():
        return not_checked(f"port is no number: {look.text('port')!r}")
    wanted = _wanted(look)
    if isinstance(wanted, Judgement):
        return wanted
    seen = _seen(look)
    if isinstance(seen, Judgement):
        return seen
    return _compared(look, wanted, seen)


def _wanted(look: Look) -> tuple[str, ...] | Judgement:
    declared, interfaces = look.text("bind"), look.facts.interfaces
    if declared == "loopback" or not is_name(declared):
        return addresses_of(declared, {})
    if interfaces is None:
        why = look.facts.unseen.get("interfaces", "interfaces were not seen")
        return not_checked(f"the address of {declared} is not known", why)
    found = addresses_of(declared, interfaces)
    if not found:
        return failed(
            f"there is no {declared} on this machine",
            f"interfaces: {', '.join(interfaces)}",
            remedy="set `bind` to an interface or address that is there",
        )
    return found


def _seen(look: Look) -> dict[str, str] | Judgement:
    """Return the addresses the port is bound on, each with where that was seen."""
    port = int(look.text("port"))
    if look.facts.kind == "container":
        return _published(look, port) or not_checked("publishes no port to its host")
    if look.facts.listeners is None:
        # Inside a container the server listens everywhere; what is published counts.
        found = _published(look, port) or _told_by_processes(look, port)
        why = look.facts.unseen.get("listeners", "listening sockets were not seen")
        return found or not_checked(f"where it listens is not known: {why}")
    found = {s.address: "listening socket" for s in look.facts.listeners if s.port == port}
    # An engine may forward a port without a socket for it.
    found = found or _published(look, port)
    if found:
        return found
    if look.endpoints(without_credentials(look.text("palace_url"))):
        return follows_from("serve.health")
    return failed(f"nothing listens on port {port}", *_states(look))


def _published(look: Look, port: int) -> dict[str, str]:
    return {
        p.address or "0.0.0.0": f"published by container {c.name}"  # noqa: S104 - what no address means
        for c in containers(look)
        if c.state == "running"
        for p in c.ports
        if p.port == port
    }


def _told_by_processes(look: Look, port: int) -> dict[str, str]:
    return {
        LOOPBACK[0] if host == "localhost" else host: f"--host of process {p.pid}"
        for p in processes(look)
        if p.flags.get("--port", str(INNER_PORT)) == str(port)
        and (host := p.flags.get("--host", LOOPBACK[0]))
    }


def _states(look: Look) -> Iterator[str]:
    for container in containers(look):
        error = f": {container.error}" if container.error else ""
        yield f"container {container.name} is {container.state}{error}"


def _docker0(look: Look) -> list[str]:
    found = (look.facts.interfaces or {}).get("docker0")
    if look.facts.interfaces is None:
        return []
    return [f"docker0 is {found[0]}" if found else "there is no docker0"]


def _compared(look: Look, wanted: tuple[str, ...], seen: dict[str, str]) -> Judgement:
    port = look.text("port")
    wide = [a for a in seen if a in _EVERYWHERE]
    meant = look.value("allow_lan") is True or bool(_EVERYWHERE & {*wanted})
    want = "any address" if meant else _address(wanted[0], port)
    told = [f"{how}: want {want}, got {_address(a, port)}" for a, how in seen.items()]
    if wide and not meant:
        return failed("listens on every interface, the LAN's included", *told)
    if wide:
        return passed("listens on every interface, as declared", *told)
    beside = [a for a in seen if a not in wanted]
    if beside:
        return failed(f"listens on {', '.join(beside)}, declared is {look.text('bind')}", *told)
    if all(_is_loopback(a) for a in seen):
        return _on_loopback(look, told)
    unready = _before_docker(look)
    if unready:
        return warned("may start before docker0 is there", *told, unready)
    return passed(f"listens on {', '.join(seen)} ({look.text('bind')})", *told)


def _address(host: str, port: str) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"


def _on_loopback(look: Look, told: list[str]) -> Judgement:
    """Judge a server on loopback: behind a proxy it needs to know the proxy's name.

    Its own containers excepted: a port published on loopback leads to a server that does not pin
    the Host header.
    """
    host = urlsplit(without_credentials(look.text("palace_url"))).hostname or ""
    if not host or _is_loopback(host):
        return passed("listens on loopback only", *told)
    if any(
        how.startswith("published") for how in _published(look, int(look.text("port"))).values()
    ):
        return passed("published on loopback, for a proxy", *told)
    forbidden = [
        e.place
        for e in look.endpoints(without_credentials(look.text("palace_url")))
        if (answer := e.answers.get("initialize")) and answer.status == _FORBIDDEN
    ]
    environments = list(environment_of(look))
    values = [v[ALLOWED_HOSTS] for _, v in environments if ALLOWED_HOSTS in v]
    named = [(v.value or "").replace(" ", "").split(",") for v in values]
    if any(host in names for names in named) and not forbidden:
        return passed(f"listens on loopback, and accepts {host}", *told)
    if not values and not forbidden:
        return not_checked(f"whether it accepts the name {host} was not seen", *told)
    return failed(
        f"every request for {host} is 403",
        *told,
        f"{ALLOWED_HOSTS} does not name {host}",
        remedy=f"bind docker0, or name {host} in `allowed_hosts` (mempalace 3.7.0 and later)",
    )


def _before_docker(look: Look) -> str:
    """Say why a unit may start before the bridge it binds, empty when it cannot."""
    unit = look.artifact("unit-systemd")
    if unit is None or unit.state is not State.PRESENT or look.text("bind") != "docker0":
        return ""
    content = look.content(unit)
    if content is None or b"docker.service" in content:
        return ""
    return f"{unit.path} does not start after docker.service"
