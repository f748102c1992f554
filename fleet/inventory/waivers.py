"""Waivers: each names a gate that exists and targets that have it."""

from fleet.errors import InventoryError
from fleet.inventory.draft import Draft, Named, WaiverDraft
from fleet.inventory.inventory import Inventory
from fleet.inventory.known import Known
from fleet.inventory.model import Waiver
from fleet.inventory.problems import did_you_mean
from fleet.inventory.select import select

FLEET = "fleet"
"""The name under which findings about the fleet as a whole are told."""


def settled(draft: Draft, inventory: Inventory, known: Known | None) -> tuple[Waiver, ...]:
    """Return the waivers with their targets by name; what cannot be meant is noted as a mistake.

    Gates are checked only against ``known``.
    """
    gates = _gates(draft, known) if known and draft.waivers else {}
    made = []
    seen: dict[tuple[str, str], WaiverDraft] = {}
    for waiver in draft.waivers:
        gate = waiver.gate.name
        if known and gate not in gates:
            hint = did_you_mean(gate, gates, kind="gates")
            draft.problems.add(f"there is no gate `{gate}`", waiver.gate.place, hint)
            continue
        system = gates.get(gate)
        targets = _targets(waiver, system, inventory, draft)
        for name in targets:
            _once(name, waiver, seen, draft)
        made.append(Waiver(gate, targets, waiver.reason, waiver.until, waiver.place))
    return tuple(made)


def _gates(draft: Draft, known: Known) -> dict[str, str]:
    """Return the system of each gate, by its id; empty for a gate of the fleet as a whole."""
    own = {held.gate.id: held.system for held in draft.gates}
    return {gate: system for system, gates in known.gates.items() for gate in gates} | own


def _targets(
    waiver: WaiverDraft, system: str | None, inventory: Inventory, draft: Draft
) -> tuple[str, ...]:
    if system == "":
        return tuple(n.name for n in waiver.targets if _is_fleet(n, inventory, draft))
    try:
        found = select(inventory, [named.name for named in waiver.targets])
    except InventoryError as error:
        place = waiver.targets[0].place
        draft.problems.add(error.what, place, error.hint)
        return ()
    having = tuple(t.name for t in found if system is None or system in t.judged)
    if not having:
        names = ", ".join(named.name for named in waiver.targets)
        what = f"`{waiver.gate.name}` is not asked of `{names}`"
        hint = f"it comes with the system {system}, which is not there"
        draft.problems.add(what, waiver.targets[0].place, hint)
    return having


def _is_fleet(named: Named, inventory: Inventory, draft: Draft) -> bool:
    """Tell whether a name is one under which the whole fleet's findings are told."""
    known = [FLEET, *inventory.groups]
    if named.name in known:
        return True
    hint = did_you_mean(named.name, known, kind="`fleet`, or a group")
    draft.problems.add(f"`{named.name}` is neither `fleet` nor a group", named.place, hint)
    return False


def _once(
    name: str, waiver: WaiverDraft, seen: dict[tuple[str, str], WaiverDraft], draft: Draft
) -> None:
    before = seen.setdefault((waiver.gate.name, name), waiver)
    if before is not waiver:
        what = f"`{waiver.gate.name}` on `{name}` is waived twice: first in line "
        hint = "keep one of the two"
        draft.problems.add(f"{what}{before.place.line}", waiver.place, hint)
