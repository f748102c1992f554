"""What a plan is made of: actions for one target, grouped in steps, with what they expect.

Everything here is data that a plan file can hold: a secret stands in it as the mark that
``fleet.inventory.render`` leaves, never as a value.
"""

import hashlib
from typing import Annotated, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from fleet.installers.ledger import Ledger

FORMAT: Literal["fleet.plan/1"] = "fleet.plan/1"

ABSENT = "-"
FOLDER = "d"
AS_LEFT = "="  # whatever an earlier action of the same plan left there

State = Annotated[str, Field(pattern=r"^([-d=]|[fl][0-9a-f]{64}|m[0-9]+[.][0-9]+)$")]
"""What lies at a path, in one word: ``-`` nothing, ``d`` a folder, ``f`` and the sha256 of a file,
``l`` and the sha256 of a link's text and a newline, ``m`` with mtime and size of a file whose hash
may not travel, ``=`` as this plan left it."""

Syntax = Literal["text", "env", "json", "xml"]


class Part(BaseModel):
    """Base of all parts of a plan: frozen, and closed to unknown keys."""

    model_config = ConfigDict(
        frozen=True,
        defer_build=True,
        extra="forbid",
        ser_json_bytes="base64",
        val_json_bytes="base64",
    )


class Content(Part):
    """Bytes to be written.

    Attributes:
        data: the bytes; marks of secrets in them are replaced when they are written.
        syntax: how a secret's value is spelt inside them.
        sealed: whether there are marks.
    """

    data: bytes
    syntax: Syntax = "text"
    sealed: bool = False


class MakeFolder(Part):
    """Make one missing folder."""

    verb: Literal["folder"] = "folder"
    path: str
    mode: int = 0o755


class PutFile(Part):
    """Write a file beside, with its mode, then rename it into place.

    Attributes:
        backup: the path under which what lies there now is kept; empty keeps nothing.
        mtime: set on the file; None for the moment of writing.
    """

    verb: Literal["put"] = "put"
    path: str
    expect: State
    content: Content
    mode: int
    backup: str = ""
    mtime: int | None = None


class PutLink(Part):
    """Make a symbolic link beside, then rename it into place."""

    verb: Literal["link"] = "link"
    path: str
    expect: State
    text: str
    backup: str = ""


class Splice(Part):
    """Bytes put into a file, and nothing else of it touched."""

    offset: int = Field(ge=0)
    removed: int = Field(default=0, ge=0)
    insert: Content


class EditFile(Part):
    """Splice a file that others own. ``size`` is what it measures now, in bytes."""

    verb: Literal["edit"] = "edit"
    path: str
    expect: State
    size: int
    splices: tuple[Splice, ...]
    backup: str = ""


class PutBlock(Part):
    """Put a marked block at the end of a file that others own, or renew it where it stands."""

    verb: Literal["block"] = "block"
    path: str
    expect: State
    name: str
    content: Content
    mode: int = 0o644


class TakeBlock(Part):
    """Take a marked block out, and the file with it when fleet made it and nothing else is in it.

    ``sha256`` is that of the block's lines as they were written; another block is left alone.
    """

    verb: Literal["unblock"] = "unblock"
    path: str
    expect: State
    name: str
    sha256: str
    created: bool


class TakePath(Part):
    """Remove a file or a link; or a git checkout (``expect`` is ``d``) nobody worked in."""

    verb: Literal["take"] = "take"
    path: str
    expect: State


class PutBack(Part):
    """Put back what was kept at ``backup`` when the path was adopted."""

    verb: Literal["again"] = "again"
    path: str
    expect: State
    backup: str


class SetMode(Part):
    """Change a file's permission bits."""

    verb: Literal["access"] = "access"
    path: str
    expect: State
    mode: int
    former: int


class MoveFolder(Part):
    """Give a folder that was made beside its place."""

    verb: Literal["move"] = "move"
    path: str
    beside: str


class Run(Part):
    """Run a program of the target; the words hold no secret.

    Attributes:
        words: what to run; empty for a step that only does something when it is undone.
        undo: what undoes it; empty for nothing.
        seconds: the longest it may take.
    """

    verb: Literal["run"] = "run"
    words: tuple[str, ...] = ()
    undo: tuple[str, ...] = ()
    seconds: int = 120


Action = Annotated[
    MakeFolder
    | PutFile
    | PutLink
    | EditFile
    | PutBlock
    | TakeBlock
    | TakePath
    | PutBack
    | SetMode
    | MoveFolder
    | Run,
    Field(discriminator="verb"),
]


class Step(Part):
    """One change as a reader thinks of it.

    Attributes:
        key: ``system.artifact``.
        change: ``create``, ``change`` or ``remove``.
        summary: one line, without the target's name and a final stop.
        diff: unified, secrets shown as ``***``; empty where there is nothing to compare.
        notes: what the reader should know beside (where a folder link led to, a leaked mode).
    """

    key: str
    change: Literal["create", "change", "remove"]
    summary: str
    actions: tuple[Action, ...]
    diff: str = ""
    notes: tuple[str, ...] = ()


class Conflict(Part):
    """Why an artifact is left alone. ``adoptable`` tells whether ``--adopt`` would take it over."""

    key: str
    path: str
    what: str
    hint: str
    adoptable: bool = False


class Plan(Part):
    """Ordered changes for one target: a pure function of what is desired and the facts.

    Attributes:
        nonce: keys the frames of this plan's answer.
        home: the home the paths were expanded with.
        conflicts: all of them; what they are about is in no step.
        unchanged: how many artifacts are as they should be.
        notes: what the reader should know beside the steps.
        ledger: what the ledger will say when all steps are done.
        ledger_expect: what lies at the ledger's path now.
        state_folders: folders that are made for the ledger, outermost first.
        gone: folders fleet made that nothing of fleet's is in any more, innermost first.
        recover: whether a run that was cut must be undone first; then there are no steps, and
            after applying it the target must be looked at again.
    """

    format: Literal["fleet.plan/1"] = FORMAT
    target: str
    nonce: str
    taken_at: AwareDatetime
    home: str
    steps: tuple[Step, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    unchanged: int = 0
    notes: tuple[str, ...] = ()
    ledger: Ledger = Field(default_factory=Ledger)
    ledger_expect: State = ABSENT
    state_folders: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    recover: bool = False

    @property
    def changes(self) -> int:
        """Return how many changes applying it makes; 0 means there is nothing to do."""
        return len(self.steps) + self.recover

    @property
    def seconds(self) -> int:
        """Return the longest that applying it may take: its programs' limits, and a minute."""
        return 60 + sum(a.seconds for _, a in self.actions if isinstance(a, Run))

    @property
    def mark(self) -> str:
        """Return what frames the answer to this plan's program; it cannot be guessed before."""
        return "@fleet-" + hashlib.sha256(f"{self.nonce}:{self.target}".encode()).hexdigest()[:16]

    @property
    def actions(self) -> tuple[tuple[Step, Action], ...]:
        """Return every action with its step, in order; the program numbers them from 1."""
        return tuple((step, action) for step in self.steps for action in step.actions)

    def to_json(self) -> str:
        """Return the plan as a file holds it; it holds no secret's value."""
        return self.model_dump_json(indent=2)

    @classmethod
    def from_json(cls, text: str | bytes) -> "Plan":
        """Read a saved plan.

        Raises:
            PlanError: it is no plan, or of a format this version does not know.
        """
        from pydantic import ValidationError  # noqa: PLC0415 - only this reader needs it

        from fleet.errors import PlanError  # noqa: PLC0415 - only this reader needs it

        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(str(part) for part in first["loc"])
            raise PlanError(
                f"this is not a saved plan: {place or 'the file'}: {first['msg']}",
                hint="make it with `fleet plan -o FILE`",
            ) from None
