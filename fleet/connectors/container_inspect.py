"""What an engine tells of a container and its image, as facts; no secret value is kept."""

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated

from pydantic import BeforeValidator, Field, ValidationError

from fleet.connectors.oci.documents import Configuration, Document, Strings, Texts, malformed
from fleet.connectors.scan.configuration import labels_to_show
from fleet.errors import ProbeError
from fleet.facts.compile import PUBLIC_FLAGS, SECRET_FLAGS
from fleet.facts.environment import command_text, env_value
from fleet.facts.images import ImageFact
from fleet.facts.request import CONTAINER, Request
from fleet.facts.running import ContainerFact, EnvValue, Publication
from fleet.secrets import keyed_digest
from fleet.verifier.image_config import Baked

SERVICE = "com.docker.compose.service"
PROJECT = "com.docker.compose.project"
CONFIG_FILES = "com.docker.compose.project.config_files"
WORKING_DIR = "com.docker.compose.project.working_dir"
ENVIRONMENT_FILE = "com.docker.compose.project.environment_file"
_ENDED = ("exited", "dead", "stopped")
_HIGHEST_PORT = 0xFFFF


def _nothing(value: object) -> object:
    return {} if value is None else value


class HealthCheck(Document):
    """What the container's own health check last said."""

    Status: str = ""


class RunState(Document):
    """Whether it runs, and how it ended."""

    Status: str = ""
    ExitCode: int = 0
    Error: str = ""
    Health: HealthCheck | None = None


class Binding(Document):
    """One place on the host that a port is published at."""

    HostIp: str = ""
    HostPort: str = ""


Bindings = Annotated[dict[str, list[Binding] | None], BeforeValidator(_nothing)]


class Network(Document):
    """Published ports by ``port/protocol``."""

    Ports: Bindings = Field(default_factory=dict)


class Restart(Document):
    """When the engine starts it again."""

    Name: str = ""


class HostSettings(Document):
    """What was asked of the host when it was created."""

    NetworkMode: str = ""
    RestartPolicy: Restart = Field(default_factory=Restart)
    PortBindings: Bindings = Field(default_factory=dict)


class Mount(Document):
    """A volume, by name, or a folder of the host, by path."""

    Destination: str
    Name: str = ""
    Source: str = ""


class Settings(Document):
    """What its entry point is started with."""

    User: Annotated[str, BeforeValidator(lambda value: value or "")] = ""
    Env: Strings = Field(default_factory=list)
    Cmd: Strings = Field(default_factory=list)
    Labels: Texts = Field(default_factory=dict)
    WorkingDir: Annotated[str, BeforeValidator(lambda value: value or "")] = ""
    Hostname: str = ""
    Image: Annotated[str, BeforeValidator(lambda value: value or "")] = ""

    def environment(self) -> dict[str, str]:
        """Return ``Env`` by name; a line without ``=`` is a name that is unset."""
        pairs = (line.partition("=") for line in self.Env)
        return {name: value for name, sign, value in pairs if sign}


class Inspected(Document):
    """The parts of ``docker inspect`` that are used."""

    Id: str
    Name: str
    Created: str = ""
    Image: str = ""
    Path: str = ""
    Args: Strings = Field(default_factory=list)
    State: RunState
    Config: Settings
    HostConfig: HostSettings
    NetworkSettings: Annotated[Network, BeforeValidator(_nothing)] = Field(default_factory=Network)
    Mounts: Annotated[list[Mount], BeforeValidator(lambda value: value or [])] = Field(
        default_factory=list
    )


def read_inspected(told: object, *, where: str) -> Inspected:
    """Validate what an engine tells of a container.

    Raises:
        ProbeError: it is not what ``docker inspect`` tells; the message holds no value of it.
    """
    try:
        return Inspected.model_validate(told)
    except ValidationError as error:
        raise malformed(error, name="what the engine tells of the container", where=where) from None


def container_fact(
    inspected: Inspected,
    request: Request,
    image_now: str = "",
    baked: Sequence[Baked] | None = None,
) -> ContainerFact:
    """Return what is told of a container.

    A variable's value is kept only where the request names the variable public. ``image_now`` is
    the identity that the name of its image has today, ``baked`` where the image holds secrets.
    """
    state, host, labels = inspected.State, inspected.HostConfig, inspected.Config.Labels
    bound = inspected.NetworkSettings.Ports if state.Status == "running" else host.PortBindings
    words = [inspected.Path, *inspected.Args]
    flags = dict(_flags(words))
    return ContainerFact(
        name=inspected.Name.removeprefix("/"),
        service=labels.get(SERVICE, ""),
        state=state.Status,
        image=inspected.Image,
        created=inspected.Created,
        error=state.Error,
        exit_code=state.ExitCode if state.Status in _ENDED else None,
        health=state.Health.Status if state.Health and state.Health.Status != "none" else None,
        network=host.NetworkMode,
        restart=host.RestartPolicy.Name,
        ports=tuple(_publications(bound)),
        variables=told_variables(inspected.Config.environment(), request),
        mounts={mount.Destination: mount.Name or mount.Source for mount in inspected.Mounts},
        secret_flags=tuple(name for name in flags if name in SECRET_FLAGS),
        flags={name: value for name, value in flags.items() if name in PUBLIC_FLAGS},
        command=keyed_digest(request.nonce, command_text(words)),
        image_name=inspected.Config.Image,
        image_now=image_now,
        arguments=keyed_digest(request.nonce, command_text(inspected.Config.Cmd)),
        baked=None if baked is None else tuple(_baked(baked)),
        project=labels.get(PROJECT, ""),
        compose_files=_listed(labels, CONFIG_FILES),
        compose_folder=labels.get(WORKING_DIR, ""),
        compose_env=_listed(labels, ENVIRONMENT_FILE),
    )


def _baked(found: Sequence[Baked]) -> Iterator[str]:
    """Spell them as the probe does, which tells environment and history apart and no more."""
    for each in found:
        place = each.place.partition(" ")[0]
        if place in ("env", "history"):
            yield f"{place} {each.key}"


def _listed(labels: Mapping[str, str], name: str) -> tuple[str, ...]:
    """Return the paths of a label; compose 1 told some of them from the project's folder."""
    folder = labels.get(WORKING_DIR, "")
    return tuple(posixpath.join(folder, p) for p in labels.get(name, "").split(",") if p)


def told_variables(environment: Mapping[str, str], request: Request) -> dict[str, EnvValue]:
    """Return all variables of a container: public ones by value, the others by digest.

    What the request asks for and is not set is told as not set. What it asks of a process's
    environment is asked of the container's too: that is where the process has it from.
    """
    asked = [(each.public, each.secret) for each in request.launches]
    asked += [(each.public, each.secret) for each in request.containers]
    asked += [(each.variables, each.secret_variables) for each in request.processes]
    secret = {name for _, names in asked for name in names}
    public = {name for names, _ in asked for name in names} - secret
    names = dict.fromkeys([*environment, *sorted(public | secret)])
    return {
        name: env_value(environment.get(name), nonce=request.nonce, public=name in public)
        for name in names
    }


def launch_variables(
    environment: Mapping[str, str], request: Request
) -> dict[str, EnvValue] | None:
    """Return what the entry point's environment is asked for; None when it is not asked."""
    for question in request.launches:
        if question.launch == CONTAINER:
            told = told_variables(environment, request)
            return {name: told[name] for name in (*question.public, *question.secret)}
    return None


def image_fact(told: object, identity: str, request: Request, *, where: str) -> ImageFact:
    """Return what is told of a container's image.

    Args:
        told: what ``docker image inspect`` says, None where the image is gone.
        identity: the image's id, as the container tells it.
        request: names the variables whose values may be kept.
        where: the target, for the error's text.
    """
    if told is None:
        return ImageFact(id=identity)
    if not isinstance(told, dict):
        raise ProbeError("what the engine tells of the image is not understood", where=where)
    # The engine writes these three with a capital letter, the image specification without.
    lower = {"Architecture": "architecture", "Os": "os", "Variant": "variant", "Config": "config"}
    lower |= {"Created": "created"}
    try:
        image = Configuration.model_validate({lower.get(key, key): told[key] for key in told})
    except ValidationError as error:
        raise malformed(error, name="what the engine tells of the image", where=where) from None
    return ImageFact(
        id=identity,
        user=image.config.User,
        created=image.created,
        platform=str(image),
        labels=labels_to_show(image.config.Labels),
        volumes=tuple(sorted(image.config.Volumes)),
        variables=told_variables(image.environment(), request),
        arguments=keyed_digest(request.nonce, command_text(image.config.Cmd)),
    )


def _flags(arguments: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the known flags of a command line; of a secret one, that it is there."""
    for position, argument in enumerate(arguments):
        name, sign, value = argument.partition("=")
        if name in SECRET_FLAGS:
            yield name, ""
        elif name in PUBLIC_FLAGS:
            following = arguments[position + 1 : position + 2]
            after = following[0] if following and not following[0].startswith("-") else ""
            yield name, value if sign else after


def _publications(ports: Mapping[str, Sequence[Binding] | None]) -> Iterator[Publication]:
    for inner, bindings in ports.items():
        number = _port(inner.partition("/")[0])
        for binding in bindings or [Binding()]:
            yield Publication(address=binding.HostIp, port=_port(binding.HostPort), inner=number)


def _port(text: str) -> int:
    number = int(text) if text.isascii() and text.isdigit() else 0
    return number if number <= _HIGHEST_PORT else 0
