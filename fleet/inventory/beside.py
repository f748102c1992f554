"""Variables in files beside an inventory: ``group_vars/NAME`` and ``host_vars/NAME``.

``NAME`` is a file with or without an ending, or a folder of files, as Ansible has it.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from fleet.errors import InventoryError, Place
from fleet.inventory.draft import ALL, UNGROUPED, Draft, Setting
from fleet.inventory.files import read_text
from fleet.inventory.nodes import MapNode, ScalarNode
from fleet.inventory.problems import nearest
from fleet.inventory.yaml import parse

_ENDINGS = ("", ".yml", ".yaml", ".json")


def read_beside(folders: Iterable[Path], draft: Draft) -> None:
    """Take in the variables of groups and targets that the draft has; mistakes are noted there."""
    draft.group(ALL, None)
    for folder in folders:
        groups = {name: group.further for name, group in draft.groups.items()}
        _read(folder / "group_vars", {**groups, UNGROUPED: {}} | groups, "group", draft)
        targets = {name: target.further for name, target in draft.targets.items()}
        _read(folder / "host_vars", targets, "target", draft)


def _read(folder: Path, held: Mapping[str, dict[str, Setting]], kind: str, draft: Draft) -> None:
    try:
        entries = sorted(folder.iterdir()) if folder.is_dir() else []
    except OSError as error:
        reason = error.strerror or str(error)
        draft.problems.add(f"cannot be read: {reason}", Place(str(folder)))
        return
    for entry in entries:
        if entry.name.startswith(".") or entry.name.endswith("~"):
            continue
        name = _name(entry, held)
        if name is None:
            draft.notes.append(_stray(entry, held, kind))
            continue
        for file in _files(entry):
            try:
                held[name].update(_settings(file))
            except InventoryError as error:
                draft.problems.take(error)
                continue
            draft.sources.append(str(file))


def _name(entry: Path, held: Mapping[str, object]) -> str | None:
    if entry.name in held:
        return entry.name
    return entry.stem if entry.suffix in _ENDINGS and entry.stem in held else None


def _stray(entry: Path, held: Iterable[str], kind: str) -> str:
    close = nearest(entry.stem, held)
    return f"{entry} is of no {kind} here" + (f"; did you mean {close}?" if close else "")


def _files(entry: Path) -> Iterator[Path]:
    if not entry.is_dir():
        yield entry
        return
    for file in sorted(entry.rglob("*")):
        hidden = any(part.startswith(".") for part in file.relative_to(entry).parts)
        if file.suffix in _ENDINGS and not hidden and not file.is_dir():
            yield file


def _settings(file: Path) -> Iterator[tuple[str, Setting]]:
    root = parse(read_text(file), str(file))
    if isinstance(root, ScalarNode) and root.value is None:
        return
    if not isinstance(root, MapNode):
        raise InventoryError(f"variables are a mapping, and this is {root.kind}", place=root.place)
    for name, pair in root.pairs.items():
        yield name, Setting(pair.value.data(), pair.place)
