"""Where nothing can be put: folders that may not be written in, a ledger that cannot be kept.

What would fail on the target is a conflict of the plan, so that it is known before the first
change.
"""

import posixpath
from collections.abc import Iterable

from fleet.errors import PlanError
from fleet.facts.paths import PathFact
from fleet.installers import ledger as ledgers
from fleet.installers.decision import blocked
from fleet.installers.model import Action, Conflict, Run, SetMode
from fleet.installers.site import Site, trail

WRITABLE = "make it writable for the user fleet comes as, or declare `become` in the inventory"


def closed_folder(site: Site, actions: Iterable[Action]) -> str:
    """Return the first folder that actions need to write in and may not; empty for none."""
    for action in actions:
        if isinstance(action, Run | SetMode):
            continue
        for folder in (posixpath.dirname(action.path) or "/", real_parent(site, action.path)):
            if folder in site.closed:
                return folder
    return ""


def closed_conflict(key: str, site: Site, path: str, folder: str) -> Conflict:
    """Say that a path lies in a folder that may not be written in."""
    where = f"{site.shown(folder)}, which this user may not write in"
    return Conflict(key=key, path=path, what=f"{site.shown(path)} lies in {where}", hint=WRITABLE)


def check_ledger(site: Site, fact: PathFact) -> None:
    """Refuse a target on which fleet cannot note what it puts there.

    Raises:
        PlanError: something stands in the ledger's way, or its folder may not be written in.
    """
    place = f"fleet cannot keep its ledger, {ledgers.PATH}"
    if fact.blocked:
        what, hint = blocked(site, fact)
        raise PlanError(f"{place}: {what}", where=site.facts.target, hint=hint)
    missing = trail(fact).missing
    folder = posixpath.dirname(missing[0]) if missing else trail(fact).parent
    if folder in site.closed:
        raise PlanError(
            f"{place}: this user may not write in {site.shown(folder)}",
            where=site.facts.target,
            hint=f"{WRITABLE}; nothing was changed",
        )


def real_parent(site: Site, path: str) -> str:
    """Return the folder a path lies in, links resolved as far as they were seen."""
    fact = site.seen(path)
    return trail(fact).parent if fact else posixpath.dirname(path)
