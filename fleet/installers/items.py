"""What is desired on one target, artifact by artifact: rendered, read from the controller, whole.

An item says what should lie where; it knows nothing of what lies there now.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Literal, Protocol, TypeAlias

from fleet.dataclass import dataclass
from fleet.installers.jsonc_anew import digest
from fleet.installers.model import Content
from fleet.systems.model import Manager

Load: TypeAlias = Literal["systemd", "own", "none"]


@dataclass(frozen=True, slots=True)
class TreeFile:
    """One file of a folder on the controller.

    Attributes:
        path: relative to the folder, with ``/`` between names.
        mode: permission bits.
        data: the bytes; empty for a link.
        link: a symbolic link's text; None for a file.
        becomes: the digest of the JSON that the program which owns the file may make of it, as
            :func:`fleet.installers.jsonc_anew.digest` names values; empty where none does.
    """

    path: str
    mode: int = 0o644
    data: bytes = b""
    link: str | None = None
    becomes: str = ""


class ControllerFiles(Protocol):
    """What a plan needs from the controller; the engine reads it, so that this room stays pure.

    Every method raises :class:`fleet.errors.PlanError` for what is not there or cannot be read,
    with the path in the message.
    """

    def template(self, name: str) -> str:
        """Return a template's text by its name below ``templates/``."""
        ...

    def file(self, path: str) -> bytes:
        """Return a file's bytes."""
        ...

    def tree(self, path: str) -> Sequence[TreeFile]:
        """Return a folder's files in a stable order; version control's own files are left out."""
        ...


@dataclass(frozen=True, slots=True)
class LinkBody:
    """A symbolic link to ``source`` on the target."""

    source: str


@dataclass(frozen=True, slots=True)
class FileBody:
    """A file with this content; ``once`` as in the template's description."""

    content: Content
    mode: int
    once: bool = False


@dataclass(frozen=True, slots=True)
class BlockBody:
    """A marked block in a file that others own; ``instead`` as in the template's description."""

    content: Content
    mode: int
    instead: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MergeBody:
    """Values set in a JSON file that others own: mappings are merged, all else is set.

    ``instead`` as in the description.
    """

    values: Mapping[str, object]
    instead: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TreeBody:
    """A folder's files, pushed from the controller."""

    files: tuple[TreeFile, ...]


@dataclass(frozen=True, slots=True)
class GitBody:
    """A checkout of ``ref`` (a commit, tag or branch; empty is the default branch) of ``url``."""

    url: str
    ref: str


@dataclass(frozen=True, slots=True)
class PackageBody:
    """A package, and the command that shows that it is there; fields as in its description."""

    manager: Manager
    package: str
    command: str
    version: str
    folder: str = ""
    least: str = ""
    unless: tuple[str, ...] = ()
    sudo: bool = False


@dataclass(frozen=True, slots=True)
class ComposeBody:
    """A compose file, its ``.env`` beside it, and the project kept up."""

    content: Content
    env: Content | None
    project: str


@dataclass(frozen=True, slots=True)
class ServiceBody:
    """A unit file, enabled and started."""

    content: Content
    manager: Literal["systemd-user", "systemd", "launchd"]
    unit: str


@dataclass(frozen=True, slots=True)
class ConfigBody:
    """A program's configuration; the fields are those of its description."""

    content: Content
    program: Literal["nginx", "caddy"]
    main: str
    load: Load


Body: TypeAlias = (
    LinkBody
    | FileBody
    | BlockBody
    | MergeBody
    | TreeBody
    | GitBody
    | PackageBody
    | ComposeBody
    | ServiceBody
    | ConfigBody
)


@dataclass(frozen=True, slots=True)
class Item:
    """One artifact as it should be.

    Attributes:
        path: as the description spells it, ``~`` unexpanded; for a package, empty.
        env: whether an audit reads it as an env file, whose bytes and hash never travel.
        certificates: whether it is a file of certificates: a key beside them stays on its machine.
        problem: why it must not be brought whatever lies there, and what to do; empty for none.
        shown: of a JSON file with secrets in it, the keys whose values a diff may show; None for a
            file that holds none.
        needs: keys of items that must not stand in conflict for this one to be brought.
    """

    system: str
    artifact: str
    path: str
    body: Body
    env: bool = False
    certificates: bool = False
    problem: tuple[str, str] | None = None
    needs: tuple[str, ...] = ()
    shown: tuple[str, ...] | None = None

    @property
    def key(self) -> str:
        """Return ``system.artifact``."""
        return f"{self.system}.{self.artifact}"


def rewritten(item: Item, rewrite: Callable[[str, bytes], object]) -> Item:
    """Return an item whose files carry what the program that owns them may make of them."""
    if not isinstance(item.body, TreeBody):
        return item
    made = ((file, rewrite(file.path, file.data)) for file in item.body.files)
    files = (f if new is None else replace(f, becomes=digest(new)) for f, new in made)
    return replace(item, body=TreeBody(tuple(files)))
