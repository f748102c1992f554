"""A target as a user's own tests see it."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from fleet.facts.model import Facts
    from fleet.facts.paths import PathFact
    from fleet.inventory.model import Target, Variables
    from fleet.pytest_plugin.audit import Seen
    from fleet.reports.document import TroublePart
    from fleet.verifier.look import Look
    from fleet.verifier.model import Finding


class TargetUnseen(Exception):
    """A test asks for facts of a target that could not be looked at."""

    def __init__(self, target: str, trouble: "TroublePart") -> None:
        self.target, self.trouble = target, trouble
        super().__init__(f"{target}: {trouble.message}")


class FleetTarget:
    """One target of the fleet. What it knows is read when it is first asked for, once a session.

    Attributes:
        target: its description.
        id: its name in tests' ids.
    """

    def __init__(
        self,
        target: "Target",
        name: str,
        seen: "Callable[[], Seen]",
        look: "Callable[[Target, str, Facts], Look]",
    ) -> None:
        self.target, self.id = target, name
        self._seen, self._look = seen, look

    def __repr__(self) -> str:
        return f"<FleetTarget {self.id}>"

    @property
    def name(self) -> str:
        """Return its name; of a target without an inventory, its address."""
        return self.target.name

    @property
    def kind(self) -> str:
        """Return ``host``, ``container`` or ``image``."""
        return self.target.kind.value

    @property
    def groups(self) -> tuple[str, ...]:
        """Return the groups it is in, outermost first."""
        return self.target.groups

    @property
    def variables(self) -> "Variables":
        """Return what the inventory says of it; secrets are references."""
        return self.target.variables

    @property
    def facts(self) -> "Facts":
        """Return what was read on it.

        Raises:
            TargetUnseen: it could not be looked at.
        """
        seen = self._seen()
        trouble = seen.trouble(self.name)
        if trouble is not None:
            raise TargetUnseen(self.name, trouble)
        return seen.facts[self.name]

    def path(self, path: str) -> "PathFact":
        """Return what was read at a path.

        Raises:
            LookupError: no system asks for it, and neither does the test.
            TargetUnseen: the target could not be looked at.
        """
        found = self.facts.paths.get(path)
        if found is None:
            raise LookupError(
                f"{path} was not asked for; a test asks by @pytest.mark.fleet_read({path!r})"
            )
        return found

    def content(self, path: str) -> bytes:
        """Return the bytes of a file.

        Raises:
            LookupError: they were not read; says why.
            TargetUnseen: the target could not be looked at.
        """
        fact = self.path(path)
        found = self.facts.content(fact)
        if found is None:
            raise LookupError(f"{path} was not read whole: {fact.why or fact.state.value}")
        return found

    def judge(self, gate: str) -> "Finding":
        """Return what a gate says of it.

        Raises:
            LookupError: no system of the target has the gate.
            TargetUnseen: the target could not be looked at.
        """
        findings = self._seen().findings(self.facts.target)
        if gate not in findings:
            known = ", ".join(findings) or "none"
            raise LookupError(f"{gate} is not asked of {self.name}; these are: {known}")
        return findings[gate]

    def look(self, system: str) -> "Look":
        """Return what a gate of a system would see, to hand it to a gate function of your own.

        Raises:
            LookupError: the target has no such system.
            TargetUnseen: the target could not be looked at.
        """
        if system not in self.target.systems:
            raise LookupError(f"{self.name} has no system {system}")
        return self._look(self.target, system, self.facts)
