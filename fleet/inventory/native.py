"""Inventory files in fleet's own form."""

from collections.abc import Iterable

from fleet.errors import Place
from fleet.inventory.draft import (
    ALL,
    UNGROUPED,
    Draft,
    GroupDraft,
    Named,
    Setting,
    TargetDraft,
    UserGate,
    WaiverDraft,
    WrittenAddress,
)
from fleet.inventory.model import Kind, Scheme
from fleet.inventory.nodes import ListNode, MapNode, Node, Pair
from fleet.inventory.schema import (
    ContainerPart,
    GatePart,
    GroupPart,
    HostPart,
    ImagePart,
    InventoryPart,
)
from fleet.inventory.validate import validated
from fleet.systems.model import Gate

_TARGETS = {"hosts": Kind.HOST, "containers": Kind.CONTAINER, "images": Kind.IMAGE}
_ADDRESSES = {
    Kind.HOST: (Scheme.SSH.value, Scheme.LOCAL.value, Scheme.ROOTFS.value),
    Kind.CONTAINER: (Scheme.CONTAINER.value,),
    Kind.IMAGE: (Kind.IMAGE.value,),
}


def read_native(root: MapNode, draft: Draft) -> None:
    """Take in one file; its mistakes are noted in the draft."""
    draft.ansible = False
    part = validated(root, draft.problems, InventoryPart)
    if part is None:
        return
    _read_group(draft.group(ALL, None), part, root, draft)
    _read_gates(part, root, draft)
    _read_waivers(part, root, draft)


def _read_group(group: GroupDraft, part: GroupPart, node: MapNode, draft: Draft) -> None:
    of = "all targets" if group.name == ALL else f"the group `{group.name}`"
    for name, setting in _settings(node):
        draft.set(group.settings, name, setting, of)
    group.systems += _names(node, "systems")
    group.require += _names(node, "require")
    for key in _TARGETS:
        _read_targets(key, group, part, node, draft)
    children = _map(node, "groups")
    for name, pair in children.items():
        if name in (ALL, UNGROUPED):
            hint = "what holds for every target stands at the top of the file"
            draft.problems.add(f"no group can be named `{name}`", pair.place, hint)
            continue
        child = (part.groups or {})[name]
        group.groups.setdefault(name, pair.place)
        inner = draft.group(name, pair.place)
        if child is not None and isinstance(pair.value, MapNode):
            _read_group(inner, child, pair.value, draft)


def _read_targets(
    key: str, group: GroupDraft, part: GroupPart, node: MapNode, draft: Draft
) -> None:
    parts: dict[str, HostPart | ContainerPart | ImagePart | None] = getattr(part, key) or {}
    for name, pair in _map(node, key).items():
        target = draft.mention(name, _TARGETS[key], pair.place)
        group.targets.setdefault(name, pair.place)
        said, body = parts[name], pair.value
        if said is None or not isinstance(body, MapNode) or not body.pairs:
            continue
        if draft.describe(target, pair.place):
            _read_target(target, said, body, draft)


def _read_target(
    target: TargetDraft, part: HostPart | ContainerPart | ImagePart, node: MapNode, draft: Draft
) -> None:
    target.settings = dict(_settings(node))
    target.systems = list(_names(node, "systems"))
    target.require = list(_names(node, "require"))
    target.launches = part.shell
    if isinstance(part, HostPart):
        target.become, target.identity = part.become, part.identity
    written = [key for key in _ADDRESSES[target.kind] if key in node.pairs]
    if len(written) > 1:
        what = f"`{target.name}` has several addresses: {' and '.join(written)}"
        draft.problems.add(what, node.pairs[written[1]].place, "keep one of them")
    elif written:
        text = getattr(part, written[0])
        place = node.pairs[written[0]].value.place
        if text is None and written[0] != "local":
            draft.problems.add(f"`{written[0]}` says nothing", place)
            return
        target.address = WrittenAddress(written[0], text or "", place)


def _items(root: MapNode, key: str) -> tuple[Node, ...]:
    pair = root.pairs.get(key)
    return pair.value.items if pair and isinstance(pair.value, ListNode) else ()


def _read_waivers(part: InventoryPart, root: MapNode, draft: Draft) -> None:
    for waiver, node in zip(part.waivers or (), _items(root, "waivers"), strict=True):
        where = _place_of(node, "targets")
        draft.waivers.append(
            WaiverDraft(
                gate=Named(waiver.gate, _place_of(node, "gate")),
                targets=tuple(Named(target, where) for target in waiver.targets),
                reason=waiver.reason,
                until=waiver.until,
                place=node.place,
            )
        )


def _read_gates(part: InventoryPart, root: MapNode, draft: Draft) -> None:
    for gate, node in zip(part.gates or (), _items(root, "gates"), strict=True):
        place = _place_of(node, "id")
        if gate.check is not None or gate.marker is None:
            what = f"the gate `{gate.id}` has no `marker`"
            if gate.check is not None:
                what, place = f"the gate `{gate.id}` has a `check`", _place_of(node, "check")
            draft.problems.add(
                what, place, "an inventory's gate is a marker: {in: ARTIFACT, all: [WORD]}"
            )
        elif any(held.gate.id == gate.id for held in draft.gates):
            draft.problems.add(f"there are two gates `{gate.id}`", place)
        else:
            draft.gates.append(UserGate(gate.system, _plain(gate), _place_of(node, "system")))


def _plain(gate: GatePart) -> Gate:
    """Return the gate without the name of its system."""
    return Gate.model_construct(
        gate.model_fields_set - {"system"},
        **{name: getattr(gate, name) for name in Gate.model_fields},
    )


def _place_of(node: Node, key: str) -> Place:
    if isinstance(node, MapNode) and key in node.pairs:
        return node.pairs[key].value.place
    return node.place


def _map(node: MapNode, key: str) -> dict[str, Pair]:
    pair = node.pairs.get(key)
    return pair.value.pairs if pair and isinstance(pair.value, MapNode) else {}


def _settings(node: MapNode) -> Iterable[tuple[str, Setting]]:
    for name, pair in _map(node, "vars").items():
        yield name, Setting(pair.value.data(), pair.place)


def _names(node: MapNode, key: str) -> Iterable[Named]:
    pair = node.pairs.get(key)
    if pair is None:
        return
    items = pair.value.items if isinstance(pair.value, ListNode) else (pair.value,)
    for item in items:
        yield Named(str(item.words()), item.place)
