"""Groups inside of groups: who is in what, and in which order groups speak."""

from collections.abc import Iterator, Mapping
from functools import cached_property

from fleet.inventory.draft import ALL, UNGROUPED, Draft, GroupDraft
from fleet.inventory.problems import did_you_mean


class Graph:
    """The groups of a draft.

    Groups nearer to the root speak first; among those equally near, Ansible's
    ``ansible_group_priority`` decides, then the name.
    """

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._groups = draft.groups
        draft.group(ALL, None)
        self._paths: dict[frozenset[str], tuple[GroupDraft, ...]] = {}

    def check(self) -> None:
        """Note unknown groups, and circles with every group of them named."""
        problems = self._draft.problems
        for group in self._groups.values():
            for child, place in group.groups.items():
                if child not in self._groups:
                    hint = did_you_mean(child, self._groups, kind="groups")
                    problems.add(f"there is no group `{child}`", place, hint)
        circle = self._circle()
        if circle:
            place = self._groups[circle[0]].groups[circle[1]]
            told = " → ".join(circle)
            problems.add(f"groups contain one another in a circle: {told}", place)
        problems.settle()

    def path(self, target: str) -> tuple[GroupDraft, ...]:
        """Return the groups a target is in, outermost first, beginning with ``all``."""
        direct = self._direct.get(target, frozenset())
        if direct not in self._paths:
            found = {ALL}
            waiting = list(direct)
            while waiting:
                name = waiting.pop()
                if name not in found:
                    found.add(name)
                    waiting += self._parents.get(name, ())
            ordered = sorted(found, key=lambda name: (self._depths[name], *self._rank(name)))
            self._paths[direct] = tuple(self._groups[name] for name in ordered)
        return self._paths[direct]

    def members(self) -> Mapping[str, tuple[str, ...]]:
        """Return the targets in each group, in the inventory's order."""
        found: dict[str, list[str]] = {name: [] for name in self._groups}
        for target in self._draft.targets:
            for group in self.path(target):
                found[group.name].append(target)
        return {name: tuple(targets) for name, targets in found.items() if name != UNGROUPED}

    @cached_property
    def _direct(self) -> Mapping[str, frozenset[str]]:
        found: dict[str, set[str]] = {}
        for group in self._groups.values():
            for target in group.targets:
                found.setdefault(target, set()).add(group.name)
        return {target: frozenset(groups) for target, groups in found.items()}

    @cached_property
    def _parents(self) -> Mapping[str, tuple[str, ...]]:
        found: dict[str, list[str]] = {}
        for group in self._groups.values():
            for child in group.groups:
                found.setdefault(child, []).append(group.name)
        return {child: tuple(parents) for child, parents in found.items()}

    @cached_property
    def _depths(self) -> Mapping[str, int]:
        """Return each group's longest way from the root; there are no circles any more."""
        depths: dict[str, int] = {ALL: 0}
        for name in self._outermost_first():
            above = [depths[parent] for parent in self._parents.get(name, ())]
            depths[name] = 0 if name == ALL else 1 + max(above, default=0)
        return depths

    def _outermost_first(self) -> Iterator[str]:
        awaited = {name: len(self._parents.get(name, ())) for name in self._groups}
        ready = [name for name, count in awaited.items() if count == 0]
        while ready:
            name = ready.pop()
            yield name
            for child in self._groups[name].groups:
                awaited[child] -= 1
                if awaited[child] == 0:
                    ready.append(child)

    def _rank(self, name: str) -> tuple[int, str]:
        group = self._groups[name]
        setting = group.further.get("ansible_group_priority") or group.settings.get(
            "ansible_group_priority"
        )
        value = setting.value if setting else 1
        return (value if isinstance(value, int) else 1, name)

    def _circle(self) -> list[str]:
        """Return the names around a circle, the first one again at its end; empty without one."""
        reachable = set(self._outermost_first())
        left = [name for name in self._groups if name not in reachable]
        if not left:
            return []
        # Every group that is left has a parent that is left: going up must come round.
        trail = [left[0]]
        while True:
            parent = next(p for p in self._parents[trail[-1]] if p not in reachable)
            if parent in trail:
                return [parent, *reversed(trail[trail.index(parent) :])]
            trail.append(parent)
