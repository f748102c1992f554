"""What a run consists of comes back from JSON as it was."""

import json

import pytest
from pydantic import TypeAdapter

from fleet.errors import HistoryError
from fleet.history.codec import drift_json, drift_of
from fleet.verifier.fleetwide.member import Copy
from fleet.verifier.fleetwide.table import Side, Standing, Table, What
from fleet.verifier.toolkit import Commit

COMMIT = Commit("29e660e" + "0" * 33, "2026-08-12", 3)
SIDES = (
    Side(
        What.IMAGE,
        "devbox",
        "devbox:latest",
        image="sha256:1",
        bridge=Copy("devbox", "ab", "toolkit 29e660e", "/opt/a.ts", commit=COMMIT, written=1),
        origin="baked",
        standing=Standing.BEHIND,
        notes=("an older one",),
    ),
    Side(What.HOST, "laptop", "laptop"),
)
TABLES = (
    Table("devbox", SIDES, COMMIT, COMMIT, ("desktop",), ("a volume was not looked at",)),
    Table("vault", ()),
)


@pytest.mark.parametrize("tables", [(), TABLES], ids=["none", "two"])
def test_drift_comes_back(tables: tuple[Table, ...]) -> None:
    laid = drift_json(tables)
    assert drift_of(json.dumps(laid).encode()) == tables
    assert laid == TypeAdapter(tuple[Table, ...]).dump_python(tables, mode="json")


def test_drift_that_is_none_is_told() -> None:
    with pytest.raises(HistoryError, match="a drift table"):
        drift_of(b'[{"name": 1}]')
