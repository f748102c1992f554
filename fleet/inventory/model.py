"""Targets: what an inventory, or an address on the command line, comes down to."""

from collections.abc import Mapping
from dataclasses import field
from datetime import date
from enum import StrEnum
from typing import TypeAlias

from fleet.dataclass import dataclass
from fleet.errors import Place


class Kind(StrEnum):
    """What carries the artifacts."""

    HOST = "host"
    CONTAINER = "container"
    IMAGE = "image"


class Scheme(StrEnum):
    """How a target is addressed, in skopeo's, Trivy's and OpenSSH's own notation."""

    SSH = "ssh"  # ssh://user@host:port, or an alias from ssh_config
    LOCAL = "local"  # local:[HOME]
    ROOTFS = "rootfs"  # rootfs:DIR, an unpacked root file system
    CONTAINER = "container"  # container:NAME
    DOCKER_DAEMON = "docker-daemon"  # docker-daemon:REF
    OCI = "oci"  # oci:DIR[:TAG]
    OCI_ARCHIVE = "oci-archive"  # oci-archive:FILE[:TAG]
    DOCKER_ARCHIVE = "docker-archive"  # docker-archive:FILE[:REF]
    DOCKER = "docker"  # docker://REGISTRY/NAME[:TAG][@DIGEST], an image in a registry

    @property
    def kind(self) -> Kind:
        """Return which kind of target the scheme leads to."""
        if self in (Scheme.SSH, Scheme.LOCAL):
            return Kind.HOST
        return Kind.CONTAINER if self is Scheme.CONTAINER else Kind.IMAGE


@dataclass(frozen=True, slots=True)
class Address:
    """Where a target is.

    ``name`` is the part after the scheme without user, port and tag: a host name or ssh alias, a
    home folder (empty: the current user's), a root folder, a container, an image reference, a
    layout folder or an archive. ``tag`` is an OCI layout's or archive's reference.
    """

    scheme: Scheme
    name: str
    user: str | None = None
    port: int | None = None
    tag: str | None = None

    def __str__(self) -> str:
        if self.scheme is Scheme.SSH:
            host = f"[{self.name.replace('%', '%25')}]" if ":" in self.name else self.name
            user = f"{self.user}@" if self.user else ""
            return f"ssh://{user}{host}" + (f":{self.port}" if self.port else "")
        slashes = "//" if self.scheme is Scheme.DOCKER else ""
        return f"{self.scheme}:{slashes}{self.name}" + (f":{self.tag}" if self.tag else "")


@dataclass(frozen=True, slots=True)
class SecretRef:
    """A secret by reference (``!secret env:NAME``); the value is fetched by the engine only."""

    source: str  # env | file | cmd
    argument: str
    place: Place | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return f"!secret {self.source}:{self.argument}"


Scalar: TypeAlias = str | int | float | bool | None
Value: TypeAlias = Scalar | SecretRef | list["Value"] | dict[str, "Value"]
Variables: TypeAlias = Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Become:
    """Another user to act as, by ``sudo -n``; used only where the inventory declares it."""

    user: str = "root"


#: Systems that targets of a kind have without being named, because they are about the target
#: itself and not about what is deployed there. This is the one place that says so.
IMPLIED: Mapping[Kind, tuple[str, ...]] = {Kind.IMAGE: ("image",)}


@dataclass(frozen=True, slots=True)
class Target:
    """One thing to deploy to and to verify.

    Attributes:
        name: unique in the inventory; the address itself for an ad-hoc target.
        systems: ids of the systems to deploy and verify, in order, without repeats, as they were
            named; ``judged`` is what gates are asked of.
        require: capabilities that must hold (``feed``, ``stamp``, ...).
        variables: merged by precedence and rendered; secrets stay references.
        groups: the groups it is in, outermost first.
        launches: ways in which pi is started there (``zsh -ic``, ``bash -lc``, ``container``).
        identity: ssh private key file named by the inventory, if any.
        place: where it was declared.
        exports: what the shell that launches pi should export for all systems, where this run
            leaves some of them out, by environment name; secrets stay references.
    """

    name: str
    address: Address
    systems: tuple[str, ...] = ()
    require: tuple[str, ...] = ()
    variables: Variables = field(default_factory=dict)
    groups: tuple[str, ...] = ()
    launches: tuple[str, ...] = ()
    become: Become | None = None
    identity: str | None = None
    place: Place | None = field(default=None, compare=False)
    exports: Variables = field(default_factory=dict)

    @property
    def kind(self) -> Kind:
        """Return which kind of target this is."""
        return self.address.scheme.kind

    @property
    def judged(self) -> tuple[str, ...]:
        """Return the systems that were named, and those that its kind brings along."""
        return tuple(dict.fromkeys((*self.systems, *IMPLIED.get(self.kind, ()))))


@dataclass(frozen=True, slots=True)
class Waiver:
    """A failure that is accepted: of one gate, on some targets, for a reason, until a day.

    Attributes:
        gate: the gate's id.
        targets: names of targets; of a fleet-wide gate ``fleet`` or a group's name.
        until: the last day on which it holds.
    """

    gate: str
    targets: tuple[str, ...]
    reason: str
    until: date
    place: Place | None = field(default=None, compare=False)
