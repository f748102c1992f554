"""One session of pytest that looks at a fleet."""

import os
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Protocol

import pytest

from fleet.engine.ending import orderly_end
from fleet.engine.judging import Standards
from fleet.errors import FleetError
from fleet.facts.model import Facts
from fleet.inventory.inventory import Inventory
from fleet.inventory.model import Target
from fleet.inventory.select import NobodyLeft, select
from fleet.pytest_plugin import told
from fleet.pytest_plugin.asked import Asked, asked_of, asked_of_fleet, node_name
from fleet.pytest_plugin.audit import Audit, Seen, reported, saved
from fleet.pytest_plugin.nodes import NODE, Fleet, GateFailed, GateTest
from fleet.pytest_plugin.settings import Chosen, choose
from fleet.pytest_plugin.target import FleetTarget, TargetUnseen
from fleet.reports.text import count
from fleet.systems.resolve import resolve
from fleet.verifier.judge import look_of
from fleet.verifier.look import Look
from fleet.verifier.model import Finding

SHARED = "fleet_shared"
#: In a report of a test that was skipped: the target that could not be looked at.
UNASKED = "fleet.unasked"


class Spec(Protocol):
    """How a worker of pytest-xdist is started; ``popen`` is set on this machine."""

    popen: bool | None


class Gateway(Protocol):
    """The way to a worker."""

    spec: Spec


class Worker(Protocol):
    """A worker of pytest-xdist, as the controller sees it."""

    gateway: Gateway
    workerinput: dict[str, object]


class FleetSession:
    """Hooks that do something, and what they share.

    Attributes:
        chosen: what there is to look at.
        audit: the one look.
    """

    chosen: Chosen
    audit: Audit

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self._picked: tuple[str, ...] = ()
        self._bearers: dict[str, str] = {}
        self._tests = 0
        self._folder: Path | None = None
        self._ending = ExitStack()
        self._ending.enter_context(orderly_end())

    # --- what there is

    @property
    def path(self) -> Path:
        """Return the inventory, or where pytest's paths begin: something that exists."""
        return self.chosen.source or self.config.rootpath

    @cached_property
    def together(self) -> tuple[Asked, ...]:
        """Return what is asked of several targets together."""
        return asked_of_fleet(self.chosen.targets, self.chosen.context)

    @cached_property
    def targets(self) -> tuple[FleetTarget, ...]:
        """Return the targets as a user's tests see them."""
        return tuple(
            FleetTarget(t, node_name(t.name), self._seen, self._look) for t in self.chosen.targets
        )

    def asked_of(self, target: Target) -> Iterator[Asked]:
        """Yield what is asked of a target; of saved facts only they tell whether it was deep."""
        deep = self.chosen.options.deep
        if self.chosen.options.from_dir is not None:
            facts = self._saved.facts.get(target.name)
            deep = facts is not None and facts.deep is not None
        return asked_of(target, self.chosen.context, deep=deep)

    @cached_property
    def _saved(self) -> Seen:
        return saved(self.chosen)

    def subjects(self, gate: str) -> frozenset[str]:
        """Return of whom a fleet-wide gate is asked."""
        return frozenset(a.subject for a in self.together if a.gate == gate)

    def limited(self, patterns: Sequence[str]) -> tuple[FleetTarget, ...]:
        """Return the targets that patterns mean, perhaps none; without any pattern, all of them.

        Raises:
            CollectError: a pattern names what is not there.
        """
        if not patterns:
            return self.targets
        inventory = self.chosen.context.inventory or Inventory(self.chosen.targets)
        try:
            meant = {target.name for target in select(inventory, patterns)}
        except NobodyLeft:
            return ()
        except FleetError as error:
            raise pytest.Collector.CollectError(f"fleet_limit: {error}") from None
        return tuple(target for target in self.targets if target.name in meant)

    # --- what came of looking

    def _seen(self) -> Seen:
        return self.audit.seen()

    def require(self, target: str) -> None:
        """Look.

        Raises:
            TargetUnseen: the target could not be looked at.
        """
        trouble = self.audit.seen().trouble(target)
        if trouble is not None:
            raise TargetUnseen(target, trouble)

    def cause(self, finding: Finding) -> Finding | None:
        """Return the finding that another one only repeats."""
        if finding.follows is None:
            return None
        return self.audit.seen().findings(finding.target).get(finding.follows)

    @property
    def strict(self) -> bool:
        """Return whether advisory failures and warnings fail too."""
        return self.chosen.options.strict

    @property
    def is_alone(self) -> bool:
        """Tell whether only one test of the fleet was chosen to run."""
        return self._tests == 1

    def _look(self, target: Target, system: str, facts: Facts) -> Look:
        context = self.chosen.context
        context.secrets.prepare([target])
        resolved = resolve(context.systems(target), target)
        expected = Standards(context, datetime.now(UTC).date()).of(target, resolved)
        return look_of(
            target, next(r for r in resolved if r.system.system == system), facts, expected
        )

    # --- hooks

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """Load the inventory; what is wrong with it is one usage error."""
        self.chosen = choose(self.config)
        given: Mapping[str, str] = getattr(self.config, "workerinput", {})
        shared = given.get(SHARED)
        self.audit = Audit(self.chosen, shared=Path(shared) if shared else None)

    def pytest_report_header(self) -> str:
        """Tell what there is to look at."""
        source = self.chosen.source
        return f"fleet: {count(len(self.chosen.targets), 'target')}" + (
            f" of {os.path.relpath(source, self.config.invocation_params.dir)}" if source else ""
        )

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self) -> None:
        """Take arguments that name tests of the fleet for what they are: no file has that name."""
        paths = {arg: self._node_of(arg) for arg in self.config.args}
        self._picked = tuple(node for node in paths.values() if node)
        if self._picked:
            self.config.args = [arg for arg, node in paths.items() if not node]

    def _node_of(self, argument: str) -> str:
        path, separator, gate = argument.partition("::")
        here = self.config.invocation_params.dir / path
        if here.exists():
            return ""
        node = os.path.relpath(here, self.config.rootpath).replace(os.sep, "/")
        is_ours = node == NODE or node.startswith(f"{NODE}/")
        return f"{node}{separator}{gate}" if is_ours else ""

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Add the fleet to what a session collects, unless paths were named and it was not."""
        report = yield
        if isinstance(collector, pytest.Session) and report.passed and self._joins():
            report.result = [*report.result, Fleet.of(collector, self)]
        return report

    def _joins(self) -> bool:
        named = self.config.args_source is pytest.Config.ArgsSource.ARGS
        return bool(self._picked) or self.chosen.asked_for or not named

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep the tests of the fleet that arguments name."""
        if not self._picked:
            return
        ours = [item for item in items if isinstance(item, GateTest)]
        for node in self._picked:
            if not any(_within(item.nodeid, node) for item in ours):
                raise pytest.UsageError(f"not found: {node}\n(no target or gate of that name)")
        dropped = [i for i in ours if not any(_within(i.nodeid, node) for node in self._picked)]
        items[:] = [item for item in items if item not in set(dropped)]

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note whom the chosen tests are about: nobody else is looked at."""
        wanted: set[str] = set()
        reads: dict[str, list[str]] = defaultdict(list)
        gates_first = sorted(session.items, key=lambda item: not isinstance(item, GateTest))
        for item in gates_first:
            name = _target_of(item)
            if name:
                wanted.add(name)
                self._bearers.setdefault(name, item.nodeid)
                reads[name] += [
                    str(path) for mark in item.iter_markers("fleet_read") for path in mark.args
                ]
            elif isinstance(item, GateTest):
                wanted |= {target.name for target in self.chosen.targets}
        self.audit.wanted = frozenset(wanted)
        self.audit.reads = {name: paths for name, paths in reads.items() if paths}
        self._tests = sum(isinstance(item, GateTest) for item in session.items)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Tell gates as fleet does; tell a target that could not be looked at once."""
        report = yield
        error = call.excinfo.value if call.excinfo else None
        place = item.place if isinstance(item, GateTest) else _place(item)
        if isinstance(error, TargetUnseen):
            self._unseen(report, item.nodeid, error, place)
        elif isinstance(error, GateFailed):
            finding = error.finding
            report.longrepr = told.words(finding.message, told.of_finding(finding), place)
        elif isinstance(item, GateTest) and report.skipped and not hasattr(report, "wasxfail"):
            told.skipped(report, place, str(error))
        return report

    def _unseen(
        self, report: pytest.TestReport, node: str, error: TargetUnseen, place: tuple[Path, int]
    ) -> None:
        summary = told.summary_of_trouble(error.target, error.trouble)
        if self._bearers.get(error.target) == node:
            gates = len(self.audit.seen().findings(error.target))
            text = told.of_trouble(error.target, error.trouble, gates)
            report.longrepr = told.words(summary, text, place)
        else:
            told.skipped(report, place, f"not checked: {summary}")
            report.user_properties.append((UNASKED, error.target))

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Let ``--lf`` ask again what was not asked because of another test's failure."""
        cache = self.config.pluginmanager.get_plugin("lfplugin")
        failed = getattr(cache, "lastfailed", None)
        if report.skipped and isinstance(failed, dict) and UNASKED in dict(report.user_properties):
            failed[report.nodeid] = True

    def pytest_terminal_summary(self, terminalreporter: "pytest.TerminalReporter") -> None:
        """Tell how many targets were asked, and how many answered."""
        held = self.audit.held
        run = held.run if held else reported(self._folder) if self._folder else None
        if run is not None:
            terminalreporter.write_line(f"fleet: {told.of_run(run)}")

    # --- pytest-xdist

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Worker) -> None:
        """Give the workers of this machine one folder; a worker elsewhere looks for itself."""
        if node.gateway.spec.popen:
            if self._folder is None:
                self._folder = Path(tempfile.mkdtemp(prefix="fleet-"))
            node.workerinput[SHARED] = str(self._folder)

    def pytest_unconfigure(self) -> None:
        """Take the folder away."""
        self._ending.close()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)


def _within(node: str, picked: str) -> bool:
    return node == picked or node.startswith((f"{picked}::", f"{picked}/"))


def _target_of(item: pytest.Item) -> str:
    """Return the name of the one target that a test is about; empty where there is none."""
    if isinstance(item, GateTest):
        return item.target.name if item.target else ""
    parameters = getattr(getattr(item, "callspec", None), "params", {})
    found = parameters.get("fleet_target")
    return found.name if isinstance(found, FleetTarget) else ""


def _place(item: pytest.Item) -> tuple[Path, int]:
    path, line, _ = item.reportinfo()
    return Path(path), (line or 0) + 1
