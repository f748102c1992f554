"""The table of drift as a person reads it: narrow, without colours, in ASCII."""

import json
from dataclasses import replace

import jsonschema
import pytest
from rich.cells import cell_len
from support.crafted import craft

from fleet.reports.document import document, json_schema
from fleet.reports.json import render as as_json
from fleet.reports.terminal import render
from fleet.reports.view import Detail, View
from fleet.verifier.fleetwide.member import Copy
from fleet.verifier.fleetwide.table import Side, Standing, Table, What
from fleet.verifier.run import Run
from fleet.verifier.toolkit import Commit

NEW, OLD = Commit("a" * 40, "2026-08-26", 0), Commit("b" * 40, "2026-08-12", 12)
FIRST, SECOND = (
    Copy("i", "1" * 64, "", "/opt/x.ts", "", NEW),
    Copy("c", "2" * 64, "", "/x", "", OLD),
)
IMAGE = Side(
    What.IMAGE,
    "i",
    "pi-devbox:latest",
    "sha256:" + "3" * 64,
    FIRST,
    "baked",
    created="2026-08-26T01:02:03Z",
)
BOX = Side(
    What.CONTAINER,
    "c",
    "pi-devbox",
    "sha256:" + "4" * 64,
    SECOND,
    "mounted",
    "/srv/toolkit",
    "2026-08-13T00:00:00Z",
    Standing.DIFFERS,
    ("made of an older image than pi-devbox:latest is today",),
    "recreate it, with the options that it has",
)
FILE = Side(What.COMPOSE, "c", "/srv/pi/" + "long/" * 20 + "compose.yml", created="2026-08-13")
HOST = Side(What.HOST, "h", "pi-devbox", standing=Standing.UNSEEN, notes=("connection refused",))
TABLE = Table(
    "pi-devbox", (IMAGE, BOX, FILE, HOST), NEW, NEW, ("attic",), ("container x is exited",)
)


def run(*tables: Table, command: str = "drift") -> Run:
    return replace(craft("nothing"), command=command, drift=tables)


def test_it_reads_as_a_table_at_80_columns() -> None:
    text = render(run(TABLE), View())
    assert text.splitlines()[:8] == [
        "pi-devbox",
        "3 of 4 sides seen; newest commit known: aaaaaaa 2026-08-26",
        "",
        "  side                  image    bridge              behind  from     created",
        "= image                 3333333  aaaaaaa 2026-08-26     0    baked    2026-08-26",
        "    pi-devbox:latest",
        "≠ container pi-devbox   4444444  bbbbbbb 2026-08-12    12    mounted  2026-08-13",
        "    from /srv/toolkit",
    ]
    told = " ".join(text.split())
    for part in (
        "? host pi-devbox",
        "connection refused",
        "not looked at: container x is exited",
        "belongs to it, and was not asked: attic",
        "What to do container pi-devbox: recreate it, with the options that it has",
        "= as it should be ≠ differs ? not seen, or not wholly",
    ):
        assert part in told


@pytest.mark.parametrize("width", [40, 60, 80, 120])
@pytest.mark.parametrize("unicode", [True, False])
def test_no_line_is_wider_than_the_view(width: int, unicode: bool) -> None:
    text = render(run(TABLE), View(width=width, unicode=unicode))
    assert max(map(cell_len, text.splitlines())) <= max(width, 40)
    assert unicode or text.isascii()


def test_nothing_is_told_by_colour_alone() -> None:
    plain = render(run(TABLE), View())
    assert "\x1b" not in plain
    assert "\x1b[1;31m≠" in render(run(TABLE), View(colour=True))


def test_an_audit_shows_what_differs_and_only_that() -> None:
    same = Table("calm", (IMAGE, replace(BOX, standing=Standing.SAME, notes=(), remedy="")))
    text = render(run(same, TABLE, command="audit"), View())
    assert "\nDrift\n" in f"\n{text}"
    assert "calm" not in text
    assert "Drift" not in render(run(same, command="audit"), View())
    assert "Drift" not in render(run(TABLE, command="audit"), View(detail=Detail.QUIET))


def test_where_nothing_has_several_sides_it_says_so() -> None:
    assert "nothing has several sides" in render(run(), View())
    assert "so there is nothing to compare" in render(run(Table("x", (IMAGE,))), View())


def test_what_came_from_a_target_cannot_move_the_cursor() -> None:
    hostile = replace(BOX, name="\x1b[2J\u202e", source="\x1b]0;x\x07", notes=("\r\x1b[1A",))
    text = render(run(replace(TABLE, sides=(IMAGE, hostile), notes=("\x1b[3J",))), View())
    assert not set(text) & set("\x1b\x07\r\u202e")
    assert "\\u001b" not in as_json(run(replace(TABLE, sides=(hostile,))), View())


def test_the_document_has_the_same_data_and_keeps_its_schema() -> None:
    found = json.loads(as_json(run(TABLE), View()))
    jsonschema.validate(found, json_schema())
    (table,) = found["drift"]
    assert (table["name"], table["seen"], table["total"], table["drifted"]) == (
        "pi-devbox",
        3,
        4,
        True,
    )
    box = table["sides"][1]
    assert box["commit"] == {"id": "b" * 40, "date": "2026-08-12", "behind": 12}
    assert (box["what"], box["standing"], box["source"]) == ("container", "differs", "/srv/toolkit")
    assert document(run()).drift == ()
    old = {key: value for key, value in found.items() if key != "drift"}
    jsonschema.validate(old, json_schema())  # documents of before have none
