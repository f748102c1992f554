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


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    return folder


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


def test_a_history_is_worked_out_once_for_a_commit(
    clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = read_toolkit(str(clone))
    asked: list[str] = []
    real = subprocess.run

    def counting(words: list[str], **options: object) -> object:
        asked.append(" ".join(words))
        return real(words, **options)  # type: ignore[call-overload]  # as it was called

    monkeypatch.setattr(subprocess, "run", counting)
    assert read_toolkit(str(clone)) == first
    assert [" log " in words for words in asked] == [False]
    git(clone, "commit", "-q", "--allow-empty", "-m", "another")
    asked.clear()
    again = read_toolkit(str(clone)).name(git_blob(b"three"))
    assert any(" log " in words for words in asked)
    assert again is not None
    assert again[1].behind == 0


@pytest.mark.parametrize("spoilt", [b"", b"{", b'{"format": 0}', b"[]"])
def test_a_spoilt_cache_is_worked_out_again(clone: Path, cache: Path, spoilt: bytes) -> None:
    first = read_toolkit(str(clone))
    (kept,) = cache.rglob("*.json")
    whole = kept.read_bytes()
    kept.write_bytes(spoilt)
    assert read_toolkit(str(clone)) == first
    assert kept.read_bytes() == whole
    kept.write_bytes(whole.replace(b"[[0, ", b"[[99, "))
    assert read_toolkit(str(clone)) == first


def test_a_cache_that_cannot_be_written_is_no_trouble(
    clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(clone / PATH))
    assert read_toolkit(str(clone)).name(git_blob(b"one"))


def test_what_a_path_was_at_a_commit(clone: Path) -> None:
    toolkit = read_toolkit(str(clone))
    blobs = [toolkit.blob_at(PATH, commit) for commit in toolkit.commits]
    assert blobs == [git_blob(c) for c in (b"three", b"two", b"two", b"one")]
    assert toolkit.commit(toolkit.commits[2].short) == toolkit.commits[2]
    assert toolkit.commit("") is None
