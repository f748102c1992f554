"""The ledger: on the target, what fleet put there; the only thing uninstall and prune may touch.

It lies at ``~/.local/state/fleet/ledger.json``, mode 0600, and is written as a plan's last step.
"""

from typing import Annotated, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from fleet.errors import PlanError

FORMAT: Literal["fleet.ledger/1"] = "fleet.ledger/1"
STATE = "~/.local/state/fleet"
PATH = f"{STATE}/ledger.json"
JOURNALS = (f"{STATE}/journal", f"{STATE}/journal.done", f"{STATE}/journal.new")
HOLDER = f"{STATE}/lock/holder"

#: In an entry's ``about``: a file that was given once, and is its user's from the first edit on.
ONCE = "once"
#: In an entry's ``about``: the digest of the JSON that the program which owns a file makes of it.
BECOMES = "becomes"

AbsolutePath = Annotated[str, Field(pattern=r"^/[^\x00]*$")]


class Part(BaseModel):
    """Base of the ledger's parts: frozen, and closed to unknown keys."""

    model_config = ConfigDict(frozen=True, defer_build=True, extra="forbid")


class Inserted(Part):
    """Bytes that were put into a file others own, in the file as the entry's hash names it."""

    offset: int = Field(ge=0)
    length: int = Field(gt=0)


class Entry(Part):
    """One thing that fleet put on the target.

    Attributes:
        kind: ``link``, ``file``, ``block`` and ``merge`` lie at ``path``; ``git`` is a checkout
            there; ``package``, ``compose`` and ``service`` are kept by a program; ``config`` was
            loaded by one.
        sha256: of the file as it was written, or of a block's lines; empty for a file that holds
            a secret, of which not even the hash leaves the target.
        mtime: given to a file that holds a secret, so that an edit shows; seconds since 1970.
        size: of such a file, in bytes.
        text: a link's.
        mode: a file's permission bits.
        backup: where what lay there before is kept.
        created: whether a file that others own did not exist before.
        inserted: for ``merge``: what was put in, in the file as ``sha256`` names it.
        members: for ``merge``: JSON pointers of the members that were not there before.
        about: what removing needs: a package's manager and name, a compose project, a unit; for
            ``merge`` the sha256 of each value, by JSON pointer.
    """

    path: AbsolutePath
    kind: Literal[
        "link", "file", "block", "merge", "git", "package", "compose", "service", "config"
    ]
    system: str
    artifact: str
    sha256: str = ""
    text: str = ""
    mode: int | None = None
    mtime: int | None = None
    size: int | None = None
    backup: str = ""
    created: bool = False
    inserted: tuple[Inserted, ...] = ()
    members: tuple[str, ...] = ()
    about: dict[str, str] = Field(default_factory=dict)
    when: AwareDatetime
    by: str = ""

    @property
    def key(self) -> str:
        """Return ``system.artifact``."""
        return f"{self.system}.{self.artifact}"

    @property
    def place(self) -> tuple[str, str, str]:
        """Return what tells this entry from every other one of a ledger."""
        return (self.path, self.kind, self.key)


class Ledger(Part):
    """Everything fleet put on one target.

    Attributes:
        folders: those fleet made, outermost first; its own state folder among them.
    """

    format: Literal["fleet.ledger/1"] = FORMAT
    entries: tuple[Entry, ...] = ()
    folders: tuple[AbsolutePath, ...] = ()

    def to_bytes(self) -> bytes:
        """Return the ledger as it lies on the target."""
        return self.model_dump_json(indent=1, exclude_defaults=False).encode() + b"\n"


def read_ledger(content: bytes, *, where: str) -> Ledger:
    """Read a ledger; what a target sends is hostile until it is parsed.

    Raises:
        PlanError: it cannot be read, or a newer fleet wrote it.
    """
    try:
        return Ledger.model_validate_json(content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise PlanError(
            f"the ledger {PATH} cannot be read: {place or 'the file'}: {first['msg']}",
            where=where,
            hint="a newer fleet may have written it: use that one. Nothing was changed",
        ) from None
