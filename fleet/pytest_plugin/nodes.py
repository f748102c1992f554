"""The tests themselves: ``fleet/laptop::bridge.feed``."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fleet.inventory.model import Target
from fleet.pytest_plugin import told
from fleet.pytest_plugin.asked import CHECKED, Asked, node_name
from fleet.pytest_plugin.outcome import Outcome, outcome
from fleet.verifier.fleetwide.member import FLEET
from fleet.verifier.model import Finding
from fleet.verifier.run import NOTHING

if TYPE_CHECKING:
    from fleet.pytest_plugin.session import FleetSession

NODE = "fleet"


class Fleet(pytest.Collector):
    """All targets, and what is asked of them together."""

    fleet: "FleetSession"

    @classmethod
    def of(cls, session: pytest.Session, fleet: "FleetSession") -> "Fleet":
        """Make the node."""
        node: Fleet = cls.from_parent(session, name=NODE, nodeid=NODE, path=fleet.path)
        node.fleet = fleet
        return node

    def collect(self) -> Iterator[pytest.Item | pytest.Collector]:
        """Yield the targets, then what is asked of groups, then of all."""
        for target in self.fleet.chosen.targets:
            asked = tuple(self.fleet.asked_of(target))
            if asked:
                yield Subject.of(self, target.name, asked)
        together = self.fleet.together
        for subject in dict.fromkeys(a.subject for a in together if a.subject != FLEET):
            yield Subject.of(self, subject, tuple(a for a in together if a.subject == subject))
        for one in together:
            if one.subject == FLEET:
                yield GateTest.of(self, self.fleet, one)


class Subject(pytest.Collector):
    """One target, or one group of them."""

    fleet: "FleetSession"
    asked: tuple[Asked, ...]

    @classmethod
    def of(cls, parent: Fleet, name: str, asked: tuple[Asked, ...]) -> "Subject":
        """Make the node."""
        shown = node_name(name)
        node: Subject = cls.from_parent(parent, name=shown, nodeid=f"{NODE}/{shown}")
        node.fleet, node.asked = parent.fleet, asked
        return node

    def collect(self) -> Iterator[pytest.Item]:
        """Yield its gates."""
        for asked in self.asked:
            yield GateTest.of(self, self.fleet, asked)

    def __repr__(self) -> str:
        return f"<{'Target' if self.asked[0].target else 'Group'} {self.name}>"


class GateTest(pytest.Item):
    """One gate of one target."""

    fleet: "FleetSession"
    asked: Asked

    @classmethod
    def of(cls, parent: Fleet | Subject, fleet: "FleetSession", asked: Asked) -> "GateTest":
        """Make the node."""
        node: GateTest = cls.from_parent(parent, name=asked.gate)
        node.fleet, node.asked = fleet, asked
        node.add_marker("fleet")
        node.extra_keyword_matches.add(asked.system)
        if asked.target is not None:
            node.extra_keyword_matches |= {asked.target.kind.value, *asked.target.groups}
        return node

    def __repr__(self) -> str:
        return f"<Gate {self.name}>"

    @property
    def target(self) -> Target | None:
        """Return the one target it is asked of."""
        return self.asked.target

    @property
    def place(self) -> tuple[Path, int]:
        """Return where its target is declared."""
        return told.located(self.target.place if self.target else None, self.fleet.path)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return where its target is declared, and the head of its report."""
        path, line = self.place
        return path, line - 1, f"{self.asked.subject}: {self.asked.gate}"

    def setup(self) -> None:
        """Look, unless that was done; a target that cannot be looked at is told by one test."""
        if self.target is None:
            self.fleet.audit.seen()
        else:
            self.fleet.require(self.target.name)

    def runtest(self) -> None:
        """Tell what the gate says."""
        if self.asked.gate == CHECKED:
            self._checked()
            return
        finding = self._finding()
        if finding is None:
            pytest.skip("not applicable: nothing to compare")
        self.user_properties += [
            ("fleet.target", finding.target),
            ("fleet.system", finding.system),
            ("fleet.verdict", finding.verdict.value),
            ("fleet.severity", finding.severity.value),
            ("fleet.required", str(finding.required).lower()),
        ]
        self._told(finding)

    def _finding(self) -> Finding | None:
        seen = self.fleet.audit.seen()
        if self.target is None and self.asked.subject == FLEET:
            others = self.fleet.subjects(self.asked.gate) - {FLEET}
            return next(iter(seen.unclaimed(self.asked.gate, others)), None)
        return seen.findings(self.asked.subject).get(self.asked.gate)

    def _told(self, finding: Finding) -> None:
        came = outcome(finding, self.fleet.cause(finding), strict=self.fleet.strict)
        if came.outcome is Outcome.FAILED:
            raise GateFailed(finding)
        if came.outcome is Outcome.XFAILED:
            pytest.xfail(told.one_line(came.reason))
        if came.outcome is Outcome.SKIPPED:
            pytest.skip(told.one_line(came.reason))

    def _checked(self) -> None:
        """Fail where nothing required was checked, or where no other test says what is wrong."""
        summary = self.fleet.audit.seen().run.summary
        conclusion = summary.conclusion
        if conclusion.reason == NOTHING or (conclusion.code and self.fleet.is_alone):
            raise pytest.fail.Exception(conclusion.reason, pytrace=False)
        if not summary.targets.reachable:
            pytest.skip("nothing was checked: no target answered, which their own tests say")


class GateFailed(Exception):
    """A gate does not hold, or could not be checked and had to be."""

    def __init__(self, finding: Finding) -> None:
        self.finding = finding
        super().__init__(finding.message)
