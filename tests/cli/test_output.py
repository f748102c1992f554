"""Files are written whole or not at all."""

import os
from pathlib import Path

import pytest
from support.cli import FakeEngine, invoke
from support.crafted import craft

from fleet.cli.output import write
from fleet.errors import UsageError


def test_a_link_stays_and_its_file_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old", encoding="utf-8")
    (tmp_path / "link").symlink_to("real")
    write(tmp_path / "link", "new\n")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text(encoding="utf-8") == "new\n"


def test_a_failure_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "report"
    place.write_text("old", encoding="utf-8")

    def full(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UsageError, match="cannot be written: No space"):
        write(place, "new")
    assert place.read_text(encoding="utf-8") == "old"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["fleet.yml", "report"]


def test_a_device_is_written_to_and_not_replaced() -> None:
    write(Path("/dev/null"), "gone")
    assert not Path("/dev/null").is_file()


def test_a_new_file_has_the_usual_bits(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write(tmp_path / "report", "text")
        write(tmp_path / "private", "text", 0o600)
    finally:
        os.umask(before)
    assert (tmp_path / "report").stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "private").stat().st_mode & 0o777 == 0o600


PLACES = {
    "/proc/nope": "/proc/nope cannot be written: ",
    "fleet.yml/x": "fleet.yml/x",
    "loop/x": "loop",
    "absent/\x1b[31m/x": "absent/\\x1b[31m",
}
COMMANDS = ("facts -o", "audit -o", "check a -o", "plan -o", "learn a -o", "init", "demo --in")


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("place", PLACES)
def test_what_cannot_be_written_is_told_before_the_work(
    here: Path, command: str, place: str
) -> None:
    (here / "loop").symlink_to("loop")
    if "absent" in place:
        (here / "absent").mkdir()
        (here / "absent" / "\x1b[31m").write_text("")
    before = sorted(here.rglob("*"))
    engine = FakeEngine(craft("mixed"))

    result = invoke(*command.split(), place, engine=engine)

    assert result.exit_code == 1
    assert PLACES[place] in result.stderr
    what, *next_lines = result.stderr.splitlines()
    assert what.startswith("error: ")
    assert next_lines, "says what to do next"
    assert result.stdout == ""
    assert engine.calls() in ([], ["context"])
    assert sorted(here.rglob("*")) == before


def test_a_folder_in_a_reports_place_is_refused(here: Path) -> None:
    result = invoke("audit", "-o", str(here))
    assert f"{here} is a folder" in result.stderr
