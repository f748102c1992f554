"""What of its variables a text can see: two targets that have this alike have its result alike.

Told by the text itself, never by rendering it. Where that cannot be told, nothing is said.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TypeAlias

from jinja2 import meta, nodes

from fleet.dataclass import dataclass
from fleet.inventory.model import SecretRef, Value
from fleet.inventory.nodes import WrittenFloat, WrittenInt
from fleet.inventory.render import FAULTS, environment

#: A value so that what is told apart by any text is unequal: ``1``, ``1.0``, ``true`` and ``0x1``.
Frozen: TypeAlias = object

_ABSENT = object()
_PLAIN = (str, bool, int, float, type(None))


@dataclass(frozen=True, slots=True)
class Use:
    """A variable that is looked at: all of it, or only some keys of the mapping that it is."""

    name: str
    keys: frozenset[str] | None = None


@lru_cache(maxsize=1024)
def uses(text: str) -> tuple[Use, ...] | None:
    """Return what a text looks at; None where it cannot be told.

    An expression is given as the text ``{{ … }}``.
    """
    if "{" not in text:
        return ()
    try:
        tree = environment().parse(text)
        names = meta.find_undeclared_variables(tree)
    except (RecursionError, *FAULTS):
        return None
    whole = [node.name for node in tree.find_all(nodes.Name) if node.name in names]
    parts = [
        part for node in tree.find_all((nodes.Getattr, nodes.Getitem)) if (part := _part(node))
    ]
    return tuple(_use(name, whole.count(name), parts) for name in sorted(names))


def _part(node: nodes.Node) -> tuple[str, str] | None:
    """Return variable and key of ``name.key``; None for what may be more than a key."""
    if isinstance(node, nodes.Getitem):
        key = node.arg.value if isinstance(node.arg, nodes.Const) else None
    else:
        key = node.attr if isinstance(node, nodes.Getattr) else None
    named = node.node if isinstance(node, nodes.Getattr | nodes.Getitem) else None
    if not isinstance(named, nodes.Name) or not isinstance(key, str) or hasattr(dict, key):
        return None
    return named.name, key


def _use(name: str, times: int, parts: Iterable[tuple[str, str]]) -> Use:
    keys = [key for of, key in parts if of == name]
    return Use(name, frozenset(keys) if len(keys) == times else None)


def joined(every: Iterable[tuple[Use, ...] | None]) -> tuple[Use, ...] | None:
    """Return what several texts look at together; None where one of them cannot be told."""
    found: dict[str, frozenset[str] | None] = {}
    for each in every:
        if each is None:
            return None
        for use in each:
            held = found.get(use.name, frozenset())
            found[use.name] = None if held is None or use.keys is None else held | use.keys
    return tuple(Use(name, keys) for name, keys in sorted(found.items()))


def seen(wanted: Iterable[Use], variables: Mapping[str, Value]) -> tuple[Frozen, ...] | None:
    """Return what is looked at of some variables, so that it can be compared; None: it cannot."""
    found: list[Frozen] = []
    for use in wanted:
        value: object = variables.get(use.name, _ABSENT)
        if use.keys is not None and isinstance(value, dict):
            value = {key: value.get(key, _ABSENT) for key in sorted(use.keys)}
        frozen = _frozen(value)
        if frozen is None:
            return None
        found.append(frozen)
    return tuple(found)


def _frozen(value: object) -> Frozen | None:
    if value is _ABSENT:
        return _ABSENT
    if isinstance(value, list):
        return _all("list", value)
    if isinstance(value, dict):
        return _all("dict", [part for pair in value.items() for part in pair])
    if isinstance(value, SecretRef):
        return (SecretRef, value.source, value.argument)
    if type(value) in (WrittenInt, WrittenFloat):
        return (type(value), str(value))
    return (type(value), value) if isinstance(value, _PLAIN) else None


def _all(kind: str, values: list[object]) -> Frozen | None:
    frozen = tuple(_frozen(value) for value in values)
    return None if None in frozen else (kind, frozen)
