"""Gates as rules that explain themselves: what one asks, what it costs, the remedy, the source."""

from fleet.dataclass import dataclass
from fleet.reports.catalogue import required_when, source_told
from fleet.reports.marked import prose
from fleet.reports.text import printable
from fleet.systems.model import Gate
from fleet.verifier.model import Finding, Severity
from fleet.verifier.run import Run


@dataclass(frozen=True, slots=True)
class Rule:
    """One gate, for a reader who has never heard of it.

    Attributes:
        asks: the sentence that is true when it holds.
        without: what it costs not to have it; empty when nothing is said.
        required: when it decides the exit code; empty when that is not known.
        parts: label and text of all else that is known.
    """

    id: str
    asks: str
    without: str
    severity: Severity
    always: bool
    required: str
    capabilities: tuple[str, ...]
    parts: tuple[tuple[str, str], ...]

    @property
    def text(self) -> str:
        """Everything, one line a part."""
        return "\n".join((self.asks, *(f"{label}: {text}" for label, text in self.parts)))

    @property
    def markdown(self) -> str:
        """The same as Markdown."""
        lines = "\n".join(f"- **{label}:** {prose(text)}" for label, text in self.parts)
        return f"{prose(self.asks)}\n\n{lines}"


def rules_of(run: Run) -> tuple[Rule, ...]:
    """Return a rule for each gate that a run has findings of, by id."""
    known = {gate.id: gate for gate in run.gates}
    first: dict[str, Finding] = {}
    for finding in run.findings:
        first.setdefault(finding.gate, finding)
    return tuple(_rule(first[name], known.get(name)) for name in sorted(first))


def _rule(finding: Finding, gate: Gate | None) -> Rule:
    """Make a rule; of a gate that the run does not describe only its findings are known."""
    told = gate or Gate(id=finding.gate, remedy=finding.remedy or "")
    required = required_when(gate) if gate else ""
    parts = (
        ("without it", told.without),
        ("remedy", told.remedy),
        ("since", finding.since or ""),
        ("system", finding.system),
        ("required", required),
        ("severity", finding.severity.value),
        ("source", source_told(told.source) if told.source else ""),
    )
    return Rule(
        id=finding.gate,
        asks=printable(told.asks) or f"{finding.gate} holds.",
        without=printable(told.without),
        severity=finding.severity,
        always=told.always,
        required=required,
        capabilities=finding.capabilities,
        parts=tuple((label, printable(text)) for label, text in parts if text),
    )
