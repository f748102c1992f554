"""``--format FORMAT[:FILE]``: which reports are wanted, and where each goes."""

from collections.abc import Sequence
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from fleet.cli.places import try_file
from fleet.dataclass import dataclass
from fleet.errors import UsageError
from fleet.inventory.problems import did_you_mean
from fleet.reports.formats import FORMATS

APPEND = ">>"


@dataclass(frozen=True, slots=True)
class Wanted:
    """One report.

    Attributes:
        place: the file it goes to; None means stdout, or what ``-o`` names.
        append: whether what is in the file stays, and the report comes after it.
    """

    format: str
    place: Path | None = None
    append: bool = False


class WantedType(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.5
    """Reads ``FORMAT``, ``FORMAT:FILE`` and ``FORMAT:>>FILE``."""

    name = "format"

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:  # noqa: ARG002 - click's own signature
        """Return how it is shown in a command's help."""
        return "FORMAT[:FILE]"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> Wanted:
        """Read one value of the option.

        Raises:
            click.BadParameter: there is no such format.
            UsageError: the file could not be written after the work.
        """
        if isinstance(value, Wanted):
            return value
        name, colon, file = str(value).partition(":")
        if name not in FORMATS:
            near = did_you_mean(name, FORMATS, kind="there are")
            self.fail(f"there is no format {name!r}; {near}", param, ctx)
        if not colon or file == "-":
            return Wanted(name)
        append = file.startswith(APPEND)
        file = file.removeprefix(APPEND).strip()
        if not file:
            self.fail(f"{name}: names no file (is a variable empty?)", param, ctx)
        place = Path(file).expanduser()
        try_file(place, hint=f"--format {name}:{place}/report")
        return Wanted(name, place, append)

    def shell_complete(
        self,
        ctx: click.Context,  # noqa: ARG002 - click's own signature
        param: click.Parameter,  # noqa: ARG002
        incomplete: str,
    ) -> list[CompletionItem]:
        """Offer the names of formats."""
        return [CompletionItem(name) for name in FORMATS if name.startswith(incomplete)]


def sorted_out(
    wanted: Sequence[Wanted], output: Path | None
) -> tuple[str | None, tuple[Wanted, ...]]:
    """Part the one report that goes to stdout (or to ``-o``) from those that have a file.

    Returns:
        Its format, None where there is none; and the others.

    Raises:
        UsageError: two of them would go to one place, or ``-o`` has nothing to write.
    """
    loose = [w.format for w in wanted if w.place is None]
    placed = tuple(w for w in wanted if w.place is not None)
    if len(loose) > 1:
        raise UsageError(
            f"{' and '.join(loose)} cannot both go to one place",
            hint=f"give one of them a file: --format {loose[-1]}:FILE",
        )
    places = [w.place.resolve() for w in placed if w.place is not None]
    if output is not None:
        if placed and not loose:
            raise UsageError(
                "-o has nothing to write: every --format names its own file",
                hint="leave -o out, or name a format without a file",
            )
        places.append(output.resolve())
    for place in places:
        if places.count(place) > 1:
            raise UsageError(
                f"two reports would be written to {place}", hint="give each a file of its own"
            )
    if loose:
        return loose[0], placed
    return (None if placed else "terminal"), placed
