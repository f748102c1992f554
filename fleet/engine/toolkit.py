"""Reading a toolkit clone's history on the controller, with one git command."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

from fleet.verifier.toolkit import Commit, Toolkit

GIT_SECONDS = 60
_MARK = "\x01"


def read_toolkit(clone: str) -> Toolkit:
    """Return the history of a clone; what keeps it from being read is told in ``trouble``.

    Follows first parents, so that "behind" counts what a reader of ``git log`` counts. Git's own
    refusal of a tree that belongs to somebody else is respected, and nothing is written to any
    git configuration.
    """
    folder = Path(clone).expanduser()
    if not folder.is_dir():
        return Toolkit(clone, trouble="no such folder on the controller")
    try:
        ended = subprocess.run(
            [
                "git",
                "-C",
                str(folder),
                "-c",
                "core.quotePath=false",
                "log",
                "--first-parent",
                "-m",
                "--raw",
                "--no-abbrev",
                "--no-renames",
                f"--format={_MARK}%H%x09%cs",
            ],
            capture_output=True,
            timeout=GIT_SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except FileNotFoundError:
        return Toolkit(clone, trouble="there is no git on the controller")
    except subprocess.TimeoutExpired:
        return Toolkit(clone, trouble=f"git did not answer within {GIT_SECONDS} s")
    if ended.returncode:
        return Toolkit(clone, trouble=_refusal(ended.stderr.decode(errors="replace")))
    return Toolkit(clone, blobs=_blobs(ended.stdout.decode(errors="replace")))


def _refusal(errors: str) -> str:
    if "dubious ownership" in errors:
        return "git refused: ownership"
    if "not a git repository" in errors:
        return "not a git clone"
    if "does not have any commits" in errors:
        return "it has no commits"
    line = errors.strip().splitlines()[-1:] or ["git failed"]
    return f"git refused: {line[0][:120]}"


def _blobs(log: str) -> dict[str, dict[str, Commit]]:
    """Find, for each blob of each path, the newest commit that still carries it.

    Walking from the newest commit back, a blob is carried up to just before the next newer
    change of its path.
    """
    blobs: dict[str, dict[str, Commit]] = {}
    changed_at: dict[str, int] = {}
    commits: list[Commit] = []
    for index, (commit, changes) in enumerate(_commits(log)):
        commits.append(commit)
        for path, blob in changes:
            newest = commits[changed_at.get(path, -1) + 1]
            if blob.strip("0"):
                blobs.setdefault(path, {}).setdefault(blob, newest)
            changed_at[path] = index
    return blobs


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
