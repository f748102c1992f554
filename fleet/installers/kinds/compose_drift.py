"""Does what runs of a compose project agree with its files as they are wanted."""

import posixpath
from collections.abc import Iterator, Mapping

from fleet.dataclass import dataclass
from fleet.facts.dotenv import Dialect, interpret
from fleet.facts.envfile import assignment, split_lines
from fleet.facts.running import ContainerFact, EnvValue
from fleet.installers.items import ComposeBody
from fleet.installers.site import Site
from fleet.secrets import hidden, keyed_digest
from fleet.verifier.compose import Compose, Service, read_compose
from fleet.verifier.compose_running import Ground, differences, unfilled


@dataclass(frozen=True, slots=True)
class Running:
    """What runs of a project, against what is wanted.

    Attributes:
        why: reasons to bring it up although its files are as they should be.
        unseen: what could not be compared.
    """

    why: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()


def env_path(path: str) -> str:
    """Return the path of the ``.env`` that compose reads beside a file."""
    return posixpath.join(posixpath.dirname(path), ".env")


def compared(body: ComposeBody, site: Site, path: str) -> Running:
    """Compare the containers of a project with its file, which lies at an absolute path."""
    containers = site.facts.containers.get(body.project)
    if containers is None:
        cause = site.facts.unseen.get("containers", "it was not asked")
        told = f"whether the project {body.project} runs could not be seen: {cause}"
        return Running(unseen=(told,))
    if not containers:
        return Running(("no container of it is there",))
    comparison = _comparison(body, site, path)
    served = {container.service for container in containers}
    why = [
        f"the service {service.name} has no container"
        for service in comparison.file.selected
        if not served & {"", service.name}
    ]
    unseen: list[str] = []
    for container in containers:
        differs, untold = comparison.of(container)
        why += differs
        unseen += untold
    # A text of the file may be filled in from the .env.
    return Running(tuple(hidden(text, site.secrets.values()) for text in why), tuple(unseen))


@dataclass(frozen=True, slots=True)
class _Comparison:
    """A project's file and environment, to hold its containers against.

    Attributes:
        own: what the project's ``.env`` is to hold; empty where it is not fleet's.
    """

    file: Compose
    ground: Ground
    own: Mapping[str, str]

    def of(self, container: ContainerFact) -> tuple[list[str], list[str]]:
        """Return what differs, and what was not compared."""
        if container.state != "running":
            return [f"{container.name} is {container.state}"], []
        known = self.file.services.get(container.service)
        service = known or Service(container.service)
        wrong = [
            f"{container.name} was created with another {name}"
            for name in (*self.older(service, container), *self.other(service, container))
        ]
        if known is None or self.file.problems:
            return wrong, []
        differs, untold = differences(self.ground, self.file, service, container)
        wrong += [f"{container.name}: {told}" for told in differs]
        return wrong, [f"{container.name}: {told}" for told in untold]

    def older(self, service: Service, container: ContainerFact) -> Iterator[str]:
        """Name the variables of the ``.env`` that have another value there (cases B10)."""
        for name, value in self.own.items():
            there = container.variables.get(name)
            # What the file sets itself is not what the .env says.
            if there is None or not there.set or name in service.environment:
                continue
            if not self.equals(value, there):
                yield name

    def other(self, service: Service, container: ContainerFact) -> Iterator[str]:
        """Name the variables that the file sets and that have another value there."""
        guessed = unfilled(self.ground, service, "environment")
        for name, value in service.environment.items():
            there = container.variables.get(name)
            if there is None or value is None or (guessed and name not in service.literals):
                continue
            if not there.set or not self.equals(value, there):
                yield name

    def equals(self, value: str, there: EnvValue) -> bool:
        """Tell whether a variable of a container has a value."""
        return value == there.value or keyed_digest(self.ground.nonce, value) == there.digest


def _comparison(body: ComposeBody, site: Site, path: str) -> _Comparison:
    environment, unknown = _environment(body, site, path)
    told = {"HOME": site.home, **dict.fromkeys(unknown, "x"), **environment}
    ground = Ground(
        home=site.home,
        folder=posixpath.dirname(path),
        project=body.project,
        nonce=site.facts.nonce,
        unknown=unknown,
    )
    file = read_compose(site.fill(body.content), posixpath.basename(path), told)
    return _Comparison(file, ground, environment if body.env is not None else {})


def _environment(body: ComposeBody, site: Site, path: str) -> tuple[dict[str, str], frozenset[str]]:
    """Return what compose reads beside the file, and the names whose values are not known."""
    if body.env is not None:
        told = (assignment(line) for line in split_lines(site.fill(body.env)))
        return {found.name: _plain(found.value) for found in told if found}, frozenset()
    fact = site.seen(env_path(path))
    if fact is None or fact.env is None:
        return {}, frozenset()
    values = {
        name: entry.value.value
        for name, entry in interpret(fact.env, Dialect.COMPOSE).entries.items()
    }
    known = {name: value for name, value in values.items() if value is not None}
    return known, frozenset(values.keys() - known.keys())


def _plain(value: bytes) -> str:
    text = value.decode("utf-8", "replace").strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == "'" else text
