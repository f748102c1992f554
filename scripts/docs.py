#!/usr/bin/env python3
"""Write the pages under ``docs/`` that come from the code: ``scripts/docs.py [--check] [DIR]``.

``--check`` writes nothing, names the stale pages and exits 1 when there are any.
"""

import json
import sys
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

from fleet.cli import reference
from fleet.facts.model import FORMAT as FACTS
from fleet.facts.model import Facts
from fleet.inventory.reference import BEGIN, END, keys_reference
from fleet.inventory.schema import inventory_schema
from fleet.reports.catalogue import action, required_when
from fleet.reports.document import json_schema
from fleet.systems.catalogue import Catalogue, load_catalogue
from fleet.systems.model import AnyArtifact, Gate, Marker, System, Variable
from fleet.verifier.fleetwide.rules import RULES
from fleet.verifier.fleetwide.rules import SYSTEM as FLEETWIDE

DOCS = Path(__file__).resolve().parents[1] / "docs"
INVENTORY = "inventory.md"
NOTE = "<!-- Made by `make docs`; do not edit. -->"
WIDTH = 90
INTRODUCTION = """\
Every question that `fleet` asks, system by system. `fleet gates` lists the same, with the gates of
your inventory too, and `fleet explain GATE` tells one of them.

A gate is *required*, and so decides the exit code, when it is marked `always` and its system is
deployed on the target, or when a capability that it gives or serves is required. All others are
advisory: shown, counted, and in the exit code with `--strict` only.

Sources: **S0** is the deployment guide of the original toolkit, **S2** pi-mnemo 0.1.0, **S4** the
journal of demarkus' packages for pi (June 2026), **C** what was measured on pi (0.84 to 1.6), **M**
what was measured on MemPalace (3.6 to 3.11); **cases** are failures from public bug reports.
"""


def pages(docs: Path = DOCS) -> dict[str, str]:
    """Return the text of every page by its path below ``docs``.

    Args:
        docs: where ``inventory.md`` is read, of which only one part is made.
    """
    return {
        **reference.pages(),
        "gates.md": "\n".join(_gates(load_catalogue())) + "\n",
        INVENTORY: _inventory((docs / INVENTORY).read_text(encoding="utf-8")),
        "schema/inventory.json": _json(inventory_schema()),
        "schema/run.json": _json(json_schema()),
        "schema/facts.json": _json({"$id": FACTS} | Facts.model_json_schema(mode="serialization")),
    }


def stale(docs: Path = DOCS) -> list[str]:
    """Return the names of pages that are not what the code makes of them."""
    return [name for name, text in pages(docs).items() if _kept(docs / name) != text]


def main(words: Sequence[str]) -> int:
    """Write the pages, or with ``--check`` tell which are stale; returns the exit code."""
    docs = Path(next((word for word in words if word != "--check"), DOCS))
    found = stale(docs)
    if "--check" in words:
        for name in found:
            sys.stderr.write(f"{docs / name} is stale: run `make docs`\n")
        return 1 if found else 0
    made = pages(docs)
    for name in found:
        (docs / name).parent.mkdir(parents=True, exist_ok=True)
        (docs / name).write_text(made[name], encoding="utf-8")
        sys.stdout.write(f"wrote {docs / name}\n")
    return 0


def _kept(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.is_file() else None


def _json(schema: object) -> str:
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def _inventory(text: str) -> str:
    head, begin, rest = text.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not (begin and end):
        raise SystemExit(f"{INVENTORY} has lost its marks: {BEGIN} and {END}")
    return f"{head}{BEGIN}\n\n{keys_reference()}\n\n{END}{tail}"


def _gates(catalogue: Catalogue) -> Iterator[str]:
    yield from ("# Systems and gates", "", NOTE, "", INTRODUCTION)
    for system in catalogue.systems.values():
        yield from (f"## {system.system}", "", *_wrapped(system.about), "")
        yield from _table(
            "Variables",
            ("variable", "default", "exported as", "meaning"),
            [_variable(name, v) for name, v in system.variables.items()],
        )
        yield from _table(
            "Artifacts",
            ("artifact", "kind", "where", "wanted when", "meaning"),
            [_artifact(name, a) for name, a in system.artifacts.items()],
        )
        yield from _table(
            "Gates", ("gate", "required", "what it asks"), [_row(gate) for gate in system.gates]
        )
        for gate in system.gates:
            yield from _told(gate, _decided(catalogue, system, gate))
    yield from (f"## {FLEETWIDE.system}", "", *_wrapped(FLEETWIDE.about), "")
    rows = [_row(gate) for gate in FLEETWIDE.gates]
    yield from _table("Gates", ("gate", "required", "what it asks"), rows)
    for gate in FLEETWIDE.gates:
        yield from _told(gate, _said(gate, RULES[gate.id].__doc__))


def _table(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    if rows:
        yield from (f"### {title}", "", _cells(heads), _cells(["---"] * len(heads)))
        yield from (*map(_cells, rows), "")


def _cells(cells: Sequence[str]) -> str:
    escaped = (" ".join(cell.split()).replace("|", "\\|") for cell in cells)
    return "| " + " | ".join(escaped) + " |"


def _variable(name: str, variable: Variable) -> Sequence[str]:
    default = "" if variable.default is None else _code(json.dumps(variable.default).strip('"'))
    exported = f"{_code(variable.env)}{'' if variable.public else ', secret'}"
    return (
        _code(name),
        default or ("(empty)" if variable.default == "" else ""),
        exported if variable.env else "",
        variable.about,
    )


def _artifact(name: str, artifact: AnyArtifact) -> Sequence[str]:
    when = _code(artifact.when) if artifact.when else ""
    return (_code(name), artifact.kind, _code(artifact.path), when, artifact.about)


def _row(gate: Gate) -> Sequence[str]:
    return (f"[`{gate.id}`](#{gate.id.replace('.', '')})", required_when(gate), gate.asks)


def _told(gate: Gate, decided: str) -> Iterator[str]:
    yield from (f"#### {gate.id}", "", *_wrapped(gate.asks), "")
    for label, text in (
        ("required", required_when(gate)),
        ("gives", _code(gate.gives or "")),
        ("serves", ", ".join(map(_code, gate.serves))),
        ("severity", gate.severity),
        ("since", str(gate.since or "")),
        ("decided by", decided),
        ("not asked where one of these fails", ", ".join(map(_code, gate.needs))),
        ("asked of", ", ".join(f"{kind}s" for kind in gate.kinds)),
        ("without it", gate.without),
        ("remedy", gate.remedy),
        ("by fleet", action(gate) if gate.fixed_by else ""),
        ("source", gate.source),
    ):
        if text:
            yield from _wrapped(f"**{label}:** {text}", "- ")
    yield ""


def _decided(catalogue: Catalogue, system: System, gate: Gate) -> str:
    """Tell the marker's words, or the first sentence that the check says of itself."""
    if gate.marker is not None:
        return _marker(gate.marker)
    return _said(gate, catalogue.check(system.system, gate).__doc__)


def _said(gate: Gate, documentation: str | None) -> str:
    said = (documentation or "").strip()
    if not said:
        raise SystemExit(f"the check of {gate.id} has no docstring, so nothing tells what decides")
    return " ".join(said.partition("\n\n")[0].split()).removesuffix(".")


def _marker(marker: Marker) -> str:
    words = [" and ".join(map(_code, marker.all)), *(f"no {_code(word)}" for word in marker.none)]
    return f"{', '.join(filter(None, words))} in the code of `{marker.artifact}`"


def _code(text: str) -> str:
    return f"`{text}`" if text else ""


def _wrapped(text: str, bullet: str = "") -> list[str]:
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=bullet,
        subsequent_indent=" " * len(bullet),
        break_long_words=False,
        break_on_hyphens=False,
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
