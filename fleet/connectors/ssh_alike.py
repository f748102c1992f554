"""Hosts that an ssh configuration cannot tell apart: ``ssh -G`` is run for one of them.

A program started for every host costs more than all else that is done to log in. What ``ssh -G``
answers depends on the ``Host`` lines that a name matches, so hosts that match the same ones get the
same answer, with another name in it. Where anything else could tell them apart, each is asked for.
"""

import os
import pwd
import re
import threading
from collections.abc import Iterator, Mapping
from dataclasses import field
from ipaddress import ip_address
from pathlib import Path

from fleet.connectors.known_hosts import like
from fleet.dataclass import dataclass
from fleet.inventory.model import Address

Options = dict[str, list[str]]
_SYSTEM = Path("/etc/ssh")
_MOST_FILES = 64
_MOST_HELD = 256
_LINE = re.compile(r"\s*(?P<keyword>[A-Za-z0-9]+)(?:\s*=\s*|\s+|$)(?P<rest>.*?)\s*")
# Lower case and plain: how ssh spells a name elsewhere in its answer is then beyond doubt.
_NAME = re.compile(r"[a-z0-9][a-z0-9.:_-]*")
_PATTERN = re.compile(r"!?[a-z0-9.:_*?-]+")
_Status = tuple[str, int, int, int, int]


class _TellsApartError(Exception):
    """Something else than ``Host`` may tell hosts apart."""


@dataclass(slots=True)
class _Read:
    """What was read of the files: the ``Host`` lines, and what shows that a file changed."""

    hosts: list[tuple[str, ...]] = field(default_factory=list)
    statuses: list[_Status] = field(default_factory=list)


class Alike:
    """What ``ssh -G`` answered in this process, for the hosts that it answers alike for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._read: dict[str | None, tuple[_Read, bool]] = {}
        self._held: dict[object, tuple[str, Options]] = {}

    def recall(self, address: Address, config: str | None) -> Options | None:
        """Return what ``ssh -G`` would answer, where that is known from another host."""
        kind = self._kind(address, config)
        with self._lock:
            held = self._held.get(kind) if kind else None
        return _renamed(held[1], held[0], address.name) if held else None

    def remember(self, address: Address, config: str | None, options: Options) -> None:
        """Keep an answer for hosts that are alike."""
        kind = self._kind(address, config)
        if kind is None or _renamed(options, address.name, "x") is None:
            return
        with self._lock:
            if len(self._held) >= _MOST_HELD:
                self._held.clear()
            self._held[kind] = (address.name, options)

    def _kind(self, address: Address, config: str | None) -> object | None:
        """Return what hosts have in common that are alike; None where this cannot be told."""
        if not _NAME.fullmatch(address.name) or _spelled_otherwise(address.name):
            return None
        with self._lock:
            read = self._files(config)
        if read is None:
            return None
        matched = tuple(_matches(patterns, address.name) for patterns in read.hosts)
        environment = frozenset(os.environ.items())
        return (config, address.user, address.port, matched, tuple(read.statuses), environment)

    def _files(self, config: str | None) -> _Read | None:
        held = self._read.get(config)
        if held is None or any(_status(Path(s[0])) != s for s in held[0].statuses):
            held = self._read[config] = _read(config)
        read, plain = held
        return read if plain else None


def _read(config: str | None) -> tuple[_Read, bool]:
    """Read the files that ssh would read; whether nothing but ``Host`` tells hosts apart."""
    read = _Read()
    own = Path(pwd.getpwuid(os.getuid()).pw_dir) / ".ssh"
    starts = [(Path(config), own)] if config else [(own / "config", own)]
    starts += [] if config else [(_SYSTEM / "ssh_config", _SYSTEM)]
    try:
        for file, base in starts:
            _read_file(file, base, read)
    except _TellsApartError:
        return read, False
    return read, True


def _read_file(file: Path, base: Path, read: _Read) -> None:
    read.statuses.append(_status(file))
    if len(read.statuses) > _MOST_FILES:
        raise _TellsApartError
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return
    except (OSError, UnicodeDecodeError):
        raise _TellsApartError from None
    for line in text.splitlines():
        if line.strip() and not line.lstrip().startswith("#"):
            _read_line(line, base, read)


def _read_line(line: str, base: Path, read: _Read) -> None:
    found = _LINE.fullmatch(line)
    if found is None:
        raise _TellsApartError
    keyword, rest = found["keyword"].lower(), found["rest"]
    if keyword == "host":
        patterns = tuple(rest.split())
        if not patterns or not all(_PATTERN.fullmatch(pattern) for pattern in patterns):
            raise _TellsApartError
        read.hosts.append(patterns)
    elif keyword == "include":
        for file in _included(rest, base, read):
            _read_file(file, base, read)
    # A token may stand for the host. Where connections are shared is nothing that is asked for.
    elif keyword in ("match", "canonicalizehostname") or ("%" in rest and keyword != "controlpath"):
        raise _TellsApartError


def _included(rest: str, base: Path, read: _Read) -> Iterator[Path]:
    if re.search(r"[\"'%$#\\]", rest):
        raise _TellsApartError
    for word in rest.split():
        pattern = base / Path(word).expanduser()
        if re.search(r"[*?\[]", str(pattern.parent)):
            raise _TellsApartError
        read.statuses.append(_status(pattern.parent))
        yield from sorted(pattern.parent.glob(pattern.name))


def _spelled_otherwise(name: str) -> bool:
    """Tell whether a name is an address that ssh would spell otherwise, or might be one."""
    if ":" not in name and not re.search(r"(^|\.)(0x[0-9a-f]*|[0-9]+)$", name):
        return False
    try:
        return str(ip_address(name)) != name
    except ValueError:
        return True


def _status(path: Path) -> _Status:
    try:
        found = path.stat()
    except OSError:
        return (str(path), 0, 0, 0, 0)
    return (str(path), found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)


def _matches(patterns: tuple[str, ...], name: str) -> bool:
    """Tell whether a ``Host`` line means a name; a pattern with ``!`` that does says no."""
    if any(p.startswith("!") and like(p[1:], name) for p in patterns):
        return False
    return any(like(p, name) for p in patterns if not p.startswith("!"))


def _renamed(options: Mapping[str, list[str]], one: str, other: str) -> Options | None:
    """Return one host's answer as another's; None where its name stands in more than its name."""
    made: Options = {}
    for name, values in options.items():
        if name in ("host", "hostname"):
            made[name] = [other if value == one else value for value in values]
        elif one != other and name != "controlpath" and any(one in v.lower() for v in values):
            return None
        else:
            made[name] = values
    return made
