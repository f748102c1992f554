"""Finding every mistake of an inventory before telling any, each with its place and a way out."""

from collections.abc import Iterable
from difflib import get_close_matches
from textwrap import fill

from fleet.errors import InventoryError, Place

SHOWN = 20
WIDTH = 76


class InventoryProblems(InventoryError):
    """Several mistakes at once.

    Attributes:
        problems: all of them, in the order of the files.
    """

    def __init__(self, problems: tuple[InventoryError, ...]) -> None:
        self.problems = problems
        first = problems[0]
        super().__init__(first.what, place=first.place, hint=first.hint)

    def __str__(self) -> str:
        told = [str(problem) for problem in self.problems[:SHOWN]]
        rest = len(self.problems) - len(told)
        return "\n".join([*told, f"and {rest} more"] if rest else told)


class Problems:
    """Collects mistakes, each told once."""

    def __init__(self) -> None:
        self._found: dict[str, InventoryError] = {}

    def add(self, what: str, place: Place | None = None, hint: str = "") -> None:
        """Note one mistake."""
        self.take(InventoryError(what, place=place, hint=hint))

    def take(self, error: InventoryError) -> None:
        """Note a mistake that was raised."""
        self._found.setdefault(str(error), error)

    def __bool__(self) -> bool:
        return bool(self._found)

    def settle(self) -> None:
        """Raise what was found; nothing found, nothing raised.

        Raises:
            InventoryError: the one mistake, or :class:`InventoryProblems` for several.
        """
        found = sorted(self._found.values(), key=_order)
        if len(found) == 1:
            raise found[0]
        if found:
            raise InventoryProblems(tuple(found))


def _order(error: InventoryError) -> tuple[str, int, int]:
    place = error.place or Place("")
    return place.file, place.line, place.column


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the known name that is most like ``name``, empty when none is."""
    names = list(known)
    folded = {n.lower(): n for n in names}
    close = get_close_matches(name.lower(), folded, n=1, cutoff=0.6)
    return folded[close[0]] if close else ""


def did_you_mean(name: str, known: Iterable[str], *, kind: str) -> str:
    """Return a hint for a name that is not known: the nearest one, else the list of them."""
    names = sorted(known)
    close = nearest(name, names)
    if close:
        return f"did you mean `{close}`?"
    return wrapped(f"{kind}: {', '.join(names) or 'none'}")


def wrapped(text: str) -> str:
    """Return a hint in lines short enough for a narrow terminal."""
    return fill(text, WIDTH, subsequent_indent="    ", break_on_hyphens=False)
