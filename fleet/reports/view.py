"""How a report is to be seen, and what renders it."""

from collections.abc import Callable
from enum import IntEnum
from importlib import import_module
from typing import TYPE_CHECKING, TypeAlias, cast

from fleet.dataclass import dataclass
from fleet.reports.formats import FORMATS
from fleet.verifier.run import Run

if TYPE_CHECKING:
    from fleet.reports.past import Past

NARROWEST = 40


class Detail(IntEnum):
    """How much a reader wants to see."""

    QUIET = 0
    NORMAL = 1
    VERBOSE = 2


@dataclass(frozen=True, slots=True)
class View:
    """How a report is to be seen.

    Attributes:
        width: screen cells a line may take; less than 40 counts as 40.
        colour: whether the reader sees colours. Nothing is told by colour alone.
        unicode: whether marks may be other than ASCII.
        past: what the history knows of the run's targets, for reports that show time.
    """

    width: int = 80
    colour: bool = False
    unicode: bool = True
    detail: Detail = Detail.NORMAL
    past: "Past | None" = None

    @property
    def cells(self) -> int:
        """Return the width that is really used."""
        return max(self.width, NARROWEST)


Renderer: TypeAlias = Callable[[Run, View], str]


def renderer(name: str) -> Renderer:
    """Return the renderer of a format; its module is imported now and not before."""
    module, _, function = FORMATS[name].partition(":")
    return cast("Renderer", getattr(import_module(module), function))
