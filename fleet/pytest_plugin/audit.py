"""Looking at all targets once, when the first test asks; shared by all workers of one machine."""

import fcntl
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from threading import Lock

from fleet.dataclass import dataclass
from fleet.engine.audit import audit
from fleet.engine.facts import Looked, gather
from fleet.facts.model import Facts
from fleet.facts.request import PathQuestion, Read
from fleet.facts.saved import dumps, file_name, loads
from fleet.inventory.model import Target
from fleet.pytest_plugin.settings import Chosen
from fleet.reports.document import FindingPart, RunDocument, TroublePart, document
from fleet.reports.text import printable
from fleet.verifier.fleetwide.member import FLEET
from fleet.verifier.model import Accepted, Finding
from fleet.verifier.run import Run

REPORT = "run.json"


@dataclass(frozen=True, slots=True)
class Seen:
    """What looking brought: a run's document, and the facts by target."""

    run: RunDocument
    facts: Mapping[str, Facts]

    def trouble(self, target: str) -> TroublePart | None:
        """Return why a target has no facts; None where it has some."""
        return next((t.trouble for t in self.run.targets if t.name == printable(target)), None)

    def findings(self, subject: str) -> dict[str, Finding]:
        """Return the findings about a target, or about several together, by gate."""
        told = printable(subject)
        return {f.gate: _finding(f) for f in self.run.findings if f.target == told}

    def unclaimed(self, gate: str, claimed: frozenset[str]) -> list[Finding]:
        """Return the findings of a fleet-wide gate whose subject has no test of its own."""
        names = {printable(name) for name in claimed}
        return [
            _finding(f)
            for f in self.run.findings
            if f.system == FLEET and f.gate == gate and f.target not in names
        ]


@dataclass(slots=True)
class Audit:
    """The one look of a session.

    Attributes:
        wanted: the names of the targets that the chosen tests are about.
        reads: further files to read whole, by target.
        shared: a folder that all workers of this machine see; None where there is one process.
    """

    chosen: Chosen
    wanted: frozenset[str] = frozenset()
    reads: Mapping[str, Sequence[str]] = field(default_factory=dict)
    shared: Path | None = None
    held: Seen | None = None
    lock: Lock = field(default_factory=Lock)

    def seen(self) -> Seen:
        """Return what was seen; looks at every wanted target the first time it is called."""
        with self.lock:
            if self.held is None:
                self.held = self._look() if self.shared is None else self._shared(self.shared)
            return self.held

    def _shared(self, folder: Path) -> Seen:
        """Look, unless another worker has; while one looks, the others wait for what it saw."""
        with (folder / "lock").open("a") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            if (folder / REPORT).exists():
                return _read(folder)
            seen = self._look()
            _write(seen, folder)
            return seen

    def _look(self) -> Seen:
        chosen = self.chosen
        targets = [t for t in chosen.targets if t.name in self.wanted]
        looked = self._read_more(targets)
        # Facts of another run of this process are no news: every session looks for itself.
        run = audit(targets, chosen.context, chosen.options, command="pytest", seen=looked)
        return _of(run)

    def _read_more(self, targets: Sequence[Target]) -> dict[str, Looked]:
        """Ask those targets that tests want to read more of; the others are asked by the audit."""
        if not self.reads or self.chosen.options.from_dir:
            return {}
        extra = {
            name: tuple(PathQuestion(path, Read.WHOLE) for path in paths)
            for name, paths in self.reads.items()
        }
        found = gather(targets, self.chosen.context, self.chosen.options, extra=extra)
        return {looked.target.name: looked for looked in found}


def saved(chosen: Chosen) -> Seen:
    """Judge saved facts; connects to nothing."""
    return _of(audit(chosen.targets, chosen.context, chosen.options, command="pytest"))


def _of(run: Run) -> Seen:
    facts = {r.target.name: r.facts for r in run.results if r.facts is not None}
    return Seen(document(run), facts)


def _write(seen: Seen, folder: Path) -> None:
    """Write what was seen; the report comes last, and whole."""
    for name, facts in seen.facts.items():
        (folder / file_name(name)).write_text(dumps(facts), encoding="utf-8")
    fresh = folder / f"{REPORT}.new"
    fresh.write_text(seen.run.model_dump_json(), encoding="utf-8")
    fresh.rename(folder / REPORT)


def _read(folder: Path) -> Seen:
    run = RunDocument.model_validate_json((folder / REPORT).read_text(encoding="utf-8"))
    facts = {}
    for path in folder.glob("*.facts.json"):
        told = loads(path.read_text(encoding="utf-8"), where=str(path))
        facts[told.target] = told
    return Seen(run, facts)


def reported(folder: Path) -> RunDocument | None:
    """Return the report of the workers that looked; None where none did."""
    path = folder / REPORT
    return RunDocument.model_validate_json(path.read_text("utf-8")) if path.exists() else None


def _finding(part: FindingPart) -> Finding:
    told = {name: getattr(part, name) for name in FindingPart.model_fields if name != "waiver"}
    waiver = part.waiver
    accepted = Accepted(waiver.reason, waiver.until, waiver.expired) if waiver else None
    return Finding(**told)._replace(waiver=accepted)
