"""Targets of an inventory for a reader."""

import json
from collections.abc import Iterable, Iterator, Sequence

from rich.cells import cell_len
from rich.text import Text

from fleet.inventory.model import Target
from fleet.inventory.show import ShownTarget
from fleet.reports.console import labelled, line, paragraph, rendered
from fleet.reports.text import count, fold, printable, shorten
from fleet.reports.view import View

FORMAT = "fleet.targets/1"
MOST = 32  # cells of a name or an address in a table


def table(targets: Sequence[Target], view: View) -> str:
    """List targets: name, address, systems, and what is required of them."""
    return rendered(_table(targets, view), colour=view.colour)


def told(target: ShownTarget, view: View) -> str:
    """Show one target, every variable and where it was said."""
    return rendered(_told(target, view), colour=view.colour)


def one_json(target: Target, shown: ShownTarget) -> str:
    """Show one target as JSON: as in a list, and its variables as :func:`told` shows them."""
    variables = {
        v.name: {"value": printable(v.value), "origin": printable(v.origin)}
        for v in shown.variables
    }
    return _json({"format": FORMAT, "targets": [{**_plain(target), "variables": variables}]})


def as_json(targets: Iterable[Target]) -> str:
    """List targets as JSON, format ``fleet.targets/1``, without their variables."""
    return _json({"format": FORMAT, "targets": [_plain(t) for t in targets]})


def _json(document: object) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _plain(target: Target) -> dict[str, object]:
    return {
        "name": target.name,
        "address": str(target.address),
        "kind": target.kind,
        "groups": target.groups,
        "systems": target.systems,
        "require": target.require,
        "launches": target.launches,
        "become": target.become.user if target.become else None,
        "identity": target.identity,
        "place": str(target.place) if target.place else None,
    }


def _table(targets: Sequence[Target], view: View) -> Iterator[Text]:
    rows = [(printable(t.name), printable(str(t.address)), _wants(t)) for t in targets]
    most = min(MOST, view.cells // 3)
    first = min(max((cell_len(row[0]) for row in rows), default=0), most)
    second = min(max((cell_len(row[1]) for row in rows), default=0), most)
    first, second = max(first, len("name")), max(second, len("address"))
    if rows:
        yield line((f"{_fit('name', first)}  {_fit('address', second)}  systems", "dim"))
    for name, address, wants in rows:
        head = f"{_fit(name, first)}  {_fit(address, second)}  "
        folded = fold(wants, view.cells, head, " " * cell_len(head)) or [head]
        yield line((folded[0][:first], "bold"), folded[0][first:])
        yield from (line(text) for text in folded[1:])
    yield line((count(len(targets), "target"), "dim"))


def _fit(text: str, width: int) -> str:
    short = shorten(text, width)
    return short + " " * (width - cell_len(short))


def _wants(target: Target) -> str:
    systems = ", ".join(target.systems) or "no systems"
    return f"{systems}; requires {', '.join(target.require)}" if target.require else systems


def _told(target: ShownTarget, view: View) -> Iterator[Text]:
    yield line((printable(target.name), "bold"))
    room = max((cell_len(label) for label, _ in target.rows), default=0)
    for label, text in target.rows:
        yield from labelled(label, printable(text), room, view.cells)
    if target.variables:
        yield line()
    for variable in target.variables:
        text = f"  {printable(variable.name)}: {printable(variable.value) or '(empty)'}"
        origin = printable(variable.origin)
        if cell_len(f"{text}   {origin}") <= view.cells:
            yield line(text, "   ", (origin, "dim"))
        else:
            yield from paragraph(text.strip(), view.cells)
            yield from paragraph(origin, view.cells, 6, "dim")
