"""The inventory's keys: what may stand where, and what it means.

These models are the one description: loading validates with them, ``fleet inventory schema``
prints them as JSON Schema, and the reference of keys is made from their descriptions.
"""

import contextlib
import re
import shlex
from datetime import date
from functools import lru_cache
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from fleet.inventory.tags import VARIABLE
from fleet.systems.model import Gate

DEFAULT_GATE_SYSTEM = "mempalace-bridge"

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_OPERATORS = "- , * ? ! & ~ [ ] { } ="
_NAME = re.compile(r"[^\s,*?!&~\[\]{}=\x00-\x1f\x7f-\x9f-][^\s,*?!&~\[\]{}=\x00-\x1f\x7f-\x9f]*")


def _one_or_many(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _shells(value: object) -> object:
    shells = _one_or_many(value)
    for shell in shells if isinstance(shells, list) else []:
        if isinstance(shell, str):
            check_shell(shell)
    return shells


@lru_cache(maxsize=256)  # a fleet's hosts are launched in a few ways
def check_shell(shell: str) -> None:
    """Refuse what cannot be the words of a launching shell.

    Raises:
        ValueError: it is empty, has an open quote, control characters, or begins with a dash.
    """
    try:
        words = shlex.split(shell)
    except ValueError as error:
        raise ValueError(f"`{shell}` has an open quote") from error
    if not words or words[0].startswith("-"):
        raise ValueError(f"`{shell}` names no program, such as `zsh -ic`")
    if not shell.isprintable():
        raise ValueError("a shell holds control characters")


def _become(value: object) -> object:
    if value is None or value is False:
        return ""
    if value is True:
        return "root"
    if isinstance(value, str) and value.lower() in {"yes", "no", "on", "off"}:
        raise ValueError(f"`become: {value}` would name a user: write true or false")
    if isinstance(value, str) and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.\\@-]*\$?", value):
        raise ValueError("`become` is true, false or a user's name")
    return value


def check_variable(name: object) -> object:
    """Refuse a name that a template could not use.

    Raises:
        ValueError: it is no identifier.
    """
    if isinstance(name, str) and not VARIABLE.fullmatch(name):
        raise ValueError(f"`{name}` is no variable's name: letters, digits and `_`")
    return name


def check_name(name: object) -> object:
    """Refuse a target's or group's name that patterns could not tell apart from an operator.

    Raises:
        ValueError: it is empty, holds white space or one of ``,*?!&~[]{}=``, or begins with ``-``.
    """
    if isinstance(name, str) and not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} cannot be a name: white space, or one of {_OPERATORS}")
    return name


def _day(value: object) -> object:
    """Read a day; pydantic itself would take a number for seconds since 1970."""
    if isinstance(value, str) and _DAY.fullmatch(value):
        with contextlib.suppress(ValueError):  # no such day, as the 30th of February
            return date.fromisoformat(value)
    raise ValueError(f"`{value}` is no day: write one as 2027-01-31")


def _text(value: object) -> object:
    if isinstance(value, str) and not value.strip():
        raise ValueError("an empty text says nothing")
    return value


Words = Annotated[
    tuple[str, ...],
    BeforeValidator(_one_or_many),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
]
Shells = Annotated[
    tuple[str, ...],
    BeforeValidator(_shells),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
]
BecomeUser = Annotated[
    str,
    BeforeValidator(_become),
    WithJsonSchema({"anyOf": [{"type": "boolean"}, {"type": "string"}]}),
]
Day = Annotated[date, BeforeValidator(_day), WithJsonSchema({"type": "string", "format": "date"})]
Text = Annotated[str, BeforeValidator(_text)]
VariableName = Annotated[str, BeforeValidator(check_variable)]
Name = Annotated[str, BeforeValidator(check_name)]
# A variable holds whatever YAML can say; nothing below it is ours to check.
AnyValue = Annotated[Any, WithJsonSchema({})]


class Part(BaseModel):
    """Base of all parts of an inventory: closed to unknown keys."""

    model_config = ConfigDict(
        frozen=True, defer_build=True, extra="forbid", arbitrary_types_allowed=True
    )

    ALIASES: ClassVar[dict[str, str]] = {}
    """What users of other tools may write, and what it is called here."""


class _Said(Part):
    """What targets and groups have in common."""

    vars: dict[VariableName, AnyValue] | None = Field(
        None,
        description="variables; a text may use others as {{ name }}; a secret is a reference: "
        "!secret env:NAME, file:PATH or cmd:COMMAND",
    )
    systems: Words = Field((), description="systems to deploy and verify, in order")
    require: Words = Field(
        (), description="capabilities that must hold, or the exit code says so: feed, stamp, ..."
    )


class HostPart(_Said):
    """A machine."""

    ALIASES = {
        "host": "`ssh: user@host:port`",
        "address": "`ssh: user@host:port`",
        "hostname": "`ssh: user@host:port`",
        "ansible_host": "`ssh: user@host:port`",
        "user": "it into `ssh: user@host:port`",
        "port": "it into `ssh: user@host:port`",
        "key": "`identity`",
        "sudo": "`become`",
        "variables": "`vars`",
    }

    ssh: str | None = Field(
        None,
        description="user@host:port, ssh://user@host:port, or a name from ~/.ssh/config; a host "
        "that says nothing is reached under its own name",
    )
    local: str | None = Field(
        None, description="this machine: a home folder, or nothing for your own home"
    )
    rootfs: str | None = Field(
        None, description="the folder of an unpacked root file system; nothing is run in it"
    )
    shell: Shells = Field(
        (),
        description="how pi is launched there, one or several: zsh -ic, bash -lc; sh -lc when "
        "nothing is said",
    )
    become: BecomeUser = Field(
        "", description="true or a user: act as root, or that user, by sudo -n"
    )
    identity: str = Field("", description="private key file for ssh")


class ContainerPart(_Said):
    """A running container."""

    ALIASES = {"name": "`container`", "variables": "`vars`"}

    container: str | None = Field(
        None, description="the container's name or id; its name here when nothing is said"
    )
    shell: Shells = Field(
        (), description="how pi is launched there; `container`, its entry point, when not said"
    )


class ImagePart(_Said):
    """An image that is not running."""

    ALIASES = {"name": "`image`", "ref": "`image`", "archive": "`image`", "variables": "`vars`"}

    image: str = Field(
        description="docker-daemon:REF, oci:DIR[:TAG], oci-archive:FILE[:TAG], "
        "docker-archive:FILE[:REF], docker://REGISTRY/NAME[:TAG] or rootfs:DIR; without a scheme "
        "a REF in the Docker engine"
    )
    shell: Shells = Field(
        (), description="how pi is launched there; `container`, its entry point, when not said"
    )


class GroupPart(_Said):
    """Targets that share something."""

    ALIASES = {
        "children": "`groups`",
        "variables": "`vars`",
        "targets": "`hosts`, `containers` or `images`",
    }

    hosts: dict[Name, HostPart | None] | None = Field(
        None, description="machines by name; a name with nothing after it is a mention"
    )
    containers: dict[Name, ContainerPart | None] | None = Field(
        None, description="running containers by name"
    )
    images: dict[Name, ImagePart | None] | None = Field(
        None, description="images that are not running, by name"
    )
    groups: dict[Name, "GroupPart | None"] | None = Field(
        None, description="groups inside of this one; what they say goes before"
    )


class GatePart(Gate):
    """A gate of your own: a marker to look for in an artifact of a system."""

    ALIASES: ClassVar[dict[str, str]] = {
        "name": "`id`",
        "artifact": "`marker: {in: ARTIFACT, all: [WORD]}`",
    }

    system: str = Field(DEFAULT_GATE_SYSTEM, description="the system it extends")


class WaiverPart(Part):
    """A failure that is accepted, for a reason and until a day."""

    ALIASES = {
        "target": "`targets`",
        "expires": "`until`",
        "because": "`reason`",
        "why": "`reason`",
    }

    gate: Text = Field(description="the gate whose failure is accepted")
    targets: Annotated[Words, Field(min_length=1)] = Field(
        description="where: names, groups or patterns; `fleet` or a group for a fleet-wide gate"
    )
    reason: Text = Field(description="why it is accepted; shown in every report")
    until: Day = Field(description="the last day on which it is, such as 2027-01-31")


class InventoryPart(GroupPart):
    """A whole inventory file; what stands at its top holds for every target."""

    gates: tuple[GatePart, ...] | None = Field(
        None, description="gates of your own, beside those of the systems"
    )
    waivers: tuple[WaiverPart, ...] | None = Field(
        None, description="failures that are accepted, each for a reason and until a day"
    )


def inventory_schema() -> dict[str, object]:
    """Return the JSON Schema of an inventory file, for editors."""
    schema = InventoryPart.model_json_schema(by_alias=True)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "fleet inventory",
    }
