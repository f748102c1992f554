"""A toolkit's history names deployed bytes; whatever git refuses is told, never raised."""

import subprocess
from pathlib import Path

import pytest

from fleet.engine.toolkit import read_toolkit
from fleet.facts.model import git_blob

PATH = "extensions/pi/mempalace.ts"


def git(folder: Path, *words: str, date: str = "2026-08-10T12:00:00Z") -> None:
    env = {
        "GIT_AUTHOR_DATE": date,
        "GIT_COMMITTER_DATE": date,
        "PATH": "/usr/bin:/bin",
        "HOME": str(folder),
        "GIT_AUTHOR_NAME": "x",
        "GIT_AUTHOR_EMAIL": "x@example.net",
        "GIT_COMMITTER_NAME": "x",
        "GIT_COMMITTER_EMAIL": "x@example.net",
    }
    subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True, env=env)


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q", "-b", "main")
    (tmp_path / "extensions/pi").mkdir(parents=True)
    for day, content, other in [
        (10, "one", "a"),
        (12, "two", "a"),
        (25, "two", "b"),
        (26, "three", "b"),
    ]:
        (tmp_path / PATH).write_text(content)
        (tmp_path / "other").write_text(other)
        git(tmp_path, "add", ".")
        git(tmp_path, "commit", "-q", "-m", f"day {day}", date=f"2026-08-{day}T12:00:00Z")
    return tmp_path


@pytest.mark.parametrize(
    ("content", "date", "behind"),
    [("three", "2026-08-26", 0), ("two", "2026-08-25", 1), ("one", "2026-08-10", 3)],
)
def test_bytes_are_named_by_the_newest_commit_that_carries_them(
    clone: Path, content: str, date: str, behind: int
) -> None:
    found = read_toolkit(str(clone)).name(git_blob(content.encode()))
    assert found is not None
    path, commit = found
    assert (path, commit.date, commit.behind) == (PATH, date, behind)


def test_a_deleted_file_is_still_known(clone: Path) -> None:
    git(clone, "rm", "-q", PATH)
    git(clone, "commit", "-q", "-m", "gone")
    found = read_toolkit(str(clone)).name(git_blob(b"three"))
    assert found is not None
    assert found[1].behind == 1


def test_what_is_no_clone_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "no such folder" in read_toolkit(str(tmp_path / "nowhere")).trouble
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert read_toolkit(str(tmp_path)).trouble == "not a git clone"


def test_a_clone_of_somebody_else_is_respected(
    clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    toolkit = read_toolkit(str(clone))
    assert toolkit.trouble == "git refused: ownership"
    assert not (clone / ".gitconfig").exists()
