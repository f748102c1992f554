"""Ansible inventories as INI: ``[group]``, ``[group:children]``, ``[group:vars]``, host ranges.

Values are what they are in YAML here, save that ``True``, ``None`` and quoted texts are read as
Ansible does, and that lists and mappings are Python's.
"""

import ast
import re
import shlex
from warnings import catch_warnings

from fleet.errors import InventoryError, Place
from fleet.inventory.draft import ALL, UNGROUPED, Draft, GroupDraft, Setting
from fleet.inventory.model import Kind, Value
from fleet.inventory.problems import did_you_mean
from fleet.inventory.ranges import expanded
from fleet.inventory.scalars import number

LONGEST_LINE = 16 * 1024

_SECTION = re.compile(r"\[([^:\]\s]+)(?::(\w+))?\]\s*(?:[#;].*)?")
_HOST_PORT = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^:]+):(\d{1,5})")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_KINDS = ("children", "vars")
_WORDS: dict[str, Value] = {"True": True, "true": True, "False": False, "false": False}


def read_ini(text: str, file: str, draft: Draft) -> None:
    """Take in one file; its mistakes are noted in the draft."""
    reader = _Reader(file, draft)
    for index, raw in enumerate(text.splitlines(), start=1):
        line = raw.strip()
        if line and line[0] not in "#;":
            place = Place(file, index, len(raw) - len(raw.lstrip()) + 1)
            try:
                reader.take(line, place)
            except InventoryError as error:
                draft.problems.take(error)
    reader.finish()


class _Reader:
    def __init__(self, file: str, draft: Draft) -> None:
        self._draft = draft
        self._group = draft.group(UNGROUPED, Place(file))
        self._kind = ""
        self._meant: dict[str, Place] = {}
        """Groups that a ``:vars`` section or a ``:children`` line names, told nowhere so far."""
        self._told: set[str] = {ALL, UNGROUPED}

    def take(self, line: str, place: Place) -> None:
        """Take one line that is no comment."""
        if len(line) > LONGEST_LINE:
            raise InventoryError(f"the line has more than {LONGEST_LINE} characters", place=place)
        if _CONTROL.search(line):
            raise InventoryError("the line holds control characters", place=place)
        if line.startswith("["):
            section = _SECTION.fullmatch(line)
            if section or line.endswith("]"):
                self._open(section, line, place)
                return
        if self._kind == "children":
            self._child(line, place)
        elif self._kind == "vars":
            self._variable(line, place)
        else:
            self._host(line, place)

    def finish(self) -> None:
        """Note groups that are named and described nowhere."""
        for name, place in self._meant.items():
            if name not in self._told:
                hint = did_you_mean(name, self._told - {UNGROUPED}, kind="groups")
                self._draft.problems.add(f"there is no group `{name}`", place, hint)

    def _open(self, section: re.Match[str] | None, line: str, place: Place) -> None:
        if section is None:
            hint = "write [group], [group:children] or [group:vars]"
            raise InventoryError(f"`{line}` is no section", place=place, hint=hint)
        name, self._kind = section[1], section[2] or ""
        if self._kind not in ("", *_KINDS):
            hint = did_you_mean(self._kind, _KINDS, kind="kinds of section")
            raise InventoryError(f"unknown kind of section `{self._kind}`", place=place, hint=hint)
        self._group = self._draft.group(name, place)
        if self._kind == "vars":
            self._meant.setdefault(name, place)
        else:
            self._told.add(name)

    def _child(self, line: str, place: Place) -> None:
        name = line.split("#", maxsplit=1)[0].strip()
        self._group.groups.setdefault(name, place)
        self._draft.group(name, place)
        self._meant.setdefault(name, place)

    def _variable(self, line: str, place: Place) -> None:
        name, equals, written = line.partition("=")
        if not equals or not name.strip():
            what = "a line of a [group:vars] section is NAME=VALUE"
            raise InventoryError(what, place=place)
        setting = Setting(ini_value(_uncommented(written.strip())), place)
        self._group.settings[name.strip()] = setting

    def _host(self, line: str, place: Place) -> None:
        try:
            pattern, *pairs = shlex.split(line, comments=True)
        except ValueError as error:
            what = "a quote is not closed" if "quotation" in str(error) else str(error).lower()
            raise InventoryError(what, place=place) from error
        found: dict[str, Value] = {}
        port = _HOST_PORT.fullmatch(pattern)
        if port and "[" not in port[1].removeprefix("["):
            pattern = port[1].strip("[]")
            found["ansible_port"] = int(port[2])
        for pair in pairs:
            name, equals, written = pair.partition("=")
            if not equals or not name:
                hint = "after a host's name, each word is NAME=VALUE; quote a value with spaces"
                raise InventoryError(f"`{pair}` is no NAME=VALUE", place=place, hint=hint)
            found[name] = ini_value(written)
        for host in expanded(pattern, place):
            self._add(host, found, place, self._group)

    def _add(self, name: str, found: dict[str, Value], place: Place, group: GroupDraft) -> None:
        target = self._draft.mention(name, Kind.HOST, place)
        group.targets.setdefault(name, place)
        for key, value in found.items():
            target.settings[key] = Setting(value, place)


def _uncommented(written: str) -> str:
    """Cut a comment off an unquoted value: ``#`` after white space."""
    if written[:1] in ("'", '"', "[", "{"):
        return written
    return re.split(r"\s#", written, maxsplit=1)[0].rstrip()


def ini_value(written: str) -> Value:
    """Return what a value means: a number or truth value as in YAML, Python's lists and texts."""
    if written in _WORDS:
        return _WORDS[written]
    if written == "None":
        return None
    if written[:1] in ("'", '"', "[", "{"):
        try:
            with catch_warnings(action="ignore"):  # of escapes that Python does not know
                return _plain(ast.literal_eval(written))
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            return written
    return number(written) if written else ""


def _plain(value: object) -> Value:
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    raise ValueError("only what JSON can say")
