"""A home on this machine to install things in, with the real probe and the real shell."""

import os
import secrets
import shutil
import stat
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

from fleet.connectors.base import Outcome
from fleet.connectors.local import LocalConnector
from fleet.facts.model import Facts
from fleet.facts.request import PathQuestion, Request
from fleet.installers.items import Item, TreeFile
from fleet.installers.model import Plan
from fleet.installers.outcome import Applied, read_outcome
from fleet.installers.planning import further_questions, plan, questions, removal
from fleet.installers.program import program
from fleet.inventory.model import Address, Scheme, SecretRef, Target
from fleet.secrets import Secret

SHELLS = ("dash", "busybox", "bash")
HOLDER = "ann@desk"


@cache
def busybox_path() -> str:
    """A folder that holds busybox's own commands and nothing else."""
    folder = mkdtemp(prefix="fleet-busybox-")
    subprocess.run(["busybox", "--install", "-s", folder], check=True)
    return folder


class ShellConnector(LocalConnector):
    """This machine through another shell, with a PATH of its own."""

    def __init__(
        self, target: Target, words: Sequence[str], path: str | None, seconds: int
    ) -> None:
        super().__init__(target, timeout=seconds)
        self._shell, self._path = list(words), path

    def _words(self) -> list[str]:
        return self._shell

    def _environment(self) -> dict[str, str]:
        env = super()._environment()
        return {**env, "PATH": self._path} if self._path else env


@dataclass
class Bench:
    """One home, one shell.

    Attributes:
        path: the PATH of the shell, where it is not the connector's own.
        values: secrets at hand, by reference.
        seconds: the longest one exchange may take.
    """

    home: Path
    shell: str = "dash"
    path: str | None = None
    values: dict[SecretRef, Secret] = field(default_factory=dict)
    seconds: int = 60

    def __post_init__(self) -> None:
        self.home.mkdir(exist_ok=True)

    @property
    def target(self) -> Target:
        return Target("box", Address(Scheme.LOCAL, str(self.home)))

    def connector(self) -> ShellConnector:
        words = [shutil.which(self.shell) or self.shell]
        path = self.path
        if self.shell == "busybox":
            words, path = [*words, "sh"], path or busybox_path()
        return ShellConnector(self.target, words, path, self.seconds)

    def look(self, asked: Iterable[PathQuestion]) -> Facts:
        return self.connector().collect(
            Request(nonce=secrets.token_hex(16), paths=tuple(dict.fromkeys(asked)))
        )

    def plan(self, *items: Item, adopt: bool = False, prune: bool = False) -> Plan:
        asked = questions(items)
        facts = self.look(asked)
        if prune:
            facts = self.look([*asked, *further_questions(facts)])
        return plan(items, facts, adopt=adopt, prune=prune, secrets=self.values)

    def apply(self, made: Plan, holder: str = HOLDER) -> Applied:
        return read_outcome(self.run(made, holder), made, hide=self.values.values())

    def run(self, made: Plan, holder: str = HOLDER) -> Outcome:
        return self.connector().apply(*self.program(made, holder))

    def program(self, made: Plan, holder: str = HOLDER) -> tuple[str, Secret]:
        reveal = self.values.__getitem__
        return program(made, holder=holder, since=datetime.now(UTC), reveal=reveal)

    def bring(self, *items: Item, adopt: bool = False, prune: bool = False) -> Plan:
        """Plan and apply; what was planned must have been done."""
        made = self.plan(*items, adopt=adopt, prune=prune)
        if made.changes:
            applied = self.apply(made)
            assert applied.committed, applied
        return made

    def uninstall(self, systems: Sequence[str] | None = None) -> Plan:
        facts = self.look(questions())
        facts = self.look([*questions(), *further_questions(facts)])
        made = removal(facts, systems)
        if made.changes:
            applied = self.apply(made)
            assert applied.committed, applied
        return made

    def write(self, path: str, content: bytes | str = b"", mode: int = 0o644) -> Path:
        where = self.home / path
        where.parent.mkdir(parents=True, exist_ok=True)
        where.write_bytes(content.encode() if isinstance(content, str) else content)
        where.chmod(mode)
        return where

    def tree(self) -> dict[str, tuple[object, ...]]:
        return snapshot(self.home)

    def stray(self) -> list[str]:
        """Names that only an apply under way may show."""
        return [str(p) for p in self.home.rglob("*") if p.name.startswith(".fleet-")]


def snapshot(folder: Path) -> dict[str, tuple[object, ...]]:
    """Everything below a folder: kinds, modes, contents, and the times of files."""
    found: dict[str, tuple[object, ...]] = {}
    for base, folders, files in os.walk(folder):
        for name in [*folders, *files]:
            path = Path(base) / name
            info = path.lstat()
            key = str(path.relative_to(folder))
            if stat.S_ISLNK(info.st_mode):
                found[key] = ("link", str(path.readlink()))
            elif stat.S_ISDIR(info.st_mode):
                found[key] = ("folder", stat.S_IMODE(info.st_mode))
            else:
                mode = stat.S_IMODE(info.st_mode)
                found[key] = ("file", mode, info.st_mtime_ns, path.read_bytes())
    return found


@dataclass(frozen=True)
class Files:
    """The controller's files, in memory."""

    templates: Mapping[str, str] = field(default_factory=dict)
    sources: Mapping[str, bytes] = field(default_factory=dict)
    trees: Mapping[str, Sequence[TreeFile]] = field(default_factory=dict)

    def template(self, name: str) -> str:
        return self.templates[name]

    def file(self, path: str) -> bytes:
        return self.sources[path]

    def tree(self, path: str) -> Sequence[TreeFile]:
        return self.trees[path]
