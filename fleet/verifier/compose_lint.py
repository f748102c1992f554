"""What will go wrong with a compose file, or goes wrong silently. Pure.

Each rule comes from a failure that somebody had; the tests name the case.
"""

import posixpath
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import TypeAlias

from fleet.dataclass import dataclass
from fleet.inventory.problems import nearest
from fleet.verifier.compose import Compose, Problem, Service
from fleet.verifier.model import Verdict

_EVERYWHERE = frozenset({"", "0.0.0.0", "::"})  # noqa: S104 - looked for, never bound
_LOOPBACK = re.compile(r"127\.\d+\.\d+\.\d+|::1|localhost")
_OPERATORS_OWN = frozenset({"PATH", "HOME", "USER", "LOGNAME", "SHELL", "PWD", "HOSTNAME"})
_SECRET = re.compile(r"(TOKEN|SECRET|PASSWORD|PASSWD|API_?KEY)S?$")
_ENDPOINT = re.compile(r"https?://[^\s\"'|]*/(mcp|sse|messages)/?(?=[\s\"'|?]|$)")
_POSTS = re.compile(r"(-X|--request)[ =]?POST|(?<!\S)(-d|--data(-\w+)?|--json|--post-data)\b")
_IDLE = "MEMPALACE_MCP_IDLE_HOURS"
_IDLE_HOURS = "8"
_TOOLS = ("curl", "wget")
_RESTARTS = frozenset({"always", "unless-stopped"})


@dataclass(frozen=True, slots=True)
class Ground:
    """What is known of the host that the file is for; None where it was not seen.

    Attributes:
        interfaces: addresses by interface.
        files: names that exist beside the compose file.
        required: services that must run.
        lan: whether being reachable from every interface is declared.
    """

    interfaces: Mapping[str, tuple[str, ...]] | None = None
    files: Collection[str] | None = None
    required: Collection[str] = ()
    lan: bool = False


NOWHERE = Ground()

Found: TypeAlias = Iterator[Problem]


@dataclass(frozen=True, slots=True)
class _Scene:
    """A file and the ground it stands on: what every rule looks at."""

    compose: Compose
    ground: Ground

    def where(self, service: Service, *path: str) -> str:
        return self.compose.where("services", service.name, *path)


def lint(compose: Compose, ground: Ground = NOWHERE) -> list[Problem]:
    """Return everything that is wrong, failures first, each part of the file in its order."""
    scene = _Scene(compose, ground)
    found = [*compose.problems, *_profiles(scene), *_secrets(scene)]
    for service in compose.selected:
        for rule in _RULES:
            found += rule(scene, service)
    order = list(_ORDER)
    return sorted(found, key=lambda p: order.index(p.verdict))


_ORDER = (Verdict.FAIL, Verdict.WARN, Verdict.NOT_APPLICABLE)


def _fail(where: str, message: str) -> Problem:
    return Problem(Verdict.FAIL, where, message)


def _warn(where: str, message: str) -> Problem:
    return Problem(Verdict.WARN, where, message)


def is_palace(service: Service) -> bool:
    """Tell whether a service runs the HTTP server, by its words."""
    words = [posixpath.basename(word) for word in service.command]
    line = " ".join(words)
    return words[:1] == ["serve"] or "mempalace serve" in line or "--transport http" in line


def _profiles(scene: _Scene) -> Found:
    for service in scene.compose.services.values():
        if service.selected(scene.compose.profiles):
            continue
        where = scene.where(service)
        wanted = f"{service.name} is not selected by the active profiles"
        needs = f"it has {', '.join(service.profiles)}"
        verdict = Verdict.FAIL if service.name in scene.ground.required else Verdict.NOT_APPLICABLE
        yield Problem(verdict, where, f"{wanted}; {needs}")
    for name in scene.ground.required:
        if name not in scene.compose.services and not scene.compose.problems:
            yield _fail(scene.compose.file, f"there is no service {name}")


def _secrets(scene: _Scene) -> Found:
    """C02: unset and empty are two mistakes."""
    used = {secret for service in scene.compose.selected for secret in service.secrets}
    for secret, name in scene.compose.secrets.items():
        if secret not in used or scene.compose.environment.get(name):
            continue
        state = "set but empty" if name in scene.compose.environment else "not set"
        where = scene.compose.where("secrets", secret)
        yield _fail(where, f"{name} is {state}, and the secret {secret} is taken from it")


def _depends(scene: _Scene, service: Service) -> Found:
    """C08: what is depended on is a service, by the service's name."""
    containers = {
        s.container_name: n for n, s in scene.compose.services.items() if s.container_name
    }
    for name in service.depends_on:
        where = scene.where(service, "depends_on")
        other = scene.compose.services.get(name)
        if other is None:
            close = containers.get(name) or nearest(name, scene.compose.services)
            hint = f" (did you mean {close}?)" if close else ""
            yield _fail(where, f"{service.name} depends on {name}: no such service{hint}")
        elif not other.selected(scene.compose.profiles):
            yield _fail(where, f"{service.name} depends on {name}, which no active profile selects")


def _env_files(scene: _Scene, service: Service) -> Found:
    """C09: an absent file is an error only where it is required."""
    if scene.ground.files is None:
        return
    for file in service.env_files:
        name = posixpath.normpath(file.path)
        if file.required and "/" not in name and name not in scene.ground.files:
            where = scene.where(service, "env_file")
            yield _fail(where, f"{file.path} is not there, and {service.name} needs it")


def _environment(scene: _Scene, service: Service) -> Found:
    """C09: what is filled in comes from whoever runs compose, not from the container."""
    where = scene.where(service, "environment")
    mentions = service.mentions.get("environment", ())
    passed_on = [name for name, value in service.environment.items() if value is None]
    own = [m.name for m in mentions if m.name in _OPERATORS_OWN]
    for name in dict.fromkeys([*own, *(n for n in passed_on if n in _OPERATORS_OWN)]):
        yield _warn(where, f"{name} is that of whoever runs compose, not the container's")
    for mention in dict.fromkeys(m for m in mentions if m.name not in _OPERATORS_OWN):
        if mention.operator or mention.state == "set":
            continue
        if mention.state == "unset":
            yield _warn(where, f"{mention.name} is not set; compose puts an empty text")
        elif _SECRET.search(mention.name):
            yield _fail(where, f"{mention.name} is set but empty")


def _spelled_out(scene: _Scene, service: Service) -> Found:
    """A secret belongs into the 0600 file beside, not into the file or an argument list."""
    for name in service.literals:
        if service.environment.get(name) and _SECRET.search(name):
            where = scene.where(service, "environment", name)
            yield _fail(where, f"the value of {name} stands in the file itself")
    if any(word == "--token" or word.startswith("--token=") for word in service.command):
        where = scene.where(service, "command")
        yield _fail(where, "--token shows the token to everyone who may inspect the container")


def _addresses(scene: _Scene, service: Service) -> Found:
    """C07: an address that no interface has cannot be bound, at boot or ever."""
    bound = [("ports", port.address) for port in service.ports]
    if service.network_mode == "host":
        bound.append(("command", flag(service.command, "--host")))
    for key, address in dict.fromkeys(bound):
        where = scene.where(service, key)
        problem = unbindable(address, scene.ground.interfaces)
        if problem:
            yield _fail(where, problem)
        elif (
            is_palace(service)
            and not scene.ground.lan
            and address in _EVERYWHERE
            and key == "ports"
        ):
            yield _warn(where, "published on every interface of the host, the LAN's included")


def unbindable(address: str, interfaces: Mapping[str, tuple[str, ...]] | None) -> str:
    """Tell why an address cannot be bound on a host; empty when it can or nothing is known."""
    if interfaces is None or address in _EVERYWHERE or _LOOPBACK.fullmatch(address):
        return ""
    if any(address in addresses for addresses in interfaces.values()):
        return ""
    docker0 = [a for a in interfaces.get("docker0", ()) if ":" not in a]
    bridge = f"docker0 is {', '.join(docker0)}" if docker0 else "there is no docker0"
    return f"{address} is on no interface of this host; {bridge}"


def flag(words: tuple[str, ...], name: str) -> str:
    """Return the value of a flag in an argument list, empty when it is not there."""
    for index, word in enumerate(words):
        if word == name:
            return words[index + 1] if index + 1 < len(words) else ""
        if word.startswith(f"{name}="):
            return word.partition("=")[2]
    return ""


def _healthcheck(scene: _Scene, service: Service) -> Found:
    """C11 and C12: checks that see something else than the palace's health."""
    kind, *words = service.healthcheck or ("NONE",)
    if kind not in ("CMD", "CMD-SHELL"):
        return
    where = scene.where(service, "healthcheck")
    for name in dict.fromkeys(
        m.name for m in service.mentions.get("healthcheck", ()) if not m.operator
    ):
        yield _warn(
            where,
            f"${name} is filled in where compose runs; write $${name} for the container's own",
        )
    line = " ".join(words)
    endpoint = _ENDPOINT.search(line)
    if endpoint and not _POSTS.search(line):
        yield _warn(where, f"GET {endpoint.group()} proves nothing: an MCP endpoint answers POST")
    for tool in _TOOLS:
        if re.search(rf"(^|[\s/|;&(]){tool}\s", line):
            yield _warn(where, f"needs {tool} in the image; the mempalace image has none")


def _idle(scene: _Scene, service: Service) -> Found:
    """E12: the server ends with code 0 after idle hours, and health checks do not count."""
    if not is_palace(service) or service.restart in _RESTARTS:
        return
    hours = service.environment.get(_IDLE, _IDLE_HOURS)
    if hours is None or _is_zero(hours):
        return
    where = scene.where(service)
    yield _warn(where, f"{service.name} exits after {hours} idle hours and nothing restarts it")


def _is_zero(text: str) -> bool:
    try:
        return float(text) <= 0
    except ValueError:
        return False


_RULES: tuple[Callable[[_Scene, Service], Found], ...] = (
    _depends,
    _env_files,
    _environment,
    _spelled_out,
    _addresses,
    _healthcheck,
    _idle,
)
