"""A folder of notes in a tree that nothing runs on."""

import posixpath
from collections.abc import Iterator

from fleet.facts.notes import (
    ALL_BYTES,
    CUT,
    LEVELS,
    LINES_IN_NAME,
    MOST_NOTES,
    NO_LOOK,
    NOWHERE,
    TOO_MUCH,
    NoteFact,
    note_of,
)
from fleet.facts.paths import State
from fleet.facts.walk import Node, Tree, Unreadable, Walk, resolve, shown


def read_notes(tree: Tree, folder: str, limit: int) -> tuple[tuple[NoteFact, ...], str | None]:
    """Return what is told of the notes in a folder, and why that are not all.

    Args:
        tree: holds the folder.
        folder: its physical path.
        limit: a note of more bytes is not read.
    """
    untold, files = _files(tree, folder)
    kept = files[:MOST_NOTES]
    total, wanted = 0, []
    for name, final, node in kept:
        size = node.size
        if "\n" in name:
            untold.append(NoteFact(name=name, why=LINES_IN_NAME))
        elif size > limit:
            why = f"larger than {limit} bytes: not read"
            untold.append(NoteFact(name=shown(name), size=size, why=why))
        elif total + size > ALL_BYTES:
            untold.append(NoteFact(name=shown(name), size=size, why=TOO_MUCH))
        else:
            total += size
            wanted.append((name, final))
    tree.prefetch([final for _, final in wanted])
    told = [_read(tree, name, final, limit) for name, final in wanted]
    notes = tuple(sorted((*untold, *told), key=lambda note: note.name))
    return notes, CUT if len(files) > MOST_NOTES else None


def _read(tree: Tree, name: str, final: str, limit: int) -> NoteFact:
    try:
        return note_of(shown(name), tree.read(final, limit))
    except Unreadable as error:
        return NoteFact(name=shown(name), why=error.why)


def _files(tree: Tree, folder: str) -> tuple[list[NoteFact], list[tuple[str, str, Node]]]:
    """Return what cannot be looked at, and the notes: name, where it finally lies, what it is."""
    untold: list[NoteFact] = []
    files: list[tuple[str, str, Node]] = []
    folders = [""]
    for level in range(LEVELS):
        below: list[str] = []
        for head in folders:
            for name, walked in _inside(tree, folder, head, untold):
                if walked.node is None or walked.final is None:
                    if name.endswith(".md") and walked.state is not State.ABSENT:
                        untold.append(NoteFact(name=shown(name), why=NOWHERE))
                elif walked.node.kind == "directory":
                    below.append(name)
                elif walked.node.kind == "file" and name.endswith(".md"):
                    files.append((name, walked.final, walked.node))
        folders = below if level < LEVELS - 1 else []
    return untold, files


def _inside(tree: Tree, root: str, head: str, untold: list[NoteFact]) -> Iterator[tuple[str, Walk]]:
    try:
        final = resolve(tree, posixpath.join(root, head)).final
        names = tree.listdir(final) if final else ()
    except Unreadable:
        untold.append(NoteFact(name=shown(head), why=NO_LOOK))
        return
    for name in sorted(names, key=lambda each: each.encode("utf-8", "surrogateescape")):
        if not name.startswith("."):
            path = posixpath.join(head, name)
            yield path, resolve(tree, posixpath.join(root, path))
