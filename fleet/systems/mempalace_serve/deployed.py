"""Is what runs what is meant: the rendering, the compose file there, and the container."""

import posixpath
from collections.abc import Iterator

from fleet.errors import PlanError
from fleet.inventory.model import SecretRef
from fleet.inventory.render import render
from fleet.systems.mempalace_serve.kept import compose_entries, compose_environment
from fleet.systems.mempalace_serve.server import HTTP_TOKEN, containers, derived
from fleet.systems.model import Compose as ComposeArtifact
from fleet.verifier.compose import Compose, Service, read_compose
from fleet.verifier.compose_running import Ground
from fleet.verifier.composed import Around, compare_container, untold
from fleet.verifier.look import Expected, Look
from fleet.verifier.model import (
    Judgement,
    failed,
    follows_from,
    not_applicable,
    not_checked,
    passed,
)
from fleet.verifier.paths import missing


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
    ground = _ground(look)
    wrong: list[str] = []
    unseen: list[str] = []
    for container in own:
        if container.state != "running":
            wrong.append(f"{container.name} is {container.state}")
        compared = compare_container(ground, _around(look), file, service, container)
        wrong += [f"{container.name}: {told}" for told in compared.wrong]
        unseen += [f"{container.name}: {told}" for told in compared.unseen]
    return wrong, unseen


def _ground(look: Look) -> Ground:
    home, folder = look.facts.platform.home, look.text("compose_dir")
    return Ground(
        home=home,
        folder=home + folder[1:] if folder.startswith("~") else folder,
        project=look.text("compose_project"),
        nonce=look.facts.nonce,
        unknown=untold(compose_entries(look)),
    )


def _around(look: Look) -> Around:
    return Around(dotenv=compose_entries(look), expected=dict(_expected(look)))


def _expected(look: Look) -> Iterator[tuple[str, Expected]]:
    """Yield the token: it is known from the inventory, whatever the file takes it from."""
    token = look.value("palace_token")
    known = look.expected.get(token) if isinstance(token, SecretRef) else None
    if isinstance(token, str) and token:
        known = Expected.of(look.facts.nonce, token)
    if known is not None:
        yield HTTP_TOKEN, known
