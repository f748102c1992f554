"""Folders of notes, from the records of an answer."""

from collections import defaultdict
from collections.abc import Collection

from fleet.facts.frames import Answer, Record
from fleet.facts.notes import MOST_LINKS, MOST_NOTES, PATTERNS, NoteFact, once

GONE = "it went away while it was read"
_PATTERNS = tuple(PATTERNS)
_MOST = 2 * MOST_NOTES  # those that were read, and what could not be looked into


def notes(answer: Answer, key: str) -> tuple[NoteFact, ...] | None:
    """Return what was told of the notes in a folder; None where nothing was.

    Raises:
        ProbeError: it tells of a note twice, or of more than can be.
    """
    sizes = _by_name(answer.many("page", key))
    unread = _by_name(answer.many("unread", key))
    rows = _by_name(answer.many("rows", key))
    hits = _grouped(answer.many("hit", key), rows, len(_PATTERNS))
    links = _grouped(answer.many("ref", key), rows, MOST_LINKS)
    if answer.maybe("pages", key) is None:
        return None
    for name, record in rows.items():
        if name not in sizes or name in unread:
            raise record.wrong("it is about a note that was not read")
    return tuple(
        NoteFact(
            name=name,
            size=sizes[name].number(2) if name in sizes else None,
            lines=rows[name].number(2) if name in rows else None,
            matches=tuple(p for p in _PATTERNS if p in {_pattern(r) for r in hits[name]}),
            links=once(record.text(2) for record in links[name]),
            why=unread[name].text(2) if name in unread else None if name in rows else GONE,
        )
        for name in sorted({*sizes, *unread})
    )


def _by_name(records: list[Record]) -> dict[str, Record]:
    found: dict[str, Record] = {}
    for record in records:
        name = record.text(1)
        if name in found or len(found) >= _MOST:
            raise record.wrong("a note is told twice, or too many are,")
        found[name] = record
    return found


def _grouped(records: list[Record], told: Collection[str], most: int) -> dict[str, list[Record]]:
    found: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        name = record.text(1)
        found[name].append(record)
        if name not in told or len(found[name]) > most:
            raise record.wrong("it is about a note that was not read, or too many are")
    return found


def _pattern(record: Record) -> str:
    number = record.number(2) or 0
    if not 1 <= number <= len(_PATTERNS):
        raise record.wrong("there is no such pattern")
    return _PATTERNS[number - 1]
