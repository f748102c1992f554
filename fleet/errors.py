"""What can go wrong, as one tree.

::

    FleetError                    says what, where and what next
    ├── UsageError                the command line asks for something that cannot be
    ├── InventoryError            (ValueError) file, line, column, nearest valid key
    ├── CatalogueError            (ValueError) a system's description is wrong
    ├── FactsError                (ValueError) saved facts cannot be read
    ├── SecretError               (LookupError) a secret reference has no value
    ├── HistoryError              a history cannot be read or written
    ├── PlanError                 (ValueError) what is desired cannot be expressed
    ├── ApplyError                a change was refused, or failed and was undone
    │   └── TargetBusy            another operator holds the target
    └── TargetError               something about one target; never stops another
        ├── Unreachable           (ConnectionError) no connection; names the stage that failed
        ├── ProbeError            the target answered, but not with what was asked for
        └── Unsupported           this connector cannot do that: becomes ``not-checked``

Leaves also inherit the builtin that a library user would expect to catch.
"""

from fleet.dataclass import dataclass


class FleetError(Exception):
    """Root of every error that a user, a file or a target can cause.

    Attributes:
        what: what went wrong, one sentence without a final stop.
        where: the file, target or path it is about; empty when there is none.
        hint: what the reader can do next; empty when nothing is known.
    """

    def __init__(self, what: str, *, where: str = "", hint: str = "") -> None:
        self.what = what
        self.where = where
        self.hint = hint
        super().__init__(what)

    def __reduce__(self) -> tuple[object, ...]:
        """Travel between processes whole, whatever a leaf's own constructor wants."""
        return _restored, (type(self), self.args, self.__dict__)

    def __str__(self) -> str:
        head = f"{self.where}: {self.what}" if self.where else self.what
        return f"{head}\n  {self.hint}" if self.hint else head


def _restored(
    kind: type[FleetError], args: tuple[object, ...], told: dict[str, object]
) -> FleetError:
    error = kind.__new__(kind)
    error.args = args
    error.__dict__.update(told)
    return error


class UsageError(FleetError):
    """The command line asks for something that cannot be."""


@dataclass(frozen=True, slots=True)
class Place:
    """A spot in a text file; line and column count from 1, 0 means unknown."""

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file


class InventoryError(FleetError, ValueError):
    """An inventory says something that cannot be meant; carries the place."""

    def __init__(self, what: str, *, place: Place | None = None, hint: str = "") -> None:
        self.place = place
        super().__init__(what, where=str(place) if place else "", hint=hint)


class CatalogueError(FleetError, ValueError):
    """A system's description is wrong."""


class FactsError(FleetError, ValueError):
    """Saved facts cannot be read."""


class SecretError(FleetError, LookupError):
    """A secret reference has no value; the message never holds one."""


class HistoryError(FleetError):
    """A history cannot be read or written, or has not got what was asked for."""


class PlanError(FleetError, ValueError):
    """What is desired cannot be expressed as actions."""


class ApplyError(FleetError):
    """A change was refused, or failed and was undone."""


class TargetBusy(ApplyError):
    """Another operator holds the target; ``where`` names the target, the text the holder."""


class TargetError(FleetError):
    """Something about one target; never stops another.

    Attributes:
        stage: where asking it failed, one word.
    """

    stage: str = "probe"


class Unreachable(TargetError, ConnectionError):
    """No connection.

    Attributes:
        stage: one of ``resolve``, ``connect``, ``tls``, ``timeout``, ``host-key``,
            ``authentication``, ``become``, ``engine``, ``missing`` (no such container, image or
            file), ``stopped`` (the container is there and does not run).
    """

    def __init__(self, what: str, *, stage: str, where: str = "", hint: str = "") -> None:
        self.stage = stage
        super().__init__(what, where=where, hint=hint)


class ProbeError(TargetError):
    """The target answered, but not with what was asked for."""


class Unsupported(TargetError):
    """The connector cannot do what was asked; it becomes ``not-checked``, never ``pass``."""

    stage = "unsupported"
