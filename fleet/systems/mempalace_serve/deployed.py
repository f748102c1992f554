"""Is what runs what is meant: the rendering, the compose file there, and the container."""

import posixpath
from collections.abc import Iterator

from fleet.errors import PlanError
from fleet.facts.environment import command_text
from fleet.facts.model import ContainerFact
from fleet.inventory.render import render
from fleet.secrets import keyed_digest
from fleet.systems.mempalace_serve.kept import compose_environment
from fleet.systems.mempalace_serve.server import HTTP_TOKEN, containers, derived
from fleet.systems.model import Compose as ComposeArtifact
from fleet.verifier.compose import Compose, Service, read_compose
from fleet.verifier.compose_forms import Port, Volume
from fleet.verifier.exports import compare
from fleet.verifier.look import Look
from fleet.verifier.model import (
    Judgement,
    Verdict,
    failed,
    follows_from,
    not_applicable,
    not_checked,
    passed,
)
from fleet.verifier.paths import missing

_EVERYWHERE = frozenset({"", "0.0.0.0", "::"})  # noqa: S104 - looked for, never bound
_NEVER = frozenset({"", "no", "none"})


def compose(look: Look) -> Judgement:
    """The deployed compose file equals its rendering, and the container equals the file."""
    fact, artifact = look.artifact("compose"), look.resolved.artifacts.get("compose")
    if fact is None or not isinstance(artifact, ComposeArtifact):
        return not_applicable("no compose file is declared here")
    nowhere = missing(fact)
    if nowhere:
        return nowhere
    content = look.content(fact)
    if content is None:
        return not_checked(fact.why or "its content was not read", fact.path)
    meant = _rendering(look, artifact)
    file = read_compose(content, posixpath.basename(fact.path), compose_environment(look))
    if not file.selected:
        return follows_from("serve.compose-lint")
    drift = [*_differing(content, meant)] if isinstance(meant, bytes) else []
    unseen = [] if isinstance(meant, bytes) else [meant]
    if look.facts.containers.get(artifact.project) is None:
        unseen.append(look.facts.unseen.get("containers", "containers were not asked for"))
    else:
        for service in file.selected:
            wrong, unknown = _container(look, file, service)
            drift += wrong
            unseen += unknown
    if drift:
        own = isinstance(meant, bytes) and meant == content
        remedy = f"recreate it: docker compose -p {artifact.project} up -d --force-recreate"
        return failed(
            "what runs is not what is meant", *drift, *unseen, remedy=remedy if own else None
        )
    if unseen:
        return not_checked("not all of it could be compared", *unseen)
    names = ", ".join(service.name for service in file.selected)
    return passed("file and container are as rendered", fact.path, f"services: {names}")


def _rendering(look: Look, artifact: ComposeArtifact) -> bytes | str:
    """Return what fleet would write, or in words why that is not known."""
    text = look.templates.get(artifact.template)
    if text is None:
        return f"the template {artifact.template} is not at hand"
    where = f"{look.target.name}: {artifact.template}"
    try:
        variables = {**look.resolved.variables, **derived(look.resolved.variables, look.facts)}
        return render(text, variables, where=where).encode()
    except PlanError as error:
        return f"the compose file cannot be rendered: {error.what}"


def _differing(there: bytes, meant: bytes) -> Iterator[str]:
    """Tell lines that differ by their number: a line of somebody else's may hold a secret."""
    if there == meant:
        return
    one, other = there.splitlines(), meant.splitlines()
    pairs = zip(one, other, strict=False)
    differing = [number for number, (a, b) in enumerate(pairs, 1) if a != b]
    first = differing[0] if differing else min(len(one), len(other)) + 1
    yield f"the compose file differs from its rendering from line {first} on"


def _container(look: Look, file: Compose, service: Service) -> tuple[list[str], list[str]]:
    """Return what differs between a service and its containers, and what was not seen."""
    own = [c for c in containers(look) if c.service == service.name]
    if not own:
        return [f"no container of the service {service.name} is there"], []
    wrong: list[str] = []
    unseen: list[str] = []
    for container in own:
        if container.state != "running":
            wrong.append(f"{container.name} is {container.state}")
        wrong += [
            f"{container.name}: {told}" for told in _differences(look, file, service, container)
        ]
        if service.image and not container.image_name:
            unseen.append(f"{container.name}: the name of its image was not seen")
        if container.command is None:
            unseen.append(f"{container.name}: its command was not seen")
    return wrong, unseen


def _differences(
    look: Look, file: Compose, service: Service, container: ContainerFact
) -> Iterator[str]:
    yield from _image(service, container)
    yield from _command(look, file, service, container)
    yield from _environment(look, file, service, container)
    yield from _ports(service.ports, container)
    yield from _mounts(look, service.volumes, container)
    wanted, actual = service.restart.partition(":")[0], container.restart
    if wanted != actual and not {wanted, actual} <= _NEVER:
        yield f"restart is {actual or 'no'}, the file says {wanted or 'no'}"


def _image(service: Service, container: ContainerFact) -> Iterator[str]:
    name = container.image_name
    if name and service.image and name != service.image:
        yield f"made of the image {name}, the file says {service.image}"
    elif container.image_now and container.image and container.image_now != container.image:
        yield f"made of an older image than {name} is today"


def _command(
    look: Look, file: Compose, service: Service, container: ContainerFact
) -> Iterator[str]:
    # Without an entry point in the file the image's own stands before it, which is not seen.
    whole = ("services", service.name, "entrypoint") in file.places
    if container.command is None or not whole:
        return
    if container.command != keyed_digest(look.facts.nonce, command_text(service.command)):
        yield "its command is not the one in the file"


def _environment(
    look: Look, file: Compose, service: Service, container: ContainerFact
) -> Iterator[str]:
    token = look.value("palace_token")
    # What could not be filled in reads like an empty text; that is serve.compose-lint's to tell.
    whole = not any(problem.verdict is Verdict.FAIL for problem in file.problems)
    for name, value in service.environment.items():
        actual = container.variables.get(name)
        if actual is None or value is None:
            continue
        if name == HTTP_TOKEN and token is not None:
            told = compare(look, name, token, actual)
        elif name in service.literals and whole:
            told = compare(look, name, value, actual)
        else:
            continue
        if told and not told.unseen:
            yield str(told)


def _ports(ports: tuple[Port, ...], container: ContainerFact) -> Iterator[str]:
    left = [p for p in container.ports if p.port]
    for port in ports:
        found = [
            p
            for p in left
            if str(p.inner) == port.target
            and port.published in ("", str(p.port))
            and (p.address == port.address or {p.address, port.address} <= _EVERYWHERE)
        ]
        left = [p for p in left if p not in found]
        if not found and "-" not in port.target:
            yield f"does not publish {_shown(port.address, port.published, port.target)}"
    for extra in left:
        if not any("-" in port.target for port in ports):
            shown = _shown(extra.address, str(extra.port), str(extra.inner))
            yield f"publishes {shown}, which the file does not say"


def _shown(address: str, published: str, target: str) -> str:
    shown = f"[{address}]" if ":" in address else address
    return ":".join(part for part in (shown, published, target) if part)


def _mounts(look: Look, volumes: tuple[Volume, ...], container: ContainerFact) -> Iterator[str]:
    for volume in volumes:
        source = container.mounts.get(volume.target)
        if source is None:
            yield f"nothing is mounted at {volume.target}"
        elif volume.source and source not in _sources(look, volume.source):
            yield f"{source} is mounted at {volume.target}, the file says {volume.source}"
    beside = container.mounts.keys() - {volume.target for volume in volumes}
    # What the image declares itself is mounted under a name of 64 hex digits.
    for target in sorted(t for t in beside if len(container.mounts[t]) != 64):  # noqa: PLR2004 - as said
        yield f"{container.mounts[target]} is mounted at {target}, which the file does not say"


def _sources(look: Look, source: str) -> set[str]:
    home, folder = look.facts.platform.home, look.text("compose_dir")
    folder = home + folder[1:] if folder.startswith("~") else folder
    if source.startswith("~"):
        return {posixpath.normpath(home + source[1:])}
    if source.startswith("."):
        return {posixpath.normpath(posixpath.join(folder, source))}
    return {posixpath.normpath(source), f"{look.text('compose_project')}_{source}"}
