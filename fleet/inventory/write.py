"""One target as the lines of an inventory, such that loading them gives it back."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from fleet.inventory.address import default_launches
from fleet.inventory.model import Address, Kind, Scheme, SecretRef, Target, Value
from fleet.inventory.scalars import plain_scalar
from fleet.inventory.schema import check_name

_PLAIN = re.compile(r"[A-Za-z~./][A-Za-z0-9~./_@+-]*( [A-Za-z0-9~./_@+-]+)*")
_KEYS = {Kind.HOST: "hosts", Kind.CONTAINER: "containers", Kind.IMAGE: "images"}
_FILES = (Scheme.ROOTFS, Scheme.OCI, Scheme.OCI_ARCHIVE, Scheme.DOCKER_ARCHIVE)
_UNFIT = re.compile(r"[^A-Za-z0-9_.:@/-]+")


def written(target: Target, notes: Mapping[str, str], head: tuple[str, ...] = ()) -> str:
    """Return YAML that describes a target.

    Args:
        target: its variables may hold references to secrets, never their values.
        notes: comments by key (``shell``, ``systems``, ``require``) or variable; one line each.
        head: comments above.
    """
    return "\n".join([*(f"# {line}" for line in head), *_lines(target, notes)]) + "\n"


def suggested_name(address: Address) -> str:
    """Return a name for a target that has none but its address."""
    if address.scheme is Scheme.LOCAL:
        return _fit(Path(address.name).name) if address.name else "here"
    if address.scheme in (Scheme.DOCKER_DAEMON, Scheme.DOCKER):
        return _fit(address.name.rpartition("/")[2])
    return _fit(Path(address.name).name if address.scheme in _FILES else address.name)


def can_be_written(value: Value) -> bool:
    """Tell whether a value means itself in an inventory: a text with ``{{`` would be rendered."""
    if isinstance(value, str):
        return "{{" not in value and "{%" not in value and value.isprintable()
    if isinstance(value, list):
        return all(can_be_written(item) for item in value)
    if isinstance(value, dict):
        return all(can_be_written(item) for pair in value.items() for item in pair)
    return True


def _fit(text: str) -> str:
    name = _UNFIT.sub("-", text).strip("-/")
    try:
        check_name(name)
    except ValueError:
        return "target"
    return name


def _lines(target: Target, notes: Mapping[str, str]) -> Iterator[str]:
    yield f"{_KEYS[target.kind]}:"
    yield f"  {_text(target.name)}:"
    yield from (f"    {line}" for line in _address(target))
    if target.launches != default_launches(target.address):
        yield f"    shell: {_list(target.launches)}{_note(notes, 'shell')}"
    yield f"    systems: {_list(target.systems)}{_note(notes, 'systems')}"
    if target.require:
        yield f"    require: {_list(target.require)}{_note(notes, 'require')}"
    if target.variables:
        yield "    vars:"
    for name, value in target.variables.items():
        yield f"      {name}: {_value(value)}{_note(notes, name)}"


def _address(target: Target) -> Iterator[str]:
    address = target.address
    if address.scheme is Scheme.SSH:
        yield f"ssh: {_text(str(address))}"
    elif address.scheme is Scheme.LOCAL:
        yield f"local: {_text(str(Path(address.name).absolute())) if address.name else ''}".rstrip()
    elif address.scheme is Scheme.CONTAINER:
        yield f"container: {_text(address.name)}"
    else:
        file = address.scheme in _FILES
        absolute = replace(address, name=str(Path(address.name).absolute()))
        yield f"image: {_text(str(absolute if file else address))}"
    if target.become is not None:
        yield f"become: {_text(target.become.user)}"
    if target.identity:
        yield f"identity: {_text(target.identity)}"


def _note(notes: Mapping[str, str], key: str) -> str:
    text = " ".join(c for c in notes.get(key, "").split() if c.isprintable())
    return f"  # {text}" if text else ""


def _list(items: tuple[str, ...]) -> str:
    return f"[{', '.join(_text(item) for item in items)}]"


def _value(value: Value) -> str:
    if isinstance(value, SecretRef):
        return f"!secret {_text(f'{value.source}:{value.argument}')}"
    if isinstance(value, list):
        return f"[{', '.join(_value(item) for item in value)}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_text(k)}: {_value(v)}" for k, v in value.items()) + "}"
    return _text(value) if isinstance(value, str) else json.dumps(value)


def _text(text: str) -> str:
    """Spell a text as YAML: plain where it stays a text, else in double quotes."""
    if _PLAIN.fullmatch(text) and plain_scalar(text) == text:
        return text
    return json.dumps(text, ensure_ascii=False)
