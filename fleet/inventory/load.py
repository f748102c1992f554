"""Loading: a file or a folder, in fleet's form or Ansible's, to one inventory."""

import re
from collections.abc import Mapping
from pathlib import Path

from fleet.errors import InventoryError, Place
from fleet.inventory.ansible_ini import read_ini
from fleet.inventory.ansible_yaml import is_ansible, read_ansible_yaml
from fleet.inventory.assemble import Assembly
from fleet.inventory.beside import read_beside
from fleet.inventory.draft import Draft
from fleet.inventory.files import read_text
from fleet.inventory.inventory import Inventory
from fleet.inventory.known import Known
from fleet.inventory.model import Value
from fleet.inventory.native import read_native
from fleet.inventory.nodes import MapNode, Node, ScalarNode
from fleet.inventory.yaml import parse

YAML_ENDINGS = (".yml", ".yaml", ".json")
_ENDINGS = (*YAML_ENDINGS, ".ini")
_LOOKS_LIKE_YAML = re.compile(r"(---|[{\"']|[^\s\[#;:][^\s:]*:(\s|$))")


def load_inventory(
    path: Path | str,
    *,
    overrides: Mapping[str, Value] | None = None,
    known: Known | None = None,
) -> Inventory:
    """Load an inventory: a file, or a folder of them taken together.

    Variables win in this order, the later over the earlier: defaults of the systems, groups from
    the outermost to the innermost, the target, ``overrides`` (the command line). Names of systems
    and capabilities are checked only against ``known``. No target is asked and no secret fetched.

    Raises:
        InventoryError: something is wrong with it; one for each mistake, with file, line and
            column, all of them in :class:`fleet.inventory.problems.InventoryProblems`.
    """
    draft = Draft()
    files = _files(Path(path))
    for file in files:
        try:
            _read(file, draft)
        except InventoryError as error:
            draft.problems.take(error)
    draft.problems.settle()
    read_beside(_folders(Path(path)), draft)
    return Assembly(draft, overrides or {}, known).inventory()


def _files(path: Path) -> list[Path]:
    try:
        if not path.is_dir():
            return [path]
        found = sorted(
            file
            for file in path.iterdir()
            if not file.name.startswith(".")
            and (file.suffix in _ENDINGS or file.name == "hosts")
            and not file.is_dir()
        )
    except (OSError, ValueError) as error:
        raise InventoryError(f"cannot be read: {_reason(error)}", place=Place(str(path))) from error
    if not found:
        raise InventoryError(
            "there is no inventory in this folder",
            place=Place(str(path)),
            hint="it would be a file such as fleet.yml; `fleet init` writes one",
        )
    return found


def _folders(path: Path) -> list[Path]:
    return [path if path.is_dir() else path.parent]


def _reason(error: Exception) -> str:
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)


def _read(file: Path, draft: Draft) -> None:
    name = str(file)
    text = read_text(file)
    draft.sources.append(name)
    if _is_ini(file, text):
        read_ini(text, name, draft)
        return
    root = parse(text, name)
    if isinstance(root, ScalarNode) and root.value is None:
        return
    if not isinstance(root, MapNode):
        raise _no_mapping(root)
    if "plugin" in root.pairs:
        raise InventoryError(
            "this is the configuration of an Ansible inventory plugin, which is not run here",
            place=root.pairs["plugin"].place,
            hint="use what it finds: ansible-inventory --list --yaml --output fleet.yml",
        )
    if is_ansible(root):
        read_ansible_yaml(root, draft)
    else:
        read_native(root, draft)


def _is_ini(file: Path, text: str) -> bool:
    if file.suffix in _ENDINGS:
        return file.suffix == ".ini"
    if text.startswith("#!"):
        raise InventoryError(
            "this is a program, and inventories are not run",
            place=Place(str(file), 1, 1),
            hint="save what it prints, with ansible-inventory --list --yaml",
        )
    lines = (line for line in text.splitlines() if line.strip() and line.strip()[0] not in "#;")
    return not _LOOKS_LIKE_YAML.match(next(lines, ""))


def _no_mapping(root: Node) -> InventoryError:
    return InventoryError(
        f"an inventory is a mapping, and this is {root.kind}",
        place=root.place,
        hint="its keys are hosts, containers, images, groups, vars, ...",
    )
