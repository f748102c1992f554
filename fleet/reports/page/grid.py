"""The matrix of the page: targets down; across each system, and after it every gate of it. Pure."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from fleet.dataclass import dataclass
from fleet.reports.matrix import Mark, mark
from fleet.reports.text import unique
from fleet.verifier.model import Finding
from fleet.verifier.run import UNSEEN, Run, TargetResult

#: Words that are shorter in a cell than in a legend.
WORDS = {Mark.NOT_APPLICABLE: "n/a", Mark.ADVISORY: "advisory"}
DECIDES = "*"  # behind the word of what is required and was not seen


@dataclass(frozen=True, slots=True)
class Column:
    """One column: a system, or one gate of it.

    Attributes:
        system: the system's number, in the order of the columns.
        gate: empty in the column of the system as a whole.
        number: of a gate its number among all gates, else -1.
        gates: how many gates the system has.
    """

    system: int
    name: str
    gate: str = ""
    number: int = -1
    gates: int = 0


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell; ``decides`` where something required could not be seen."""

    mark: Mark
    decides: bool = False

    @property
    def word(self) -> str:
        """Return the word that stands beside the mark."""
        return word(self.mark) + (DECIDES if self.decides else "")

    @property
    def look(self) -> str:
        """Return the name of its style."""
        return look(self.mark)


@dataclass(frozen=True, slots=True)
class Line:
    """One target's row; None where nothing was asked."""

    result: TargetResult
    cells: tuple[Cell | None, ...]

    @property
    def rank(self) -> tuple[int, ...]:
        """Order rows: the worst mark first, then how often it occurs."""
        order = list(Mark)
        worst = sorted((order.index(c.mark) for c in self.cells if c), reverse=True)
        return tuple(-one for one in worst) or (1,)


@dataclass(frozen=True, slots=True)
class Grid:
    """The whole matrix; the rows worst first."""

    systems: tuple[str, ...]
    gates: tuple[str, ...]
    columns: tuple[Column, ...]
    lines: tuple[Line, ...]

    def counts(self) -> dict[Mark, int]:
        """Count the gates' cells by mark, worst mark first; marks that do not occur are left out.

        A column of a system counts nothing: its gates do.
        """
        found = [
            cell.mark
            for line in self.lines
            for column, cell in zip(self.columns, line.cells, strict=True)
            if cell and column.gate
        ]
        return {one: found.count(one) for one in reversed(Mark) if one in found}


def word(of: Mark) -> str:
    """Return the word of a mark."""
    return WORDS.get(of, of.meaning)


def look(of: Mark) -> str:
    """Return the name of a mark's style: its own name, as CSS spells names."""
    return of.name.lower().replace("_", "-")


def grid(run: Run) -> Grid:
    """Lay out a run. Findings about the fleet as a whole belong to no row."""
    gates: dict[str, list[str]] = defaultdict(list)
    for result in run.results:
        for finding in result.findings:
            if finding.gate not in gates[finding.system]:
                gates[finding.system].append(finding.gate)
    systems = unique(gates)
    columns = tuple(_columns(systems, gates))
    lines = [_line(result, columns, strict=run.strict) for result in run.results]
    return Grid(
        systems=systems,
        gates=tuple(column.gate for column in columns if column.gate),
        columns=columns,
        lines=tuple(sorted(lines, key=lambda line: line.rank)),
    )


def _columns(systems: Sequence[str], gates: Mapping[str, Sequence[str]]) -> list[Column]:
    columns: list[Column] = []
    number = 0
    for at, system in enumerate(systems):
        columns.append(Column(at, system, gates=len(gates[system])))
        for gate in gates[system]:
            columns.append(Column(at, system, gate, number))
            number += 1
    return columns


def _line(result: TargetResult, columns: Sequence[Column], *, strict: bool) -> Line:
    by_system: dict[str, list[Finding]] = defaultdict(list)
    by_gate: dict[tuple[str, str], list[Finding]] = defaultdict(list)
    for finding in result.findings:
        by_system[finding.system].append(finding)
        by_gate[finding.system, finding.gate].append(finding)
    return Line(
        result,
        tuple(
            cell(by_gate[c.name, c.gate] if c.gate else by_system[c.name], strict=strict)
            for c in columns
        ),
    )


def cell(findings: Sequence[Finding], *, strict: bool) -> Cell | None:
    """Bring findings down to one cell; None where there are none."""
    found = mark(findings, strict=strict)
    if found is None:
        return None
    unseen = found in (Mark.NOT_CHECKED, Mark.UNREACHABLE, Mark.ERROR)
    return Cell(
        found, unseen and any(f.verdict in UNSEEN and (f.required or strict) for f in findings)
    )
