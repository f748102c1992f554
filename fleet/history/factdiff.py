"""What differs between two facts of one target, as lines. Pure.

What is new each time by nature is left out: moments, durations, digests keyed with a run's nonce.
"""

from collections.abc import Iterator, Mapping

from fleet.dataclass import dataclass
from fleet.facts.model import Facts
from fleet.history.split import VOLATILE, Json

MOST = 200
FLEETING = frozenset({"inode", "mtime", "pid", "started", "uid"})


@dataclass(frozen=True, slots=True)
class FactChange:
    """One value that is another.

    Attributes:
        place: the keys that lead to it.
        before: as JSON would show it; None where there was none.
        after: the same, of the later facts.
    """

    place: tuple[str, ...]
    before: str | None
    after: str | None


def fact_changes(before: Facts, after: Facts) -> tuple[FactChange, ...]:
    """Return what differs, at most :data:`MOST` values, in the order of their places.

    What changes whenever something is written or started anew comes last.
    """
    found = list(_between((), _tree(before), _tree(after)))
    found.sort(key=lambda change: change.place[-1] in FLEETING)
    return tuple(found[:MOST])


def _tree(facts: Facts) -> Json:
    tree: Json = facts.model_dump(mode="json", exclude={"contents"})
    return tree


def _between(place: tuple[str, ...], one: Json, other: Json) -> Iterator[FactChange]:
    if one == other or (place and place[-1] in VOLATILE and _plain(one) and _plain(other)):
        return
    if isinstance(one, dict) and isinstance(other, dict):
        for key in sorted(one.keys() | other.keys()):
            yield from _between((*place, key), one.get(key), other.get(key))
    elif isinstance(one, list) and isinstance(other, list):
        yield from _lists(place, one, other)
    else:
        yield FactChange(place, _shown(one), _shown(other))


def _lists(place: tuple[str, ...], one: list[Json], other: list[Json]) -> Iterator[FactChange]:
    """Hold lists against each other by the name of their items, where they have one."""
    old, new = _named(one), _named(other)
    for key in [*old, *(key for key in new if key not in old)]:
        yield from _between((*place, key), old.get(key), new.get(key))


def _named(items: list[Json]) -> Mapping[str, Json]:
    found: dict[str, Json] = {}
    for number, item in enumerate(items):
        name = str(number)
        if isinstance(item, dict):
            name = next(
                (str(item[key]) for key in ("name", "path", "url", "number") if item.get(key)), name
            )
        elif isinstance(item, str):
            name = item
        found[name if name not in found else f"{name} ({number})"] = item
    return found


def _plain(value: Json) -> bool:
    return value is None or isinstance(value, str | int | float)


def _shown(value: Json) -> str | None:
    if value is None:
        return None
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return f"{len(value)} values" if value else "nothing"
    if isinstance(value, list):
        return f"{len(value)} items" if value else "nothing"
    return str(value).lower() if isinstance(value, bool) else str(value)
