"""The JSON documents of images, validated: OCI image specification 1.1 and docker's archives."""

import json
from typing import Annotated, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from fleet.connectors.oci.streams import DIGEST
from fleet.connectors.text import one_line
from fleet.errors import ProbeError
from fleet.facts.platforms import runs

JSON_LIMIT = 4 * 1024 * 1024


def _empty(value: object) -> object:
    return [] if value is None else value


def _words(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _no_entries(value: object) -> object:
    return {} if value is None else value


def _said_date(value: object) -> object:
    """Leave out the date by which the engines' language says that there is none."""
    return "" if value is None or value == "0001-01-01T00:00:00Z" else value


Digest = Annotated[str, Field(pattern=DIGEST)]
Strings = Annotated[list[str], BeforeValidator(_empty), Field(max_length=100_000)]
Texts = Annotated[dict[str, str], BeforeValidator(_no_entries)]


class Document(BaseModel):
    """Base of all documents: frozen; keys the specification adds later are ignored."""

    model_config = ConfigDict(frozen=True, defer_build=True, extra="ignore")


class Architecture(Document):
    """The platform an image is for."""

    os: str = ""
    architecture: str = ""
    variant: str = ""

    def __str__(self) -> str:
        return "/".join(part for part in (self.os, self.architecture, self.variant) if part)

    def runs(self, asked: "Architecture") -> bool:
        """Tell whether this is the platform asked for; an unsaid variant is any."""
        return runs(str(self), str(asked))


def architecture(text: str) -> Architecture:
    """Read ``linux/arm64/v8``."""
    parts = [*text.split("/"), "", "", ""]
    return Architecture(os=parts[0], architecture=parts[1], variant=parts[2])


class Descriptor(Document):
    """Names a blob."""

    mediaType: str = ""  # noqa: N815 - the specification's name
    digest: Digest
    size: int = 0
    platform: Architecture | None = None
    annotations: Texts = Field(default_factory=dict)


class Manifest(Document):
    """An index where ``manifests`` is set, an image where ``layers`` is."""

    mediaType: str = ""  # noqa: N815 - the specification's name
    schemaVersion: int = 2  # noqa: N815 - the specification's name
    manifests: Annotated[list[Descriptor], Field(max_length=10_000)] | None = None
    config: Descriptor | None = None
    layers: Annotated[list[Descriptor], Field(max_length=1_000)] | None = None


class Saved(Document):
    """One image of a docker archive's ``manifest.json``."""

    Config: str
    RepoTags: Strings = Field(default_factory=list)
    Layers: Annotated[list[str], BeforeValidator(_empty), Field(max_length=1_000)]


class Container(Document):
    """What a container of the image starts with."""

    User: Annotated[str, BeforeValidator(lambda value: value or "")] = ""
    Env: Strings = Field(default_factory=list)
    Cmd: Annotated[Strings, BeforeValidator(_words)] = Field(default_factory=list)
    Labels: Texts = Field(default_factory=dict)
    WorkingDir: Annotated[str, BeforeValidator(lambda value: value or "")] = ""
    Volumes: Annotated[dict[str, object], BeforeValidator(_no_entries)] = Field(
        default_factory=dict
    )


class RootFs(Document):
    """The layers' hashes once decompressed, the lowest first."""

    diff_ids: Strings = Field(default_factory=list)


class Configuration(Architecture):
    """An image's configuration."""

    created: Annotated[str, BeforeValidator(lambda value: value or "")] = ""
    config: Annotated[Container, BeforeValidator(_no_entries)] = Field(default_factory=Container)
    rootfs: RootFs = Field(default_factory=RootFs)

    def environment(self) -> dict[str, str]:
        """Return ``Config.Env``; the last line of a name counts, one without ``=`` does not."""
        pairs = (line.partition("=") for line in self.config.Env)
        return {name: value for name, sign, value in pairs if sign}


class Driver(Document):
    """Where an engine keeps an image's layers."""

    Name: str = ""
    Data: Texts = Field(default_factory=dict)


class Layers(Document):
    """The layers' hashes, as an engine tells them."""

    Layers: Strings = Field(default_factory=list)


class Inspected(Document):
    """What an engine says of an image it has."""

    Id: Digest
    Created: Annotated[str, BeforeValidator(_said_date)] = ""
    Os: str = ""
    Architecture: str = ""
    Variant: str = ""
    # Its own name is one that pydantic keeps for itself.
    container: Annotated[Container, BeforeValidator(_no_entries)] = Field(
        default_factory=Container, alias="Config"
    )
    RootFS: Annotated[Layers, BeforeValidator(_no_entries)] = Field(default_factory=Layers)
    GraphDriver: Annotated[Driver, BeforeValidator(_no_entries)] = Field(default_factory=Driver)

    def configuration(self) -> Configuration:
        """Return it as the image's own configuration tells it."""
        return Configuration(
            os=self.Os,
            architecture=self.Architecture,
            variant=self.Variant,
            created=self.Created,
            config=self.container,
            rootfs=RootFs(diff_ids=self.RootFS.Layers),
        )


D = TypeVar("D", bound=Document)


def parsed(model: type[D], content: bytes, *, name: str, where: str) -> D:
    """Validate a document.

    Raises:
        ProbeError: it is not what it should be; never quotes a value of it.
    """
    try:
        return model.model_validate_json(content)
    except ValidationError as error:
        raise malformed(error, name=name, where=where) from None


def checked(model: type[D], document: object, *, name: str, where: str) -> D:
    """Validate a document that is no text any more.

    Raises:
        ProbeError: it is not what it should be; never quotes a value of it.
    """
    return parsed(model, json.dumps(document).encode(), name=name, where=where)


def malformed(error: ValidationError, *, name: str, where: str) -> ProbeError:
    """Say what is wrong with a document, without its values."""
    first = error.errors(include_input=False, include_url=False, include_context=False)[0]
    place = ".".join(map(str, first["loc"]))
    why = one_line(first["msg"], 120)
    return ProbeError(
        f"{name} is not understood: {one_line(place, 60)}: {why}" if place else f"{name}: {why}",
        where=where,
        hint="the image is damaged, or is of a newer kind than this reader knows",
    )
