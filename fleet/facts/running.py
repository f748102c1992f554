"""What launching shells export, what runs, what listens, and containers. Plain data."""

from typing import Literal

from pydantic import Field

from fleet.facts.base import Fact
from fleet.facts.paths import PathFact, Sha256


class EnvValue(Fact):
    """A variable in an environment. ``value`` only where it is public, ``digest`` only else.

    ``length`` is that of the value in UTF-8, in bytes.
    """

    set: bool
    length: int = 0
    value: str | None = None
    digest: Sha256 | None = None


class CommandFact(Fact):
    """A program on a PATH; ``file`` is absent when no folder of the PATH has it.

    Attributes:
        version: the first line it printed when it was asked for its version; None when it was
            not asked, empty when it printed none.
        told_by: the file that told the version of what was not run; empty where it told it itself.
        others: further programs of this name on the PATH, in its order; None when not asked.
        beside: files beside the manifest, by their path from its folder.
    """

    name: str
    file: PathFact | None = None
    manifest: PathFact | None = None
    version: str | None = None
    told_by: str = ""
    others: tuple["CommandFact", ...] | None = None
    beside: dict[str, PathFact] = Field(default_factory=dict)


class LaunchFact(Fact):
    """What one way of launching pi exports.

    Attributes:
        state: ``ok``; ``missing`` (no such shell); ``timeout``; ``failed`` (it ended without
            running what it was given); ``unsupported``.
    """

    launch: str
    state: Literal["ok", "missing", "timeout", "failed", "unsupported"]
    variables: dict[str, EnvValue] = Field(default_factory=dict)
    commands: dict[str, CommandFact] = Field(default_factory=dict)
    why: str | None = None


class ProcessFact(Fact):
    """A running process.

    Attributes:
        command: the program, and of its arguments those that were asked for.
        flags: values of public flags; a bare flag's is empty.
        variables: empty where this user may not see the process's environment.
        parent: the pid of the process that started it; None where it was not told.
        contained: whether it runs in a container that is no target of this question; None where
            that was not told.
    """

    pid: int
    user: str
    parent: int | None = None
    contained: bool | None = None
    started: int | None = None
    command: str = ""
    flags: dict[str, str] = Field(default_factory=dict)
    secret_flags: tuple[str, ...] = ()
    variables: dict[str, EnvValue] = Field(default_factory=dict)


class CheckFact(Fact):
    """How a program's own check of its configuration ended.

    Attributes:
        state: ``ok``; ``failed``; ``denied`` (this user may not read what the check needs);
            ``missing`` (no such program); ``timeout``.
        status: its exit status.
        place: the file and line it complained of, ``PATH:LINE``; empty where it named none. More
            of its words does not travel.
    """

    state: Literal["ok", "failed", "denied", "missing", "timeout"]
    status: int | None = None
    place: str = ""


class Listener(Fact):
    """A listening TCP socket: ``0.0.0.0`` and ``::`` mean every interface."""

    address: str
    port: int


class Publication(Fact):
    """A port a container publishes on its host; ``port`` 0 means none is bound."""

    address: str
    port: int
    inner: int


class ContainerFact(Fact):
    """A container, as an engine tells it.

    Attributes:
        image: the identity of the image it was made of.
        image_name: the name it was made by; ``image_now``: the identity that name has today.
        mounts: a volume's name or a folder of the host, by the path within.
        command: the keyed digest of the program and its arguments, each ended by a line feed.
        baked: the secret variables of which its image holds a value, with the place: ``env`` or
            ``history``, a blank, the name; None where the image was not searched.
        arguments: that of what it was given in place of the image's own, less the entry point.
        project: the compose project it belongs to, as its label says.
        compose_files: the files that compose made it of, absolute on the machine it ran on.
        compose_folder: the folder that relative paths in them count from.
        compose_env: the files that compose filled them in from, where its label says so.
    """

    name: str
    service: str = ""
    state: str
    image: str = ""
    created: str = ""
    error: str = ""
    exit_code: int | None = None
    health: str | None = None
    network: str = ""
    restart: str = ""
    ports: tuple[Publication, ...] = ()
    variables: dict[str, EnvValue] = Field(default_factory=dict)
    mounts: dict[str, str] = Field(default_factory=dict)
    secret_flags: tuple[str, ...] = ()
    flags: dict[str, str] = Field(default_factory=dict)
    command: Sha256 | None = None
    image_name: str = ""
    image_now: str = ""
    arguments: Sha256 | None = None
    baked: tuple[str, ...] | None = None
    project: str = ""
    compose_files: tuple[str, ...] = ()
    compose_folder: str = ""
    compose_env: tuple[str, ...] = ()
