"""From what the files say to targets: precedence, rendering, names that must be known."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from fleet.errors import InventoryError, Place
from fleet.inventory.address import default_launches
from fleet.inventory.ansible_terms import NEEDED, Terms
from fleet.inventory.draft import ALL, UNGROUPED, Draft, GroupDraft, Setting, TargetDraft, united
from fleet.inventory.graph import Graph
from fleet.inventory.inventory import Inventory, Origin
from fleet.inventory.known import Known, NameCheck
from fleet.inventory.model import IMPLIED, Target, Value
from fleet.inventory.reach import reach
from fleet.inventory.variables import Fault, Rendering
from fleet.inventory.waivers import settled

_IMPLIED = (ALL, UNGROUPED)

Layer: TypeAlias = dict[str, tuple[Setting, Origin]]


class Assembly:
    """Makes an inventory of a draft."""

    def __init__(self, draft: Draft, overrides: Mapping[str, Value], known: Known | None) -> None:
        self._draft = draft
        self._problems = draft.problems
        self._known = known
        self._graph = Graph(draft)
        self._names = NameCheck(draft, known)
        command_line = Origin("command line", None)
        self._overrides: Layer = {
            name: (Setting(value, None), command_line) for name, value in overrides.items()
        }
        self._origins: dict[str, Mapping[str, Origin]] = {}
        self._layers: dict[tuple[str, ...], Layer] = {}
        self._notes = dict.fromkeys(draft.notes)
        self._faulty: dict[Fault, list[str]] = {}

    def inventory(self) -> Inventory:
        """Return the inventory.

        Raises:
            InventoryError: something in it cannot be meant; all mistakes are told at once.
        """
        self._problems.settle()
        self._graph.check()
        if not self._draft.targets:
            self._refuse_empty()
        self._draft.targets = {target.name: target for target in self._in_order()}
        self._names.check_gates()
        self._check_group_names()
        targets = [t for t in map(self._target, self._draft.targets.values()) if t is not None]
        self._tell_faults()
        self._problems.settle()
        self._note_idle(targets)
        inventory = Inventory(
            targets=tuple(targets),
            gates=tuple((g.system, g.gate) for g in self._draft.gates),
            groups=self._graph.members(),
            origins=self._origins,
            sources=tuple(self._draft.sources),
            notes=tuple(self._notes),
        )
        waivers = settled(self._draft, inventory, self._known)
        self._problems.settle()
        return replace(inventory, waivers=waivers)

    def _refuse_empty(self) -> None:
        source = self._draft.sources[0] if self._draft.sources else "the inventory"
        raise InventoryError(
            "there is no target in it",
            place=Place(source),
            hint="name one under `hosts:`, `containers:` or `images:`",
        )

    def _target(self, draft: TargetDraft) -> Target | None:
        path = self._graph.path(draft.name)
        layer = self._layer(path, draft)
        rendering = Rendering(
            {name: setting for name, (setting, _) in layer.items()}, self._told(draft, path, layer)
        )
        variables = rendering.all()
        terms = Terms(variables, lambda name: layer[name][0].place if name in layer else None)
        try:
            target = self._made(draft, path, terms, rendering)
        except InventoryError as error:
            self._problems.take(error)
            target = None
        for fault in rendering.faults.values():
            self._faulty.setdefault(fault, []).append(draft.name)
        self._origins[draft.name] = {
            name: origin for name, (_, origin) in layer.items() if name in variables
        }
        return target

    def _made(
        self,
        draft: TargetDraft,
        path: Sequence[GroupDraft],
        terms: Terms,
        rendering: Rendering,
    ) -> Target | None:
        reached = reach(draft, terms, rendering)
        further = terms.named("fleet_systems"), terms.named("fleet_require")
        launches = draft.launches or terms.shells()
        if reached is None:
            return None
        if draft.address is None:
            self._notes |= dict.fromkeys(terms.notes(draft.name))
        systems = united([*(g.systems for g in path), draft.systems, further[0]])
        require = united([*(g.require for g in path), draft.require, further[1]])
        brought = IMPLIED.get(reached.address.scheme.kind, ())
        self._names.check_target(draft.name, systems, require, brought)
        return Target(
            name=draft.name,
            address=reached.address,
            systems=tuple(named.name for named in systems),
            require=tuple(named.name for named in require),
            variables=rendering.all(),
            groups=tuple(group.name for group in path if group.name not in _IMPLIED),
            launches=launches or default_launches(reached.address),
            become=reached.become,
            identity=reached.identity,
            place=draft.place,
        )

    def _check_group_names(self) -> None:
        for name in self._draft.groups.keys() & self._draft.targets.keys():
            target = self._draft.targets[name]
            what = f"`{name}` is a group and a target"
            if self._draft.ansible:
                self._notes[f"{target.place}: {what}; as a pattern it means the target"] = None
            else:
                self._problems.add(what, target.place, "a pattern could not tell them apart")

    def _in_order(self) -> list[TargetDraft]:
        files = {file: index for index, file in enumerate(self._draft.sources)}
        return sorted(
            self._draft.targets.values(),
            key=lambda t: (files.get(t.place.file, 0), t.place.line, t.place.column),
        )

    def _tell_faults(self) -> None:
        """Tell variables without a value, each once.

        Ansible lets a variable stay undefined until it is used, so in its inventories only what
        is needed here is a mistake, and the rest is left out with a note.
        """
        for fault, targets in self._faulty.items():
            if fault.follows and fault.name not in NEEDED:
                continue
            rest = f" and {len(targets) - 1} more" if len(targets) > 1 else ""
            of = "" if fault.name == str(fault.place) else f" in `{fault.name}`"
            what = f"{fault.what}{of}, for `{targets[0]}`{rest}"
            if self._draft.ansible and not fault.is_circle and fault.name not in NEEDED:
                self._notes[f"{fault.place}: `{fault.name}` is left out: {what}"] = None
            else:
                self._problems.add(what, fault.place, fault.hint)

    def _layer(self, path: Sequence[GroupDraft], draft: TargetDraft) -> Layer:
        """Return the last word on every variable of a target, and who has it."""
        names = tuple(group.name for group in path)
        if names not in self._layers:
            self._layers[names] = dict(self._group_layer(path))
        if not draft.settings and not draft.further and not self._overrides:
            return self._layers[names]
        return {
            **self._layers[names],
            **_layer(draft.settings, "target"),
            **_layer(draft.further, "target"),
            **self._overrides,
        }

    def _group_layer(
        self, path: Sequence[GroupDraft]
    ) -> Iterator[tuple[str, tuple[Setting, Origin]]]:
        both = [(g.settings, g) for g in path], [(g.further, g) for g in path]
        if self._draft.ansible:  # every group_vars file speaks after every inventory file
            ordered = [*both[0], *both[1]]
        else:
            ordered = [pair for pairs in zip(*both, strict=True) for pair in pairs]
        for settings, group in ordered:
            level = "all targets" if group.name == ALL else f"group {group.name}"
            yield from _layer(settings, level).items()

    def _told(
        self, draft: TargetDraft, path: Sequence[GroupDraft], layer: Layer
    ) -> dict[str, Value]:
        """Return what a variable may refer to without its being in the inventory."""
        told: dict[str, Value] = {}
        if self._known:
            for systems in (*(g.systems for g in path), draft.systems):
                for named in systems:
                    told |= self._known.defaults.get(named.name, {})
            if "fleet_systems" in layer:
                for defaults in self._known.defaults.values():
                    told = {**defaults, **told}
        own: dict[str, Value] = {
            "target_name": draft.name,
            "inventory_hostname": draft.name,
            "inventory_hostname_short": draft.name.partition(".")[0],
            "group_names": [*sorted(group.name for group in path if group.name not in _IMPLIED)],
        }
        return {**told, **own}

    def _note_idle(self, targets: Sequence[Target]) -> None:
        idle = [target.name for target in targets if not target.systems]
        if idle:
            told = ", ".join(idle[:5]) + (", ..." if len(idle) > len(idle[:5]) else "")
            self._notes[f"{len(idle)} of {len(targets)} have no systems: {told}"] = None


def _layer(settings: Mapping[str, Setting], level: str) -> Layer:
    return {name: (setting, Origin(level, setting.place)) for name, setting in settings.items()}
