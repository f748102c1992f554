"""Is what runs what is meant: the rendering, the compose file there, and the container."""

import posixpath
from collections.abc import Iterator

from fleet.errors import PlanError
from fleet.inventory.model import SecretRef
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
from fleet.verifier.rendered import differing, rendering

_FILE = "the compose file"


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
    drift = [*differing(content, meant, _FILE)] if isinstance(meant, bytes) else []
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
    try:
        further = derived(look.resolved.variables, look.facts)
    except PlanError as error:
        return f"{_FILE} cannot be rendered: {error.what}"
    return rendering(look, artifact.template, further, _FILE)


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
