"""An engine that answers from memory, and a way to run a command with it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from click.testing import CliRunner, Result
from support import crafted, planned

from fleet.cli.engine import Engine
from fleet.cli.main import cli
from fleet.engine.context import Context
from fleet.engine.deploy import TargetPlan
from fleet.engine.kept import Keeper
from fleet.engine.observer import Observer
from fleet.inventory.inventory import Inventory
from fleet.inventory.model import Target, Value
from fleet.inventory.playbook import Play
from fleet.systems.catalogue import load_catalogue
from fleet.verifier.run import Run

TARGETS = tuple(planned.target(name) for name in ("laptop", "desk", "vault"))


@dataclass
class FakeEngine(Engine):
    """Answers from memory, and remembers what it was asked."""

    run_of: Run = field(default_factory=lambda: crafted.craft("healthy"))
    plans: Sequence[planned.TargetPlan] = field(default_factory=planned.fleet)
    came: Sequence[planned.TargetApplied] = field(default_factory=planned.applied)
    trouble: BaseException | None = None
    plays: Sequence[Play] = ()
    stopped: str = ""
    asked: list[tuple[Any, ...]] = field(default_factory=list)

    def context(self, inventory: Path | None, variables: Mapping[str, Value]) -> Any:
        self.asked.append(("context", inventory, dict(variables)))
        return Context(load_catalogue(), Inventory(TARGETS, notes=("a note",)))

    def audit(
        self,
        targets: Sequence[Target],
        context: Any,
        options: Any,
        observer: Observer,
        command: str,
        plans: Sequence[TargetPlan] = (),
        keeper: Keeper | None = None,
    ) -> Run:
        self.asked.append(("audit", tuple(t.name for t in targets), options, command))
        for target in targets:
            observer.target_started(target.name, "asking")
            observer.target_finished(target.name, ok=True, note="")
        if self.trouble:
            raise self.trouble
        return replace(self.run_of, command=command)

    def facts(
        self, targets: Sequence[Target], context: Any, options: Any, observer: Observer
    ) -> Iterable[Any]:
        return self.run_of.results

    def plan(
        self, targets: Sequence[Target], context: Any, options: Any, observer: Observer
    ) -> Any:
        self.asked.append(("plan", tuple(t.name for t in targets), options))
        return tuple(self.plans)

    def uninstall(
        self, targets: Sequence[Target], context: Any, options: Any, observer: Observer
    ) -> Any:
        self.asked.append(("uninstall", tuple(t.name for t in targets), options))
        return tuple(self.plans)

    def apply(self, plans: Any, context: Any, options: Any, observer: Observer) -> Any:
        self.asked.append(("apply", tuple(p.target.name for p in plans), options))
        return tuple(self.came)

    def playbook(self, path_or_name: str) -> Any:
        return SimpleNamespace(plays=self.plays, source=path_or_name)

    def run(self, playbook: Any, context: Any, options: Any, observer: Observer) -> Any:
        self.asked.append(("run", playbook.source, options))
        batch = SimpleNamespace(plans=self.plans, applied=self.came, run=self.run_of)
        return SimpleNamespace(batches=(batch,), stopped=self.stopped, left=("vault",))

    def demo(self, folder: Path | None, *, keep: bool) -> int:
        return 2 if keep else 0

    def calls(self) -> list[str]:
        """Return the names of what was asked, in order."""
        return [str(call[0]) for call in self.asked]


def invoke(*words: str, engine: Engine | None = None, stdin: str | None = None) -> Result:
    """Run a command as a program would."""
    return CliRunner().invoke(cli, list(words), obj=engine or FakeEngine(), input=stdin)
