"""Patterns: which targets of an inventory are meant, in the habit of Ansible's users.

``laptop``, ``workstations`` (a group), ``all``, ``*.example.net``, ``a,b`` or ``a:b`` (both),
``!x`` (not those), ``&x`` (only those that are also x), ``kind=image``, ``system=env``.
"""

import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase

from fleet.errors import InventoryError
from fleet.inventory.draft import ALL
from fleet.inventory.inventory import Inventory
from fleet.inventory.model import Kind, Target
from fleet.inventory.problems import did_you_mean

_GLOB = frozenset("*?[")


class NobodyLeft(InventoryError):
    """Every word of the patterns is known, and together they leave no target."""


def select(inventory: Inventory, patterns: Iterable[str] = ()) -> tuple[Target, ...]:
    """Return the targets that patterns mean, in the inventory's order; without any, all of them.

    Several patterns add up. What ``!`` and ``&`` say holds whatever the order.

    Raises:
        InventoryError: a pattern means no target, even one that excludes; names the nearest. Or
            nothing is left.
    """
    asked = list(patterns)
    terms = [term for pattern in asked for term in _terms(inventory, pattern)]
    if asked and not terms:
        raise InventoryError("the pattern is empty", hint="`all` means every target")
    wanted = [_meant(inventory, term) for term in terms if term[0] not in "!&"]
    also = [_meant(inventory, term[1:]) for term in terms if term[0] == "&"]
    unwanted = [_meant(inventory, term[1:]) for term in terms if term[0] == "!"]
    chosen = set().union(*wanted) if wanted else {t.name for t in inventory.targets}
    chosen = chosen.intersection(*also).difference(*unwanted)
    if not chosen:
        said = " ".join(terms)
        raise NobodyLeft(f"no target is left of {len(inventory.targets)} by `{said}`")
    return tuple(target for target in inventory.targets if target.name in chosen)


def _terms(inventory: Inventory, pattern: str) -> Iterator[str]:
    """Split a pattern; names that hold a colon (IPv6 addresses) stay whole."""
    names = [target.name for target in inventory.targets if ":" in target.name]
    whole = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    term = re.compile(rf"[!&]?(?:(?:{whole})(?=[,:\s]|$)|[^,:\s]+)" if whole else r"[^,:\s]+")
    yield from (found for found in term.findall(pattern) if found.strip("!&"))


def _meant(inventory: Inventory, term: str) -> set[str]:
    key, equals, value = term.partition("=")
    if equals:
        return _by_property(inventory, key, value)
    names = [target.name for target in inventory.targets]
    if term in names:
        return {term}
    if term in inventory.groups:
        return set(inventory.groups[term])
    if _GLOB & set(term):
        groups = [g for g in inventory.groups if g != ALL and fnmatchcase(g, term)]
        found = {name for name in names if fnmatchcase(name, term)}
        found = found.union(*(inventory.groups[group] for group in groups))
        if found or term == "*":
            return found
    hint = did_you_mean(term, [*names, *inventory.groups], kind="targets and groups")
    raise InventoryError(f"no target or group is called `{term}`", hint=hint)


def _by_property(inventory: Inventory, key: str, value: str) -> set[str]:
    if key == "kind":
        if value not in set(Kind):
            hint = did_you_mean(value, Kind, kind="kinds")
            raise InventoryError(f"there is no kind `{value}`", hint=hint)
        return {target.name for target in inventory.targets if target.kind == value}
    if key == "system":
        found = {target.name for target in inventory.targets if value in target.judged}
        if not found:
            every = {system for target in inventory.targets for system in target.judged}
            hint = did_you_mean(value, every, kind="systems")
            raise InventoryError(f"no target has the system `{value}`", hint=hint)
        return found
    hint = did_you_mean(key, ("kind", "system"), kind="properties")
    raise InventoryError(f"targets cannot be chosen by `{key}=`", hint=hint)
