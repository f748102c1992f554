"""Which version of a program is installed, told by files beside it and never by running it.

A header of the same distribution tells it (``include/node/node_version.h``), else the database of
the package that owns the program's file: dpkg's or apk's. A name in a path tells nothing.
"""

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from fleet.facts.request import CommandQuestion
from fleet.facts.running import CommandFact
from fleet.facts.walk import Tree, Unreadable, resolve

_HEADER_LIMIT = 64 * 1024
_DATABASE_LIMIT = 16 * 1024 * 1024
_DPKG = "/var/lib/dpkg"
_APK = "/lib/apk/db/installed"
_DEFINED = re.compile(
    r"^\s*#\s*define\s+\w+_(MAJOR|MINOR|PATCH)_VERSION\s+(\d{1,6})\s*$", re.MULTILINE
)
_PARTS = ("MAJOR", "MINOR", "PATCH")
#: A package's version without its epoch and without what the packager counts.
_UPSTREAM = re.compile(r"^(?:\d+:)?([0-9][\w.]{0,40})")
_DATABASES = frozenset({"status", "installed"})


class Installed(NamedTuple):
    """A version, and the file that tells it."""

    version: str
    told_by: str


def installed(tree: Tree, program: str, headers: tuple[str, ...], package: str) -> Installed | None:
    """Return the version of a program; None where no file tells it.

    Args:
        tree: the files.
        program: where its file finally lies, absolute.
        headers: that tell it, by their path from the program's folder.
        package: the package that would own the program; empty for none.
    """
    return next(_told(tree, program, headers, package), None)


def _told(tree: Tree, program: str, headers: tuple[str, ...], package: str) -> Iterator[Installed]:
    for header in headers:
        path = posixpath.normpath(posixpath.join(posixpath.dirname(program), header))
        found = dict(_DEFINED.findall(_text(tree, path, _HEADER_LIMIT)))
        if found.keys() >= set(_PARTS):
            yield Installed(".".join(found[part] for part in _PARTS), path)
    if package:
        yield from _of_dpkg(tree, program, package)
        yield from _of_apk(tree, program, package)


def _of_dpkg(tree: Tree, program: str, package: str) -> Iterator[Installed]:
    status = f"{_DPKG}/status"
    text = _text(tree, status, _DATABASE_LIMIT)
    for stanza in re.finditer(
        rf"^Package: {re.escape(package)}\n(?:[^\n]+\n)*", text, re.MULTILINE
    ):
        fields = dict(re.findall(r"^([\w-]+): (.*)$", stanza[0], re.MULTILINE))
        version = _UPSTREAM.match(fields.get("Version", ""))
        right = fields.get("Status", "").endswith(" installed")
        lists = [package, f"{package}:{fields.get('Architecture', '')}"]
        if version and right and any(_owns(tree, name, program) for name in lists):
            yield Installed(version[1], status)


def _owns(tree: Tree, package: str, program: str) -> bool:
    """Tell whether a package's list names the file, where a merged ``/usr`` may hide the rest."""
    lines = _text(tree, f"{_DPKG}/info/{package}.list", _DATABASE_LIMIT).splitlines()
    return program in lines or program.removeprefix("/usr") in lines


def _of_apk(tree: Tree, program: str, package: str) -> Iterator[Installed]:
    folder, _, name = program.strip("/").rpartition("/")
    for stanza in _text(tree, _APK, _DATABASE_LIMIT).split("\n\n"):
        lines = stanza.splitlines()
        version = next((_UPSTREAM.match(v[2:]) for v in lines if v.startswith("V:")), None)
        if f"P:{package}" in lines and version and _holds(lines, folder, name):
            yield Installed(version[1], _APK)


def _holds(lines: list[str], folder: str, name: str) -> bool:
    at = ""
    for line in lines:
        if line.startswith("F:"):
            at = line[2:]
        elif line == f"R:{name}" and at == folder:
            return True
    return False


def _text(tree: Tree, path: str, limit: int) -> str:
    """Return a file's text; empty where it is not there or cannot be read."""
    walk = resolve(tree, path)
    if walk.node is None or walk.node.kind != "file" or walk.final is None:
        return ""
    try:
        return tree.read(walk.final, limit).decode("utf-8", "replace")
    except Unreadable:
        return ""


def with_versions(
    tree: Tree, questions: Iterable[CommandQuestion], found: Mapping[str, CommandFact]
) -> dict[str, CommandFact]:
    """Return programs with the versions that files tell of those whose version was asked for."""
    told = dict(found)
    for question in questions:
        fact = told.get(question.name)
        program = fact.file.final if fact and fact.file else None
        if fact is None or program is None or not question.version or fact.version is not None:
            continue
        version = installed(tree, program, question.headers, question.package)
        if version:
            update = {"version": version.version, "told_by": version.told_by}
            told[question.name] = fact.model_copy(update=update)
    return told


def files_read(questions: Iterable[CommandQuestion]) -> frozenset[str]:
    """Return the last components of the files that tell versions, to fetch them beforehand."""
    names: set[str] = set()
    for question in questions:
        if question.version:
            names |= {header.rpartition("/")[2] for header in question.headers}
            names |= {f"{question.package}.list", *_DATABASES} if question.package else set()
    return frozenset(names)
