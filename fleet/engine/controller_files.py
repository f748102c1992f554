"""The controller's files that a plan needs, read once and handed to the pure rooms."""

import os
import stat
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from fleet.data import shipped
from fleet.errors import PlanError
from fleet.facts.envfile import GIT_CRYPT

if TYPE_CHECKING:
    from fleet.installers.items import TreeFile

BUILT_IN = "builtin"
_LEFT_OUT = frozenset({".git", ".hg", ".svn", "__pycache__", "node_modules", ".DS_Store"})


class LocalFiles:
    """Templates, sources and folders of this machine.

    Args:
        base: the inventory's folder; relative paths start there, and a ``templates`` folder in it
            comes before the shipped templates.
    """

    def __init__(self, base: Path | None = None) -> None:
        self._base = base or Path.cwd()

    def template(self, name: str) -> str:
        """Return a template's text by its name below a ``templates`` folder."""
        own, built_in = self._base / "templates", shipped("templates")
        for folder in (own, built_in):
            path = folder / name
            if path.is_file() and path.resolve().is_relative_to(folder.resolve()):
                return _text(path)
        raise PlanError(f"there is no template {name!r}", hint=f"looked in {own} and {built_in}")

    def file(self, path: str) -> bytes:
        """Return a file's bytes; ``builtin/…`` is one of the shipped sample toolkit."""
        return _read(_of_sample(path) or self._located(path))

    def tree(self, path: str) -> "tuple[TreeFile, ...]":
        """Return a folder's files, sorted; ``builtin`` is the shipped sample toolkit."""
        folder = _of_sample(path) or self._located(path)
        if not folder.is_dir():
            raise PlanError("there is no such folder on the controller", where=path)
        return _tree(folder)

    def _located(self, path: str) -> Path:
        return self._base / Path(path).expanduser()


def _of_sample(path: str) -> Path | None:
    """Return what ``builtin`` or ``builtin/PATH`` means in the shipped sample toolkit."""
    first, _, rest = path.partition("/")
    return shipped("toolkit") / rest if first == BUILT_IN and ".." not in rest else None


@lru_cache(maxsize=16)
def _tree(folder: Path) -> "tuple[TreeFile, ...]":
    """Read a folder once a run: many targets get the same one."""
    return tuple(_files(folder))


def _files(folder: Path) -> "Iterator[TreeFile]":
    from fleet.installers.items import TreeFile  # noqa: PLC0415 - who audits reads no folder

    for base, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in _LEFT_OUT)
        links = [name for name in folders if (Path(base) / name).is_symlink()]
        for name in sorted([*names, *links]):
            path = Path(base) / name
            if name in _LEFT_OUT or path.suffix == ".pyc":
                continue
            relative = path.relative_to(folder).as_posix()
            if path.is_symlink():
                yield TreeFile(relative, link=str(path.readlink()))
            elif path.is_file():
                executable = path.stat().st_mode & stat.S_IXUSR
                yield TreeFile(relative, 0o755 if executable else 0o644, _read(path))


def _text(path: Path) -> str:
    content = _read(path)
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        locked = content.startswith(GIT_CRYPT)
        what = "it is encrypted by git-crypt" if locked else "it is not UTF-8 text"
        hint = "unlock it on the controller (git-crypt unlock)" if locked else ""
        raise PlanError(what, where=str(path), hint=hint) from error


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        reason = error.strerror or str(error)
        raise PlanError(f"cannot read it on the controller: {reason}", where=str(path)) from error
