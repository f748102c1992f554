"""The catalogue for a reader: the list of gates, and one gate with all that is known of it."""

import json
from collections.abc import Iterable, Iterator, Sequence

from rich.cells import cell_len
from rich.text import Text

from fleet.reports.console import labelled, line, paragraph, rendered
from fleet.reports.text import fold, printable
from fleet.reports.view import View
from fleet.systems.model import Gate, Marker, System

FORMAT = "fleet.gates/1"
SOURCES = {
    "S0": "the deployment guide of the original toolkit",
    "C": "measured on pi, 0.84 to 1.6",
    "M": "measured on MemPalace, 3.6 to 3.11",
    "cases": "failures from public bug reports",
}
LABEL = 10  # cells for the word before each part of an explanation


def table(systems: Iterable[System], view: View) -> str:
    """List the gates of systems: id, when it is required, what it asks."""
    return rendered(_table(list(systems), view), colour=view.colour)


def told(system: System, gate: Gate, view: View, decided: str = "") -> str:
    """Explain one gate; ``decided`` says what its check does, where no marker decides."""
    return rendered(_told(system, gate, view, decided), colour=view.colour)


def as_json(systems: Iterable[System]) -> str:
    """List the gates of systems as JSON, format ``fleet.gates/1``."""
    gates = [_plain(system, gate) for system in systems for gate in system.gates]
    return json.dumps({"format": FORMAT, "gates": gates}, indent=2, ensure_ascii=False) + "\n"


def gate_json(system: System, gate: Gate) -> str:
    """Tell one gate as JSON."""
    return json.dumps(_plain(system, gate), indent=2, ensure_ascii=False) + "\n"


def required_when(gate: Gate) -> str:
    """Say when a gate decides the exit code: ``always``, for a capability, or never by itself."""
    if gate.always:
        return "always"
    wanted = [*([gate.gives] if gate.gives else []), *gate.serves]
    return f"for {', '.join(wanted)}" if wanted else "advisory"


def _plain(system: System, gate: Gate) -> dict[str, object]:
    own = gate.model_dump(mode="json", by_alias=True, exclude={"since", "check"})
    return {
        "system": system.system,
        **own,
        "required": required_when(gate),
        "since": str(gate.since) if gate.since else None,
    }


def _table(systems: Sequence[System], view: View) -> Iterator[Text]:
    gates = [gate for system in systems for gate in system.gates]
    first = max((cell_len(gate.id) for gate in gates), default=0)
    second = min(max((cell_len(required_when(gate)) for gate in gates), default=0), 16)
    for system in systems:
        yield line((system.system, "bold"))
        yield from paragraph(printable(system.about), view.cells, style="dim")
        yield line()
        for gate in system.gates:
            yield from _row(gate, (first, second), view)
        yield line()
    yield from paragraph(
        f"{len(gates)} gates in {len(systems)} systems; `fleet explain GATE` tells more",
        view.cells,
        indent=0,
    )


def _row(gate: Gate, widths: tuple[int, int], view: View) -> Iterator[Text]:
    required = required_when(gate)
    head = f"  {gate.id:<{widths[0]}}  {required:<{widths[1]}}  "
    indent = " " * cell_len(head)
    if cell_len(head) > view.cells // 2:
        yield line("  ", (gate.id, "bold"), "  ", required)
        yield from paragraph(gate.asks, view.cells, indent=4)
        return
    folded = fold(gate.asks, view.cells, indent, indent) or [indent]
    yield line("  ", (f"{gate.id:<{widths[0]}}", "bold"), head[2 + widths[0] :], folded[0].lstrip())
    yield from (line(text) for text in folded[1:])


def source_told(source: str) -> str:
    """Say what the letters of a gate's source mean: ``S0, cases B15``."""
    meanings = []
    for word in source.replace(",", " ").split():
        meaning = SOURCES.get(word) or SOURCES.get(word.rstrip("0123456789"))
        if meaning and meaning not in meanings:
            meanings.append(meaning)
    return f"{source}: {'; '.join(meanings)}" if meanings else source


def action(gate: Gate) -> str:
    """Say which command puts a gate right, or that none does."""
    if gate.fixed_by:
        return f"`fleet fix {gate.id}` deploys {', '.join(gate.fixed_by)} again, where declared"
    return "none: a person has to, nothing that fleet deploys puts it right"


def _told(system: System, gate: Gate, view: View, decided: str) -> Iterator[Text]:
    yield line((gate.id, "bold"), "   ", system.system)
    yield line()
    for label, text in _parts(gate, decided):
        if text:
            yield from labelled(label, printable(text), LABEL, view.cells)


def _parts(gate: Gate, decided: str) -> Iterator[tuple[str, str]]:
    yield "asks", gate.asks
    yield "without", gate.without
    yield "gives", f"the capability {gate.gives}" if gate.gives else ""
    yield "serves", ", ".join(gate.serves)
    yield "since", str(gate.since) if gate.since else ""
    yield "decided by", _decided(gate.marker) or decided or _FACTS
    yield "asked of", ", ".join(f"{kind}s" for kind in gate.kinds) or "hosts, containers, images"
    yield "needs", ", ".join(gate.needs)
    yield "required", _required(gate)
    yield "severity", gate.severity
    yield "by hand", gate.remedy
    yield "by fleet", action(gate)
    yield "source", source_told(gate.source)


_FACTS = "facts read on the target, each told as evidence"


def _decided(marker: Marker | None) -> str:
    if marker is None:
        return ""
    parts = [f"{' and '.join(marker.all)} in the code of {marker.artifact}"] if marker.all else []
    if marker.none:
        parts.append(f"no {' and no '.join(marker.none)} in the code of {marker.artifact}")
    return "; ".join(parts) + " (not in a comment, not in prose)"


def _required(gate: Gate) -> str:
    if gate.always:
        return "wherever its system is deployed"
    wanted = [*([gate.gives] if gate.gives else []), *gate.serves]
    if gate.where_seen:
        return f"wherever it can be seen; elsewhere with --require {gate.gives}"
    if wanted:
        return f"where the inventory or --require asks for {' or '.join(wanted)}"
    return "never by itself: shown and counted; --strict makes it decide"
