"""Unified diffs for a reader: text only, secrets masked, long ones cut."""

import difflib
from collections.abc import Sequence

from fleet.facts.envfile import assignment, split_lines
from fleet.facts.paths import EnvFile, EnvLine
from fleet.secrets import MASK

MAX_LINES = 200


def diff(old: bytes | None, new: bytes | None, path: str, *, context: int = 3) -> str:
    """Return a unified diff; None stands for nothing there, and bytes that are no text are told."""
    before, after = _text(old), _text(new)
    if before is None or after is None:
        return f"binary content of {path}\n"
    return lines_diff(
        before, after, path, old=old is not None, new=new is not None, context=context
    )


def lines_diff(
    before: Sequence[str],
    after: Sequence[str],
    path: str,
    *,
    old: bool = True,
    new: bool = True,
    context: int = 3,
) -> str:
    """Return a unified diff of lines without line ends."""
    made = difflib.unified_diff(
        before,
        after,
        path if old else "/dev/null",
        path if new else "/dev/null",
        lineterm="",
        n=context,
    )
    lines = list(made)
    if len(lines) > MAX_LINES:
        lines = [*lines[:MAX_LINES], f"… {len(lines) - MAX_LINES} more lines"]
    return "".join(f"{line}\n" for line in lines)


def env_lines(there: EnvFile, wanted: EnvFile, masked: bytes) -> tuple[list[str], list[str]]:
    """Return lines to compare: what lies there, and what is wanted, with secrets masked.

    A line that lies there and is wanted (as far as the digests tell) is shown as it is wanted; any
    other keeps only its name.
    """
    new = [line.decode("utf-8", "backslashreplace") for line in split_lines(masked)]
    known = {_same(line): text for line, text in zip(wanted.lines, new, strict=False)}
    old = [known.get(_same(line)) or _named(line) for line in there.lines]
    return old, new


def _same(line: EnvLine) -> EnvLine:
    return line.model_copy(update={"number": 0})


def _named(line: EnvLine) -> str:
    found = assignment(line.text.encode()) if line.masked else None
    if not line.masked:
        return line.text
    return f"{found.head.decode()}{MASK}  (as it is)" if found else line.text


def _text(content: bytes | None) -> list[str] | None:
    if content is None:
        return []
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return None
    if "\0" in text:
        return None
    lines = text.split("\n")
    if lines[-1]:
        lines[-1] += "  (no line end)"
        return lines
    return lines[:-1]
