"""Which containers an engine has of an image, looked up once an engine."""

from contextlib import closing
from dataclasses import field
from typing import TYPE_CHECKING

from pydantic import Field, ValidationError

from fleet.connectors.engine import Endpoint, client, engine_faults
from fleet.connectors.oci.documents import D, Document, Strings, malformed
from fleet.dataclass import dataclass
from fleet.errors import TargetError, Unsupported
from fleet.verifier.compose_running import full_name

if TYPE_CHECKING:
    from docker import DockerClient

MOST = 1_000  # containers of one engine that are looked through
SHORTEST = 4  # characters of an id that are taken for one
_ID = "sha256:"


@dataclass(frozen=True, slots=True)
class Held:
    """A container of an engine.

    Attributes:
        id: its own, in full.
        image: the id of the image it was made of.
        image_name: the name it was made by; an id where it was made by that.
        state: ``running``, ``exited``, ...
    """

    id: str
    name: str
    image: str
    image_name: str
    state: str

    def is_called(self, name: str) -> bool:
        """Tell whether an engine takes a name, or the head of an id, for this container."""
        return name == self.name or (len(name) >= SHORTEST and self.id.startswith(name))


class _Container(Document):
    """What a list of containers tells of one."""

    Id: str
    Names: Strings = Field(default_factory=list)
    Image: str = ""
    ImageID: str = ""
    State: str = ""


class _Image(Document):
    """What a list of images tells of one."""

    Id: str
    RepoTags: Strings = Field(default_factory=list)
    RepoDigests: Strings = Field(default_factory=list)

    @property
    def names(self) -> tuple[str, ...]:
        """Return all names it goes by."""
        return (*self.RepoTags, *self.RepoDigests)


@dataclass(slots=True)
class EngineSearch:
    """The containers of one engine; listed when they are first asked for, and once.

    Attributes:
        lists: how often the engine was asked for what it has.
    """

    at: Endpoint
    timeout: float
    lists: int = 0
    _held: tuple[Held, ...] = ()
    _ids: dict[str, str] = field(default_factory=dict)
    _trouble: TargetError | None = None

    def made_of(self, reference: str) -> tuple[Held, ...]:
        """Return the containers made of an image, or of an earlier one of its name, by name.

        Raises:
            Unreachable: no engine answers.
            ProbeError: it answered with something else.
            Unsupported: it is reached over ssh, or has too many containers.
        """
        if not self.lists:
            self.lists += 1
            try:
                with closing(client(self.timeout, at=self.at)) as engine, engine_faults(self.at):
                    self._look(engine)
            except TargetError as error:
                self._trouble = error
        if self._trouble:
            raise self._trouble
        named = full_name(reference)
        identity = self._ids.get(named, reference)
        found = (
            each
            for each in self._held
            if each.image in (identity, reference) or full_name(each.image_name) == named
        )
        return tuple(sorted(found, key=lambda each: each.name))

    def _look(self, engine: "DockerClient") -> None:
        """List containers and images."""
        found = _read(_Container, engine.api.containers(all=True), "containers")
        if len(found) > MOST:
            raise Unsupported(f"the engine has more than {MOST} containers")
        images = _read(_Image, engine.api.images(), "images")
        self._ids = {full_name(tag): each.Id for each in images for tag in each.names}
        self._held = tuple(self._one(engine, each) for each in found)

    def _one(self, engine: "DockerClient", told: _Container) -> Held:
        """Complete a row: of a container whose image's name has moved on, the list tells the id."""
        # A container that others link to has further names, with theirs before a second slash.
        name = min(told.Names, key=len, default=told.Id).removeprefix("/")
        made_by = told.Image
        if made_by.startswith(_ID) or told.ImageID.removeprefix(_ID).startswith(made_by):
            made_by = _made_by(engine, told.Id) or made_by
        return Held(told.Id, name, told.ImageID, made_by, told.State)


def _made_by(engine: "DockerClient", container: str) -> str:
    import docker  # noqa: PLC0415 - slow, and most commands ask no engine

    try:
        config = engine.api.inspect_container(container).get("Config")
    except docker.errors.NotFound:
        return ""  # removed meanwhile
    name = config.get("Image") if isinstance(config, dict) else None
    return name if isinstance(name, str) else ""


def _read(model: type[D], told: object, what: str) -> list[D]:
    try:
        return [model.model_validate(each) for each in told] if isinstance(told, list) else []
    except ValidationError as error:
        raise malformed(error, name=f"the engine's list of {what}", where="") from None
