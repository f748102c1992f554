"""Homes as a test says them, asked by the real probe, and what is to be said of each."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from support.living import Living, let_others_see
from support.probing import shells

from fleet.inventory.model import Value
from fleet.verifier.model import Verdict

#: A user who owns nothing.
NOBODY = 65534
#: More than an audit reads of one file.
HUGE = " " * 600 * 1024
_PREFIX = {
    "pi-mnemo": "mnemo",
    "pi-toolkit": "toolkit",
    "mempalace-cli": "cli",
    "mcp-clients": "clients",
}

Arrange = Callable[[Path], None]


@dataclass(frozen=True)
class Case:
    """A home, and what is to be said of it.

    Attributes:
        files: text by path; of a link, what it leads to after ``->``.
        exports: lines of the login shell's file, after the PATH.
        path: folders of the PATH.
        uid: who asks; 0 is the one who runs the tests.
    """

    name: str
    system: str
    wanted: Mapping[str, Verdict]
    arrange: Arrange = lambda _home: None
    files: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, Value] = field(default_factory=dict)
    exports: str = ""
    path: Callable[[Path], Path] = lambda home: home / "bin"
    uid: int = 0

    def holds(self, folder: Path, shell: str) -> None:
        """Make the home below a folder, ask it under a shell, and compare."""
        if self.uid and os.geteuid() != 0:
            pytest.skip("only root can ask as somebody else")
        (folder / "tools").mkdir()
        found = shells(folder / "tools")
        if shell not in found:
            pytest.skip(f"there is no {shell} here")
        home = folder / "home"
        home.mkdir()
        self.arrange(home)
        for name, text in self.files.items():
            _write(home, name, text)
        here = Living(home, found[shell], (self.system,)).path(self.path(home), "/usr/bin", "/bin")
        with (home / ".bash_profile").open("a") as profile:
            profile.write(self.exports)
        if self.uid:
            let_others_see(home)
        told = here.findings(here.declared(**self.variables), uid=self.uid or None)
        prefix = _PREFIX.get(self.system, self.system)
        asked = {gate: told[f"{prefix}.{gate}"] for gate in self.wanted}
        assert {gate: finding.verdict for gate, finding in asked.items()} == self.wanted, asked
        assert "tok-EXAMPLE" not in str(told)


def names(cases: list[Case]) -> list[str]:
    """Return how the tests of cases are called."""
    return [f"{case.system}: {case.name}" for case in cases]


def _write(home: Path, name: str, text: str) -> None:
    path = home / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if text.startswith("-> "):
        path.symlink_to(text.removeprefix("-> ").format(home=home))
        return
    path.write_text(text)
    path.chmod(0o755 if text.startswith("#!") else 0o600)
