"""Ansible inventories in YAML: groups with ``hosts``, ``vars`` and ``children``."""

from fleet.errors import Place
from fleet.inventory.draft import ALL, UNGROUPED, Draft, GroupDraft, Setting
from fleet.inventory.model import Kind
from fleet.inventory.nodes import MapNode, Node, Pair, ScalarNode
from fleet.inventory.problems import did_you_mean
from fleet.inventory.ranges import expanded
from fleet.inventory.schema import InventoryPart

KEYS = ("hosts", "vars", "children")


def is_ansible(root: MapNode) -> bool:
    """Tell whether a file has Ansible's form: ``all``, or nothing but groups at its top."""
    own = {field.alias or name for name, field in InventoryPart.model_fields.items()}
    if own & set(root.pairs):
        return False
    if ALL in root.pairs:
        return True
    groups = [pair.value for pair in root.pairs.values()]
    return any(isinstance(group, MapNode) and group.pairs for group in groups) and all(
        _is_null(group) or (isinstance(group, MapNode) and set(group.pairs) <= set(KEYS))
        for group in groups
    )


def read_ansible_yaml(root: MapNode, draft: Draft) -> None:
    """Take in one file; its mistakes are noted in the draft."""
    for name, pair in root.pairs.items():
        _read_group(name, pair, draft)


def _read_group(name: str, pair: Pair, draft: Draft) -> None:
    group = draft.group(name, pair.place)
    if _is_null(pair.value):
        return
    if not isinstance(pair.value, MapNode):
        what = f"the group `{name}` must be a mapping, and this is {pair.value.kind}"
        draft.problems.add(what, pair.value.place)
        return
    for key, said in pair.value.pairs.items():
        if key not in KEYS:
            hint = did_you_mean(key, KEYS, kind="keys of a group")
            draft.problems.add(f"unknown key `{key}` in the group `{name}`", said.place, hint)
        elif _is_null(said.value):
            continue
        elif not isinstance(said.value, MapNode):
            what = f"`{key}` must be a mapping, and this is {said.value.kind}"
            draft.problems.add(what, said.value.place, "write a `:` after each name")
        else:
            _read_part(key, group, said.value, draft)


def _read_part(key: str, group: GroupDraft, node: MapNode, draft: Draft) -> None:
    if key == "vars":
        for name, pair in node.pairs.items():
            group.settings[name] = Setting(pair.value.data(), pair.place)
    elif key == "children":
        for name, pair in node.pairs.items():
            if name != UNGROUPED or group.name != ALL:
                group.groups.setdefault(name, pair.place)
            _read_group(name, pair, draft)
    else:
        for name, pair in node.pairs.items():
            for host in expanded(name, pair.place):
                _read_host(host, group, pair, draft)


def _read_host(name: str, group: GroupDraft, pair: Pair, draft: Draft) -> None:
    group.targets.setdefault(name, pair.place)
    if _is_null(pair.value):
        draft.mention(name, Kind.HOST, pair.place)
    elif isinstance(pair.value, MapNode):
        add_host(name, pair.value, pair.place, draft)
    else:
        what = f"the variables of `{name}` must be a mapping, and this is {pair.value.kind}"
        draft.problems.add(what, pair.value.place)


def add_host(name: str, variables: MapNode, place: Place, draft: Draft) -> None:
    """Note a host's variables; in several groups they add up, the last word winning."""
    target = draft.mention(name, Kind.HOST, place)
    for key, said in variables.pairs.items():
        target.settings[key] = Setting(said.value.data(), said.place)


def _is_null(node: Node) -> bool:
    return isinstance(node, ScalarNode) and node.value is None
