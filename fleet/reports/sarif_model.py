"""The parts of SARIF 2.1.0 that fleet writes, named as the standard names them.

Section numbers are those of the standard (OASIS, 2.1.0 with errata 01).
"""

from datetime import datetime
from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, PlainSerializer
from pydantic.alias_generators import to_camel

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
Level = Literal["none", "note", "warning", "error"]
Property: TypeAlias = str | bool | int | list[str] | dict[str, int]
Moment = Annotated[datetime, PlainSerializer(lambda m: f"{m:%Y-%m-%dT%H:%M:%S}.{m:%f}"[:-3] + "Z")]


class Part(BaseModel):
    """Base of all parts: frozen, closed to unknown keys, written in camelCase."""

    model_config = ConfigDict(
        frozen=True,
        defer_build=True,
        extra="forbid",
        alias_generator=to_camel,
        populate_by_name=True,
    )


class Message(Part):
    """A text for people (3.11)."""

    text: str
    markdown: str | None = None


class ArtifactLocation(Part):
    """Where an artifact is, as a URI (3.4)."""

    uri: str


class Region(Part):
    """Lines of an artifact (3.30)."""

    start_line: int


class PhysicalLocation(Part):
    """A place in an artifact (3.29)."""

    artifact_location: ArtifactLocation
    region: Region | None = None


class LogicalLocation(Part):
    """A place by name (3.33)."""

    name: str
    fully_qualified_name: str
    kind: str


class Location(Part):
    """A physical and a logical place (3.28)."""

    physical_location: PhysicalLocation
    logical_locations: tuple[LogicalLocation, ...]


class Suppression(Part):
    """Why a result is accepted (3.35)."""

    kind: Literal["external"] = "external"
    status: Literal["accepted"] = "accepted"
    justification: str


class Configuration(Part):
    """What holds for a rule unless a result says otherwise (3.50)."""

    level: Level


class Descriptor(Part):
    """A rule, or a kind of notification (3.49); code hosts want all of its texts."""

    id: str
    name: str
    short_description: Message
    full_description: Message
    help: Message
    default_configuration: Configuration
    properties: dict[str, Property] | None = None


class Reference(Part):
    """A descriptor by its id (3.52)."""

    id: str
    index: int | None = None


class Result(Part):
    """One finding (3.27)."""

    rule_id: str
    rule_index: int
    kind: Literal["fail"] = "fail"
    level: Level
    message: Message
    locations: tuple[Location, ...]
    partial_fingerprints: dict[str, str]
    suppressions: tuple[Suppression, ...] = ()
    properties: dict[str, Property]


class Notification(Part):
    """What the tool has to say of its own run (3.58)."""

    descriptor: Reference
    associated_rule: Reference | None = None
    level: Level
    message: Message
    locations: tuple[Location, ...]


class Invocation(Part):
    """One run of the tool (3.20)."""

    start_time_utc: Moment
    end_time_utc: Moment
    exit_code: int
    exit_code_description: str
    execution_successful: bool
    tool_execution_notifications: tuple[Notification, ...]


class Driver(Part):
    """The tool (3.19)."""

    name: str
    semantic_version: str
    rules: tuple[Descriptor, ...]
    notifications: tuple[Descriptor, ...]


class Tool(Part):
    """The tool with its extensions (3.18)."""

    driver: Driver


class AutomationDetails(Part):
    """What kind of run this is; the part before the last slash is the same each time (3.17)."""

    id: str


class SarifRun(Part):
    """One run (3.14)."""

    tool: Tool
    automation_details: AutomationDetails
    invocations: tuple[Invocation, ...]
    results: tuple[Result, ...]
    column_kind: Literal["unicodeCodePoints"] = "unicodeCodePoints"
    properties: dict[str, Property]


class Log(Part):
    """A SARIF file (3.13)."""

    schema_: str = Field(default=SCHEMA, alias="$schema")
    version: Literal["2.1.0"] = "2.1.0"
    runs: tuple[SarifRun, ...]
