"""What a run consists of comes back from JSON as it was."""

import json

import pytest
from pydantic import TypeAdapter

from fleet.errors import HistoryError
from fleet.history.codec import drift_json, drift_of, finding_json, finding_of, gates_of, trouble_of
from fleet.verifier.fleetwide.member import Copy
from fleet.verifier.fleetwide.table import Side, Standing, Table, What
from fleet.verifier.model import Finding, Severity, Verdict
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


FINDING = Finding(
    "laptop", "env", "env.mode", Verdict.FAIL, Severity.MAJOR, required=True, message="wide"
)


def test_a_finding_comes_back_without_what_only_a_newer_fleet_knows() -> None:
    laid = finding_json(FINDING)
    assert isinstance(laid, dict)
    assert "target" not in laid
    assert finding_of(json.dumps(laid).encode(), "laptop") == FINDING
    assert finding_of(json.dumps(laid | {"mood": "good"}).encode(), "laptop") == FINDING


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"7", b"{}", b'{"gate": 1}', b"\xff"])
def test_a_finding_that_is_none_is_told(data: bytes) -> None:
    with pytest.raises(HistoryError, match="a finding"):
        finding_of(data, "laptop")


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"7", b"{}", b'{"kind": "odd"}', b"\xff"])
def test_a_trouble_that_is_none_is_told(data: bytes) -> None:
    with pytest.raises(HistoryError, match="not asked"):
        trouble_of(data)


@pytest.mark.parametrize("data", [b"", b"[", b"\xff", b"7", b"{}"])
def test_gates_that_are_none_are_told(data: bytes) -> None:
    with pytest.raises(HistoryError, match="gates"):
        gates_of(data)


@pytest.mark.parametrize("tables", [(), TABLES], ids=["none", "two"])
def test_drift_comes_back(tables: tuple[Table, ...]) -> None:
    laid = drift_json(tables)
    assert drift_of(json.dumps(laid).encode()) == tables
    assert laid == TypeAdapter(tuple[Table, ...]).dump_python(tables, mode="json")


def test_drift_that_is_none_is_told() -> None:
    with pytest.raises(HistoryError, match="a drift table"):
        drift_of(b'[{"name": 1}]')
