"""Plans and what came of applying them, for a person and for a program.

Equal changes on many targets are told once. Marks: ``+`` create, ``~`` change, ``-`` remove.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from rich.cells import chop_cells
from rich.text import Text

from fleet.errors import FleetError, TargetError, Unreachable
from fleet.installers.model import Conflict, MakeFolder, Plan, PutLink, Step
from fleet.inventory.model import Target
from fleet.reports.console import line, paragraph, rendered
from fleet.reports.text import count, names, printable
from fleet.reports.view import Detail, View
from fleet.verifier.run import Conclusion

FORMAT = "fleet.plans/1"
MARKS = {"create": ("+", "green"), "change": ("~", "yellow"), "remove": ("-", "red")}
SLACK = 3  # lines that are shown rather than counted
DIFF_STYLES = {"+": "green", "-": "red", "@": "cyan"}
LONGEST_DIFF = {"create": 12, "change": 40, "remove": 12}  # lines; --verbose shows all
REFUSED, PENDING, UNSEEN = 1, 2, 3


class Planned(Protocol):
    """What planning for one target brought: a plan, or why there is none."""

    @property
    def target(self) -> Target:
        """Return whom it is for."""
        ...

    @property
    def plan(self) -> Plan | None:
        """Return the plan; None when the target could not be asked."""
        ...

    @property
    def trouble(self) -> FleetError | None:
        """Return why there is no plan."""
        ...


class Applied(Protocol):
    """What applying one target's plan brought."""

    @property
    def target(self) -> Target:
        """Return whom it was applied to."""
        ...

    @property
    def changed(self) -> int:
        """Return how many changes were made and stayed."""
        ...

    @property
    def trouble(self) -> FleetError | None:
        """Return why it was refused, or failed and was undone; None when it went well."""
        ...

    @property
    def notes(self) -> Sequence[str]:
        """Return what the reader should know beside."""
        ...


def conclude_plans(plans: Sequence[Planned]) -> Conclusion:
    """Decide the exit code of a plan.

    2 changes or conflicts, 1 something that cannot be planned, 3 a target not asked, 0 nothing.
    """
    pending = sum(1 for p in plans if p.plan and (p.plan.changes or p.plan.conflicts))
    if pending:
        return Conclusion(PENDING, f"changes are pending on {count(pending, 'target')}")
    if not plans:
        return Conclusion(UNSEEN, "nothing was planned")
    return _not_planned(plans) or Conclusion(0, "nothing to change")


def conclude_applied(plans: Sequence[Planned], applied: Sequence[Applied]) -> Conclusion:
    """Decide the exit code of an apply.

    2 something is not as declared, 1 something cannot be planned, 3 a target not asked, 0 done.
    """
    failed = sum(1 for a in applied if a.trouble and not isinstance(a.trouble, Unreachable))
    if failed:
        return Conclusion(PENDING, f"changes were not made on {count(failed, 'target')}")
    held = sum(1 for p in plans if p.plan and p.plan.conflicts)
    if held:
        return Conclusion(PENDING, f"conflicts are left on {count(held, 'target')}")
    missing = _not_planned(plans)
    if missing:
        return missing
    silent = sum(1 for a in applied if a.trouble)
    if silent:
        return Conclusion(UNSEEN, f"{count(silent, 'target')} could not be reached")
    changed = sum(1 for a in applied if a.changed)
    return Conclusion(0, f"changed {count(changed, 'target')}" if changed else "nothing to change")


def _not_planned(plans: Sequence[Planned]) -> Conclusion | None:
    """Tell targets without a plan; what is wrong with the declaration weighs more than silence."""
    without = [p for p in plans if p.plan is None]
    wrong = sum(1 for p in without if p.trouble and not isinstance(p.trouble, TargetError))
    if wrong:
        return Conclusion(REFUSED, f"{count(wrong, 'target')} could not be planned for")
    if without:
        return Conclusion(UNSEEN, f"{count(len(without), 'target')} could not be asked")
    return None


def plans_text(
    plans: Sequence[Planned], view: View, *, diff: bool = True, closing: bool = True
) -> str:
    """Render plans for a terminal; ``closing`` ends with the reason for the exit code."""
    return rendered(_plans(plans, view, diff=diff, closing=closing), colour=view.colour)


def applied_text(
    applied: Sequence[Applied], view: View, conclusion: Conclusion | None = None
) -> str:
    """Render what applying came to for a terminal; a conclusion is told at the end."""
    lines = list(_applied(applied, view))
    if conclusion:
        reason = f"exit {conclusion.code}: {printable(conclusion.reason)}"
        lines += paragraph(reason, view.cells, 0, "bold")
    return rendered(lines, colour=view.colour)


def plans_json(plans: Sequence[Planned], applied: Sequence[Applied] | None = None) -> str:
    """Render plans, and what applying them brought, as ``fleet.plans/1``.

    Plans hold marks of secrets, never values.
    """
    came = {a.target.name: a for a in applied or ()}
    targets = [_plain(p, came.get(p.target.name)) for p in plans]
    conclusion = conclude_plans(plans) if applied is None else conclude_applied(plans, applied)
    told = {
        "format": FORMAT,
        "targets": sorted(targets, key=lambda t: str(t["name"])),
        "conclusion": {"code": conclusion.code, "reason": conclusion.reason},
    }
    return json.dumps(told, indent=2, ensure_ascii=False) + "\n"


def _plain(planned: Planned, applied: Applied | None) -> dict[str, object]:
    plan = planned.plan
    told: dict[str, object] = {
        "name": printable(planned.target.name),
        "address": printable(str(planned.target.address)),
        "trouble": _trouble(planned.trouble),
        "changes": [_step(s) for s in plan.steps] if plan else [],
        "conflicts": [_conflict(c) for c in plan.conflicts] if plan else [],
        "unchanged": plan.unchanged if plan else 0,
        "recover": plan.recover if plan else False,
    }
    if applied is not None:
        told["applied"] = {"changed": applied.changed, "trouble": _trouble(applied.trouble)}
    return told


def _step(step: Step) -> dict[str, object]:
    diff = "\n".join(printable(text) for text in step.diff.splitlines())
    notes = [printable(n) for n in step.notes]
    told = {"key": step.key, "change": step.change, "summary": printable(step.summary)}
    return {**told, "diff": diff, "notes": notes}


def _conflict(conflict: Conflict) -> dict[str, object]:
    return {
        "key": conflict.key,
        "path": printable(conflict.path),
        "what": printable(conflict.what),
        "hint": printable(conflict.hint),
        "adoptable": conflict.adoptable,
    }


def _trouble(trouble: FleetError | None) -> dict[str, str] | None:
    if trouble is None:
        return None
    where = printable(trouble.where)
    return {
        "what": printable(trouble.what),
        "where": where,
        "hint": printable(" ".join(trouble.hint.split())),
    }


def _plans(plans: Sequence[Planned], view: View, *, diff: bool, closing: bool) -> Iterator[Text]:
    same: dict[object, list[Planned]] = defaultdict(list)
    for planned in plans:
        same[_signature(planned)].append(planned)
    groups = sorted(same.values(), key=lambda group: not _work(group[0]))
    for group in groups:
        if view.detail is not Detail.QUIET or _work(group[0]) or group[0].plan is None:
            yield from _target(group, view, diff=diff)
    yield from paragraph(_totals(plans), view.cells, indent=0)
    if closing:
        conclusion = conclude_plans(plans)
        yield from paragraph(f"exit {conclusion.code}: {conclusion.reason}", view.cells, 0, "bold")


def _work(planned: Planned) -> bool:
    return bool(planned.plan and (planned.plan.changes or planned.plan.conflicts))


def _signature(planned: Planned) -> object:
    plan = planned.plan
    if plan is None:
        trouble = planned.trouble
        return (trouble.what, trouble.hint) if trouble else None
    told = tuple((s.key, s.change, s.summary, s.diff, s.notes) for s in plan.steps)
    return (told, plan.conflicts, plan.notes, plan.recover, bool(plan.unchanged or told))


def _hint(trouble: FleetError | None, view: View, indent: int) -> Iterator[Text]:
    for text in trouble.hint.splitlines() if trouble else ():
        yield from paragraph(printable(text.strip()), view.cells, indent)


def _target(group: Sequence[Planned], view: View, *, diff: bool) -> Iterator[Text]:
    plan = group[0].plan
    width = view.cells * (3 if view.detail is not Detail.VERBOSE else 10**6)
    who = names([printable(p.target.name) for p in group], width - 8)
    yield from paragraph(f"{who}: {_headline(group[0])}", view.cells, indent=0, style="bold")
    if plan is None:
        trouble = group[0].trouble
        yield from _hint(trouble, view, 4)
    else:
        for note in plan.notes:
            yield from paragraph(printable(note), view.cells, 4, "dim")
        for step in plan.steps:
            yield from _told(step, view, diff=diff)
        for conflict in plan.conflicts:
            yield from _conflicting(conflict, view)
    yield line()


def _headline(planned: Planned) -> str:
    plan = planned.plan
    if plan is None:
        trouble = planned.trouble
        word = "not asked" if isinstance(trouble, TargetError) else "not planned"
        return f"{word}, {printable(trouble.what)}" if trouble else "not asked"
    if plan.recover:
        return "an earlier run was cut off here; it is undone first"
    if not plan.changes and not plan.conflicts:
        return f"nothing to change ({plan.unchanged} as declared)"
    return ", ".join(_amounts(plan.steps, plan.conflicts))


def _amounts(steps: Iterable[Step], conflicts: Sequence[Conflict]) -> Iterator[str]:
    counted: Counter[str] = Counter(step.change for step in steps)
    yield from (f"{counted[change]} to {change}" for change in MARKS if counted[change])
    if conflicts:
        yield count(len(conflicts), "conflict")


def _told(step: Step, view: View, *, diff: bool) -> Iterator[Text]:
    mark, style = MARKS[step.change]
    head, *rest = paragraph(f"{mark} {step.key}: {printable(step.summary)}", view.cells)
    head.stylize(style, 2, 3)
    yield from [head, *rest]
    for note in step.notes:
        yield from paragraph(printable(note), view.cells, 6, "dim")
    if diff and view.detail is not Detail.QUIET and not _plain_link(step):
        yield from _diff(step, view)


def _plain_link(step: Step) -> bool:
    """Whether the summary tells all: a new link, and the folders for it."""
    links = all(isinstance(action, PutLink | MakeFolder) for action in step.actions)
    return step.change == "create" and bool(step.actions) and links


def _diff(step: Step, view: View) -> Iterator[Text]:
    """Show a difference; long lines are cut where not everything is asked for."""
    whole, room = view.detail is Detail.VERBOSE, view.cells - 6
    lines = [printable(t).replace("\\t", "    ") for t in step.diff.splitlines()]
    most = LONGEST_DIFF[step.change]
    shown = lines if whole or len(lines) <= most + SLACK else lines[:most]
    for told in shown:
        style = DIFF_STYLES.get(told[:1], "dim")
        pieces = chop_cells(told, room) or [""]
        if len(pieces) > 1 and not whole:
            pieces = [chop_cells(told, room - 1)[0] + "…"]
        yield from (line("      ", (piece, style)) for piece in pieces)
    if len(lines) > len(shown):
        yield line((f"      … {len(lines) - most} more lines (--verbose shows all)", "dim"))


def _conflicting(conflict: Conflict, view: View) -> Iterator[Text]:
    text = f"! {conflict.key}: {printable(conflict.path)}: {printable(conflict.what)}"
    yield from paragraph(text, view.cells, style="bold red")
    yield from paragraph(printable(conflict.hint), view.cells, 6)


def _totals(plans: Sequence[Planned]) -> str:
    made = [p.plan for p in plans if p.plan]
    steps = [step for plan in made for step in plan.steps]
    conflicts = [conflict for plan in made for conflict in plan.conflicts]
    parts = list(_amounts(steps, conflicts)) or ["nothing to change"]
    working = sum(1 for p in plans if _work(p))
    if working:
        all_of = working == len(plans)
        parts.append(f"on {'' if all_of else f'{working} of '}{count(len(plans), 'target')}")
    if len(made) < len(plans):
        parts.append(f"{len(plans) - len(made)} without a plan")
    return ", ".join(parts).replace(", on ", " on ")


def _applied(applied: Sequence[Applied], view: View) -> Iterator[Text]:
    for one in applied:
        trouble, who = one.trouble, printable(one.target.name)
        if trouble is None:
            if view.detail is not Detail.QUIET:
                done = (
                    count(one.changed, "change") + " made" if one.changed else "nothing to change"
                )
                yield line((who, "bold"), "   ", (done, "green"))
            for note in one.notes:
                yield from paragraph(printable(note), view.cells, 2, "dim")
            continue
        word = "UNREACHABLE" if isinstance(trouble, Unreachable) else "NOT CHANGED"
        yield from paragraph(
            f"{who}   {word}   {printable(trouble.what)}", view.cells, 0, "bold red"
        )
        yield from _hint(trouble, view, 2)
