"""The short forms of a compose file, taken apart as compose does."""

import shlex
from collections.abc import Mapping
from typing import TypeAlias

from fleet.dataclass import dataclass

Plain: TypeAlias = "str | bool | list[Plain] | dict[str, Plain] | None"


@dataclass(frozen=True, slots=True)
class Port:
    """A published port; ``address`` empty means every interface, ``published`` empty any port."""

    target: str
    published: str = ""
    address: str = ""
    protocol: str = "tcp"


@dataclass(frozen=True, slots=True)
class Volume:
    """A mount; ``source`` empty means an unnamed volume, ``mode`` is as written (``ro``)."""

    target: str
    source: str = ""
    mode: str = ""


@dataclass(frozen=True, slots=True)
class EnvFile:
    """A file of variables that a service reads."""

    path: str
    required: bool = True


def port(value: Plain) -> Port | None:
    """Read one entry of ``ports``; None when it is none.

    ``[ADDRESS:][PUBLISHED:]TARGET[/PROTOCOL]``, an IPv6 address in brackets, or the long form.
    """
    if isinstance(value, dict):
        target = word(value.get("target"))
        published, address = word(value.get("published")), word(value.get("host_ip"))
        return Port(target, published, address, word(value.get("protocol")) or "tcp")
    if not isinstance(value, str) or not value:
        return None
    text, _, protocol = value.partition("/")
    *before, target = text.rsplit(":", 2)
    published = before[-1] if before else ""
    address = before[0] if len(before) > 1 else ""
    if not _is_port(target) or not (published == "" or _is_port(published)):
        return None
    return Port(target, published, address.strip("[]"), protocol or "tcp")


def _is_port(text: str) -> bool:
    return bool(text) and all(part.isdecimal() for part in text.split("-", 1))


def volume(value: Plain) -> Volume | None:
    """Read one entry of ``volumes``; None when it is none.

    ``[SOURCE:]TARGET[:MODE]``, either of them with a Windows drive letter, or the long form.
    """
    if isinstance(value, dict):
        mode = "ro" if value.get("read_only") is True else ""
        return Volume(word(value.get("target")), word(value.get("source")), mode)
    if not isinstance(value, str) or not value:
        return None
    fields = _fields(value)
    if len(fields) == 1:
        return Volume(fields[0])
    source, target, *modes = fields
    return Volume(target, source, ":".join(modes)) if source and target else None


def _fields(text: str) -> list[str]:
    """Split at colons, but not after a drive letter."""
    fields = [""]
    for char in text:
        drive = len(fields[-1]) == 1 and fields[-1].isalpha()
        if char == ":" and not drive:
            fields.append("")
        else:
            fields[-1] += char
    return fields


def env_files(value: Plain) -> list[EnvFile]:
    """Read ``env_file``: a path, or a list of paths and of ``{path, required}``."""
    found = []
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, str) and item:
            found.append(EnvFile(item))
        elif isinstance(item, dict) and word(item.get("path")):
            found.append(EnvFile(word(item.get("path")), item.get("required") is not False))
    return found


def variables(value: Plain) -> dict[str, str | None]:
    """Read ``environment``, a mapping or a list; None stands for the value of whoever starts it."""
    if isinstance(value, dict):
        return {name: None if text is None else word(text) for name, text in value.items()}
    found: dict[str, str | None] = {}
    for item in value if isinstance(value, list) else []:
        name, equals, text = word(item).partition("=")
        found[name] = text if equals else None
    return found


def names(value: Plain) -> tuple[str, ...]:
    """Read a list of names, or the keys of a mapping (``depends_on``, ``profiles``)."""
    if isinstance(value, Mapping):
        return tuple(value)
    items = value if isinstance(value, list) else []
    return tuple(word(i.get("source") if isinstance(i, dict) else i) for i in items)


def command(value: Plain) -> tuple[str, ...]:
    """Read ``command`` or ``entrypoint``: words, or a line that compose splits as a shell does."""
    if isinstance(value, list):
        return tuple(word(item) for item in value)
    try:
        return tuple(shlex.split(value)) if isinstance(value, str) else ()
    except ValueError:
        return (value,) if isinstance(value, str) else ()


def word(value: Plain) -> str:
    """Return a scalar as compose hands it on; empty for what is none."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else ""
