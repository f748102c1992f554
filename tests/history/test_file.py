"""The file: old ones are brought along, newer and foreign ones are refused by name."""

import sqlite3
from pathlib import Path

import pytest
from support.crafted import craft

from fleet.errors import HistoryError
from fleet.history.schema import VERSION
from fleet.history.store import History
from fleet.verifier.model import Verdict

CASES = Path(__file__).parents[1] / "cases" / "history"


def made(path: Path, script: str) -> Path:
    connection = sqlite3.connect(path)
    connection.executescript(script)
    connection.close()
    return path


@pytest.mark.parametrize("script", sorted(CASES.glob("schema-*.sql")), ids=lambda p: p.stem)
@pytest.mark.parametrize("write", [True, False])
def test_an_old_file_is_brought_along_and_keeps_what_it_holds(
    script: Path, write: bool, tmp_path: Path
) -> None:
    path = made(tmp_path / "h.db", script.read_text(encoding="utf-8"))
    with History(path, write=write) as history:
        kept = history.runs()
        assert [k.id for k in kept] == ["2026-09-02T08", "2026-09-01T08"]
        assert (kept[0].who, kept[0].code, kept[0].required[Verdict.FAIL]) == ("", None, 1)
        since = history.since("bridge.feed", "box")
        assert since is not None
        assert (since.first, since.passed) == ("2026-09-02T08", "2026-09-01T08")
        assert history.load("last").results[0].facts is not None
        assert history.beside("last").pieces == {}
    with History(path, write=True) as history:
        history.save(craft("mixed"))
        assert len(history.runs()) == 3
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA user_version").fetchone() == (VERSION,)
    connection.close()


@pytest.mark.parametrize("write", [True, False])
def test_a_newer_file_is_refused_by_its_version(write: bool, tmp_path: Path) -> None:
    path = tmp_path / "h.db"
    History(path, write=True).close()
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {VERSION + 1}")
    connection.close()
    with pytest.raises(HistoryError, match=f"a newer fleet .*version {VERSION + 1}") as told:
        History(path, write=write)
    assert "update fleet" in told.value.hint


@pytest.mark.parametrize("write", [True, False])
def test_a_database_of_something_else_is_left_alone(write: bool, tmp_path: Path) -> None:
    path = made(tmp_path / "h.db", "CREATE TABLE mine (x); INSERT INTO mine VALUES (1);")
    before = path.read_bytes()
    with pytest.raises(HistoryError, match="of something else"):
        History(path, write=write)
    assert path.read_bytes() == before


@pytest.mark.parametrize("write", [True, False])
def test_a_file_that_is_no_database_is_told(write: bool, tmp_path: Path) -> None:
    path = tmp_path / "h.db"
    path.write_text("not a database, but long enough to be looked at as one\n" * 40)
    with pytest.raises(HistoryError, match="is damaged, or is none"):
        History(path, write=write)


def test_a_history_that_is_not_there_is_told_and_not_made(tmp_path: Path) -> None:
    with pytest.raises(HistoryError, match="there is no history yet"):
        History(tmp_path / "h.db")
    assert not (tmp_path / "h.db").exists()


def test_a_damaged_body_is_told(tmp_path: Path) -> None:
    path = tmp_path / "h.db"
    with History(path, write=True) as history:
        history.save(craft("mixed"))
    connection = sqlite3.connect(path)
    connection.execute("UPDATE blob SET data = zeroblob(length(data))")
    connection.commit()
    connection.close()
    with History(path) as history, pytest.raises(HistoryError, match="is damaged"):
        history.load("last")
