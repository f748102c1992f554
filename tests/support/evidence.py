"""A pytest plugin: which gate was seen to end how, on targets that were really looked at.

`tests/cases/evidence/` names, for each gate, one test for each way it can end. Such a test is held
to it: where it passes and no such verdict came of a real look, it fails. What counts is a look by a
real connector, or by the real probe under a real shell, judged in this very process; canned facts
do not count.

    pytest --evidence FILE   write down all that was judged (gate, verdict, tests), and what lacks
    pytest --doubt           run each test that is named once more for all that it is named for,
                             with that verdict replaced by another: it must fail
"""

import json
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field, replace
from functools import wraps
from pathlib import Path
from typing import Any, cast

import pytest
from _pytest.runner import runtestprotocol
from support.evidence_table import FOLLOWS, promised, table
from support.mcp_server import ScriptedMcpServer

from fleet.connectors.container import ContainerConnector
from fleet.connectors.image import ImageConnector
from fleet.connectors.local import LocalConnector
from fleet.connectors.ssh import SshConnector
from fleet.facts.model import Facts
from fleet.facts.parse import parse_answer
from fleet.inventory.model import Target
from fleet.systems.model import Gate, System
from fleet.verifier import judge as judging
from fleet.verifier.fleetwide import rules
from fleet.verifier.fleetwide.member import Member, Told
from fleet.verifier.model import Finding, Verdict

CONNECTORS = (LocalConnector, SshConnector, ContainerConnector, ImageConnector)
PROPERTY = "evidence"


@dataclass(frozen=True, slots=True)
class Seen:
    """One judgement of facts of a real look.

    Attributes:
        scripted: whether a scripted palace of the tests answered, in place of a real one.
    """

    gate: str
    verdict: str
    scripted: bool


@dataclass(eq=False)  # pytest asks for its hash
class Recorder:
    """Stands where looks come in and where verdicts go out, and writes down both.

    Attributes:
        seen: judgements since the test that is running began.
        shared: those made by a fixture that several tests share, by its name and place.
        doubted: a gate and a verdict that is replaced by another.
        unnoticed: what was replaced, and the test that passed all the same.
    """

    doubted: tuple[str, str] | None = None
    unnoticed: list[str] = field(default_factory=list)
    seen: list[Seen] = field(default_factory=list)
    shared: dict[tuple[str, str], list[Seen]] = field(default_factory=dict)
    all: dict[tuple[str, str, bool], list[str]] = field(default_factory=dict)
    _looks: dict[int, object] = field(default_factory=dict)
    _ports: set[int] = field(default_factory=set)

    def watch(self, patch: pytest.MonkeyPatch) -> None:
        """Begin; the patch's end is the end."""
        for connector in CONNECTORS:
            patch.setattr(connector, "collect", self._looking(connector.collect))
        patch.setattr("support.probing.parse_answer", self._looking(parse_answer))
        patch.setattr(ScriptedMcpServer, "__enter__", self._serving(ScriptedMcpServer.__enter__))
        patch.setattr(judging._Court, "finding", self._finding(judging._Court.finding))
        patch.setattr(rules, "RULES", {i: self._rule(i, rule) for i, rule in rules.RULES.items()})

    def of(self, item: pytest.Item) -> set[Seen]:
        """Return what was judged for a test that has just run."""
        names = getattr(item, "fixturenames", ())
        shared = (
            seen
            for (name, place), seen in self.shared.items()
            if name in names and item.nodeid.startswith(place)
        )
        return {*self.seen, *(one for seen in shared for one in seen)}

    def _looking(self, look: Callable[..., Facts]) -> Callable[..., Facts]:
        def looked(*args: Any, **more: Any) -> Facts:
            facts = look(*args, **more)
            # Copies of facts have this part in common; it is kept, so that its id stays its own.
            self._looks[id(facts.platform)] = facts.platform
            return facts

        return looked

    def _serving(self, enter: Callable[..., Any]) -> Callable[..., Any]:
        def entered(server: ScriptedMcpServer) -> Any:
            self._ports.add(server.port)
            return enter(server)

        return entered

    def _finding(self, find: Callable[..., Finding]) -> Callable[..., Finding]:
        def found(court: judging._Court, system: System, gate: Gate) -> Finding:
            finding = find(court, system, gate)
            facts = court.looks[system.system].facts
            verdict = self._note(gate.id, finding.verdict, [facts], follows=bool(finding.follows))
            return finding if verdict is finding.verdict else finding._replace(verdict=verdict)

        return found

    def _rule(self, gate: str, rule: rules.Rule) -> rules.Rule:
        @wraps(rule)  # its docstring is what the pages tell of it
        def ruled(members: Sequence[Member], fleet: Sequence[Target]) -> tuple[Told, ...]:
            facts = [m.facts for m in members if m.facts is not None]
            return tuple(self._told(gate, told, facts) for told in rule(members, fleet))

        return ruled

    def _told(self, gate: str, told: Told, facts: Sequence[Facts]) -> Told:
        verdict = self._note(gate, told.judgement.verdict, facts)
        return replace(told, judgement=told.judgement._replace(verdict=verdict))

    def _note(
        self, gate: str, verdict: Verdict, facts: Sequence[Facts], *, follows: bool = False
    ) -> Verdict:
        """Write a judgement down if all facts are of real looks; return what is to be told."""
        name = FOLLOWS if follows else verdict.value
        if facts and all(id(one.platform) in self._looks for one in facts):
            ends = {f":{port}/" for port in self._ports}
            urls = [heard.url for one in facts for heard in one.endpoints]
            scripted = any(end in url for end in ends for url in urls)
            self.seen.append(Seen(gate, name, scripted))
        if self.doubted == (gate, name):
            return Verdict.WAIVED
        return verdict

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Begin afresh with every test."""
        if item.config.getoption("doubt"):
            for gate, verdict in sorted(promised(item.nodeid)):
                self._doubt(item, gate, verdict)
        self.seen.clear()
        return (yield)

    def _doubt(self, item: pytest.Item, gate: str, verdict: str) -> None:
        """Run a test with one verdict replaced; what a module shares is made anew for it."""
        self.doubted = (gate, verdict)
        around = cast("pytest.Item", item.session)  # pytest asks what it is in, and no more
        try:
            reports = runtestprotocol(item, log=False, nextitem=around)
        finally:
            self.doubted = None
        if not any(report.failed for report in reports):
            self.unnoticed.append(f"{gate}: {verdict} is not noticed by {item.nodeid}")

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
    ) -> Generator[None, object, object]:
        """Remember what a shared fixture judged for every test that it is for."""
        before = len(self.seen)
        try:
            return (yield)
        finally:
            if fixturedef.scope != "function":
                place = (fixturedef.argname, fixturedef.baseid)
                self.shared[place] = self.seen[before:]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Hold a test that has passed to what it is named for."""
        report = yield
        if call.when != "call" or not report.passed:
            return report
        seen = self.of(item)
        if item.config.getoption("evidence"):
            report.user_properties.append(
                (PROPERTY, sorted([s.gate, s.verdict, s.scripted] for s in seen))
            )
        lacking = promised(item.nodeid) - {(s.gate, s.verdict) for s in seen}
        if lacking and self.doubted is None:
            told = ", ".join(f"{gate}: {verdict}" for gate, verdict in sorted(lacking))
            report.outcome = "failed"
            report.longrepr = f"tests/cases/evidence names it for what it did not see ({told})"
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Gather what all processes saw."""
        for name, seen in report.user_properties:
            if name == PROPERTY and report.when == "call" and isinstance(seen, list):
                for gate, verdict, scripted in seen:
                    self.all.setdefault((gate, verdict, scripted), []).append(report.nodeid)

    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter, config: pytest.Config
    ) -> None:
        """Write the file and show the table."""
        for line in self.unnoticed:
            terminalreporter.line(line, red=True)
        name = config.getoption("evidence")
        if not name or hasattr(config, "workerinput"):
            return
        rows: dict[str, dict[str, dict[str, list[str]]]] = {}
        for (gate, verdict, scripted), tests in sorted(self.all.items()):
            kind = "scripted" if scripted else "real"
            rows.setdefault(gate, {}).setdefault(verdict, {})[kind] = sorted(set(tests))
        Path(name).write_text(json.dumps(rows, indent=1) + "\n")
        terminalreporter.section("evidence")
        for line in table(rows):
            terminalreporter.line(line)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add what it can be asked."""
    group = parser.getgroup("evidence")
    group.addoption("--evidence", metavar="FILE", help="write down what was judged of real looks")
    group.addoption("--doubt", action="store_true", help="judge otherwise, and see who notices")


def pytest_configure(config: pytest.Config) -> None:
    """Watch the whole session."""
    recorder = Recorder()
    patch = pytest.MonkeyPatch()
    recorder.watch(patch)
    config.add_cleanup(patch.undo)
    config.pluginmanager.register(recorder, "evidence-recorder")
