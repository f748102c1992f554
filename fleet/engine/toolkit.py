"""Reading a toolkit clone's history on the controller, and keeping it by its newest commit.

What is kept lies in the user's cache folder, one file a commit. It is only ever a shortcut: what
cannot be read there, or written, is worked out from git again.
"""

import contextlib
import hashlib
import json
import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from fleet.verifier.toolkit import Commit, Toolkit

GIT_SECONDS = 60
LARGEST = 64 * 1024 * 1024  # bytes of a kept history that are read back
_MARK = "\x01"


class _Kept(BaseModel):
    """A history as it is kept: commits newest first, and what each path was at which of them."""

    model_config = ConfigDict(frozen=True, defer_build=True, extra="forbid", strict=True)

    format: int
    head: str
    commits: list[tuple[str, str]]
    changes: dict[str, list[tuple[int, str]]]


_FORMAT = 1


def read_toolkit(clone: str) -> Toolkit:
    """Return the history of a clone; what keeps it from being read is told in ``trouble``.

    Follows first parents, so that "behind" counts what a reader of ``git log`` counts. Git's own
    refusal of a tree that belongs to somebody else is respected, and nothing is written to any
    git configuration. The history of a commit is worked out once, and kept.
    """
    folder = Path(clone).expanduser()
    if not folder.is_dir():
        return Toolkit(clone, trouble="no such folder on the controller")
    try:
        head = _git(folder, ["rev-parse", "--verify", "--is-shallow-repository", "HEAD^{commit}"])
        place = _place(head)
        kept = _load(place, head)
        if kept is None:
            kept = _worked_out(_git(folder, _LOG), head)
            _save(place, kept)
    except _GitError as error:
        return Toolkit(clone, trouble=str(error))
    return _toolkit(clone, kept)


class _GitError(Exception):
    """Why git told nothing."""


_LOG = (
    "-c",
    "core.quotePath=false",
    "log",
    "--first-parent",
    "-m",
    "--raw",
    "--no-abbrev",
    "--no-renames",
    f"--format={_MARK}%H%x09%cs",
)


def _git(folder: Path, words: Sequence[str]) -> str:
    try:
        ended = subprocess.run(
            ["git", "-C", str(folder), *words],
            capture_output=True,
            timeout=GIT_SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except FileNotFoundError as error:
        raise _GitError("there is no git on the controller") from error
    except subprocess.TimeoutExpired as error:
        raise _GitError(f"git did not answer within {GIT_SECONDS} s") from error
    if ended.returncode:
        raise _GitError(_refusal(ended.stderr.decode(errors="replace")))
    return ended.stdout.decode(errors="replace")


def _place(head: str) -> Path:
    """Return where the history of a commit is kept; a shallow clone's is another one."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    folder = Path(base) if Path(base).is_absolute() else Path.home() / ".cache"
    name = hashlib.sha256(head.encode()).hexdigest()[:40]
    return folder / "fleet" / "toolkit" / f"{name}.json"


def _load(place: Path, head: str) -> _Kept | None:
    try:
        if place.stat().st_size > LARGEST:
            return None
        kept = _Kept.model_validate_json(place.read_bytes())
    except (OSError, ValidationError):
        return None  # never written, or not by this version: git tells it again
    return kept if (kept.format, kept.head) == (_FORMAT, head) and _is_sound(kept) else None


def _is_sound(kept: _Kept) -> bool:
    """Tell whether every path's changes are by commits that are there, newest first."""
    orders = ([index for index, _ in changes] for changes in kept.changes.values())
    return all(o == sorted(set(o)) and o[0] >= 0 and o[-1] < len(kept.commits) for o in orders if o)


def _save(place: Path, kept: _Kept) -> None:
    """Keep a history, whole or not at all; a cache that cannot be written is no trouble."""
    with contextlib.suppress(OSError):
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, name = tempfile.mkstemp(prefix=".history.", dir=place.parent)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as stream:
                json.dump(kept.model_dump(), stream)
            Path(name).replace(place)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise


def _refusal(errors: str) -> str:
    if "dubious ownership" in errors:
        return "git refused: ownership"
    if "not a git repository" in errors:
        return "not a git clone"
    if "Needed a single revision" in errors:
        return "it has no commits"
    line = errors.strip().splitlines()[-1:] or ["git failed"]
    return f"git refused: {line[0][:120]}"


def _worked_out(log: str, head: str) -> _Kept:
    commits: list[tuple[str, str]] = []
    changes: dict[str, list[tuple[int, str]]] = {}
    for commit, changed in _commits(log):
        commits.append((commit.id, commit.date))
        for path, blob in changed:
            told = blob if blob.strip("0") else ""
            changes.setdefault(path, []).append((commit.behind, told))
    return _Kept(format=_FORMAT, head=head, commits=commits, changes=changes)


def _toolkit(clone: str, kept: _Kept) -> Toolkit:
    """Find, for each blob of each path, the newest commit that still carries it.

    Walking from the newest commit back, a blob is carried up to just before the next newer
    change of its path.
    """
    commits = tuple(Commit(c, date, behind) for behind, (c, date) in enumerate(kept.commits))
    blobs: dict[str, dict[str, Commit]] = {}
    for path, changes in kept.changes.items():
        newest = 0
        for index, blob in changes:
            if blob:
                blobs.setdefault(path, {}).setdefault(blob, commits[newest])
            newest = index + 1
    changed = {path: tuple(changes) for path, changes in kept.changes.items()}
    return Toolkit(clone, blobs=blobs, commits=commits, changes=changed)


def _commits(log: str) -> Iterator[tuple[Commit, list[tuple[str, str]]]]:
    for behind, block in enumerate(log.split(_MARK)[1:]):
        head, *lines = block.splitlines()
        commit_id, _, date = head.partition("\t")
        changes = []
        for line in lines:
            fields, _, path = line.partition("\t")
            if fields.startswith(":"):
                changes.append((path, fields.split()[3]))
        yield Commit(commit_id, date, behind), changes
