"""A pytest inside of pytest, with the plugin, a system of its own and fake targets.

The system ``notes`` has three gates whose verdicts are what the target's one file says. Every look
at a fake target is a line in a file, whichever process looks.
"""

import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from fleet.verifier.fleetwide.rules import RULES

#: How many tests ask something of the fleet as a whole; of these targets it does not apply.
FLEETWIDE = len(RULES)
NOTES = """\
system: notes
about: Verdicts that stand in a file.
artifacts:
  notes: {kind: observed, path: ~/notes, read: whole}
gates:
  - {id: notes.there, check: there, always: true, remedy: write them}
  - {id: notes.quiet, check: quiet, gives: quiet, needs: [notes.there], remedy: be quiet}
  - {id: notes.tidy, check: tidy}
"""
CHECKS = """\
from fleet.verifier.model import Judgement, Verdict


def _told(look, gate):
    content = look.content(look.artifact("notes")) or b""
    said = dict(line.split("=") for line in content.decode().splitlines())
    verdict = Verdict(said.get(gate, "pass"))
    more = f"{verdict} {said.get('more', '')}".strip()
    return Judgement(verdict, f"{gate} is {verdict}", (f"the file says {gate}={more}",))


def there(look):
    return _told(look, "there")


def quiet(look):
    return _told(look, "quiet")


def tidy(look):
    return _told(look, "tidy")
"""
FAKES = """\
import os

from fleet.errors import Unreachable
from fleet.testing import CannedFacts, FakeConnector, answering


class Counting(FakeConnector):
    def collect(self, request):
        with open("looks", "a") as looks:
            looks.write(f"{self._target.name}\\n")
        return super().collect(request)


GONE = Unreachable("no answer in 30 s", stage="timeout", hint="is it up?")
STANDING_IN = answering({
    name: Counting(trouble=GONE) if told is None else Counting(CannedFacts().file("~/notes", told))
    for name, told in TOLD.items()
})
STANDING_IN.__enter__()
"""


@dataclass
class Nested:
    """A project whose tests are run in a process of their own.

    Attributes:
        told: by target, what its file says; None for one that cannot be reached.
    """

    pytester: pytest.Pytester
    told: dict[str, bytes | None] = field(default_factory=dict)
    inventory: str = ""

    def __post_init__(self) -> None:
        package = self.folder / "notes_system"
        package.mkdir()
        (package / "__init__.py").write_text("")
        (package / "system.yml").write_text(NOTES)
        (package / "gates.py").write_text(CHECKS)
        installed = self.folder / "notes_system-1.dist-info"
        installed.mkdir()
        (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: notes-system\nVersion: 1")
        (installed / "entry_points.txt").write_text("[fleet.systems]\nnotes = notes_system\n")
        # The test's own process must not load the system: only what is started here does.
        self.pytester._monkeypatch.setenv("PYTHONPATH", str(self.folder))

    @property
    def folder(self) -> Path:
        return self.pytester.path

    def target(self, name: str, *told: str) -> "Nested":
        """A target whose gates pass, but for ``quiet=fail`` and the like."""
        self.told[name] = "\n".join(told).encode()
        return self._written()

    def gone(self, name: str) -> "Nested":
        """A target that cannot be reached."""
        self.told[name] = None
        return self._written()

    def more(self, inventory: str) -> "Nested":
        """Further lines of the inventory."""
        self.inventory += inventory
        return self._written()

    def _written(self) -> "Nested":
        hosts = "".join(f"  {name}: {{ssh: {name}.example.net}}\n" for name in self.told)
        text = f"systems: [notes]\nrequire: [quiet]\n{self.inventory}hosts:\n{hosts}"
        (self.folder / "fleet.yml").write_text(text)
        (self.folder / "conftest.py").write_text(f"TOLD = {self.told!r}\n{FAKES}")
        return self

    def run(self, *words: str) -> pytest.RunResult:
        """Run pytest on the inventory."""
        return self.bare("--fleet-inventory=fleet.yml", *words)

    def bare(self, *words: str) -> pytest.RunResult:
        """Run pytest."""
        (self.folder / "looks").unlink(missing_ok=True)
        return self.pytester.runpytest_subprocess(*words)

    def looks(self) -> list[str]:
        """Return who was looked at by the last run, once for each look."""
        path = self.folder / "looks"
        return sorted(path.read_text().split()) if path.exists() else []

    def fleet(self, *words: str) -> int:
        """Run ``fleet`` on the same targets; returns its exit code."""
        code = "import sys, conftest; from fleet.cli.main import main; sys.exit(main())"
        command = [sys.executable, "-c", code, *words]
        return subprocess.run(command, cwd=self.folder, check=False, capture_output=True).returncode


def counts(result: pytest.RunResult) -> dict[str, int]:
    """Return how many tests came to what; what did not occur is left out."""
    told: dict[str, Any] = result.parseoutcomes()
    return {name: told[name] for name in told if name not in ("warnings", "deselected")}
