"""The report as SARIF 2.1.0, for code scanning and for viewers.

Failures, warnings and waived failures are results. What could not be seen is no result, because
nothing was found: it is a notification of the invocation, whose ``executionSuccessful`` is false
where something required is among it. What holds is counted in the run's properties.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import quote

from fleet import __version__
from fleet.errors import Unreachable
from fleet.reports.points import REACHED, details
from fleet.reports.rules import Rule, rules_of
from fleet.reports.sarif_model import (
    ArtifactLocation,
    AutomationDetails,
    Configuration,
    Descriptor,
    Driver,
    Invocation,
    Level,
    Location,
    Log,
    LogicalLocation,
    Message,
    Notification,
    PhysicalLocation,
    Property,
    Reference,
    Region,
    Result,
    SarifRun,
    Suppression,
    Tool,
)
from fleet.reports.text import clip, count, printable
from fleet.reports.view import View
from fleet.verifier.model import Finding, Severity, Verdict
from fleet.verifier.run import UNSEEN, Run, TargetResult, conclude, deciding, failing

LONGEST = 4000  # characters of a message's line
FINGERPRINT = "fleetTargetGate/v1"
HOSTS_FINGERPRINT = "primaryLocationLineHash"  # the one that code hosts go by
NOTIFICATIONS = {
    "not-reached": ("A target could not be reached.", "The message says where it failed."),
    "not-read": ("A target was reached and its facts not read.", "The message says why."),
    "not-checked": ("A gate could not be seen on a target.", "The message says what hid it."),
}
FOUND = (Verdict.FAIL, Verdict.WARN, Verdict.WAIVED)


def render(run: Run, _view: View) -> str:
    """Render a run as SARIF JSON in UTF-8."""
    told = log(run).model_dump(mode="json", by_alias=True, exclude_none=True)
    return json.dumps(told, indent=2, ensure_ascii=False) + "\n"


def log(run: Run) -> Log:
    """Lay out a run as a SARIF log of one run."""
    return Log(runs=(_Telling(run).run(),))


def fingerprint(finding: Finding) -> str:
    """Name a finding by target and gate alone: what it says may change, and it stays the same."""
    words = json.dumps([finding.target, finding.system, finding.gate])
    return hashlib.sha256(words.encode("utf-8", "backslashreplace")).hexdigest()


def address_uri(address: str) -> str:
    """Write a target's address as a URI: its scheme stays, what a URI cannot hold is escaped."""
    scheme, _, rest = address.partition(":")
    return f"{scheme}:{quote(rest.encode('utf-8', 'backslashreplace'), safe='/:@~+,=&;!')}"


class _Telling:
    """One run, and what its parts need to know of each other."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._rules = rules_of(run)
        self._index = {rule.id: number for number, rule in enumerate(self._rules)}
        self._decide = {(f.target, f.system, f.gate) for f in deciding(run)}
        self._addresses = {r.target.name: str(r.target.address) for r in run.results}

    def run(self) -> SarifRun:
        run, conclusion = self._run, conclude(self._run)
        notifications = tuple(self._notifications())
        invocation = Invocation(
            start_time_utc=run.started,
            end_time_utc=run.finished,
            exit_code=conclusion.code,
            exit_code_description=printable(conclusion.reason),
            execution_successful=conclusion.code != 3  # noqa: PLR2004 - the exit code
            and not any(n.level == "error" for n in notifications),
            tool_execution_notifications=notifications,
        )
        driver = Driver(
            name="fleet",
            semantic_version=__version__,
            rules=tuple(map(_descriptor, self._rules)),
            notifications=tuple(_kind(name, *texts) for name, texts in NOTIFICATIONS.items()),
        )
        counts = {verdict.value: number for verdict, number in run.counts().items()}
        return SarifRun(
            tool=Tool(driver=driver),
            automation_details=AutomationDetails(id=f"fleet/{run.command}/{run.id}"),
            invocations=(invocation,),
            results=tuple(self._result(f) for f in self._sorted() if f.verdict in FOUND),
            properties={"strict": run.strict, "verdicts": counts, "targets": len(run.results)},
        )

    def _sorted(self) -> Sequence[Finding]:
        return sorted(self._run.findings, key=lambda f: (f.target, f.system, f.gate))

    def _result(self, finding: Finding) -> Result:
        mark = fingerprint(finding)
        waived = finding.verdict is Verdict.WAIVED
        justification = printable(str(finding.waiver or finding.message))
        return Result(
            rule_id=finding.gate,
            rule_index=self._index[finding.gate],
            level=self._level(finding),
            message=_message(finding.target, finding.message, details(finding)),
            locations=(self._location(finding.target, finding.system, finding.gate),),
            partial_fingerprints={FINGERPRINT: mark, HOSTS_FINGERPRINT: f"{mark[:16]}:1"},
            suppressions=(Suppression(justification=justification),) if waived else (),
            properties=_properties(finding),
        )

    def _level(self, finding: Finding) -> Level:
        decides = (finding.target, finding.system, finding.gate) in self._decide
        failure = finding.verdict is Verdict.WAIVED or failing(
            finding.verdict, strict=self._run.strict
        )
        if decides and failure:
            return "error"
        return "note" if finding.severity is Severity.MINOR else "warning"

    def _location(self, target: str, system: str, name: str) -> Location:
        address = self._addresses.get(target, f"fleet:{target}")
        # There are no lines; code hosts refuse a result that names none.
        place = PhysicalLocation(
            artifact_location=ArtifactLocation(uri=address_uri(address)),
            region=Region(start_line=1),
        )
        told = LogicalLocation(
            name=name,
            fully_qualified_name=f"{printable(clip(target, LONGEST))}/{system}/{name}",
            kind="resource",
        )
        return Location(physical_location=place, logical_locations=(told,))

    def _notifications(self) -> Iterator[Notification]:
        silent = [r for r in self._run.results if r.facts is None and r.trouble is not None]
        yield from (self._silence(r) for r in sorted(silent, key=lambda r: r.target.name))
        names = {r.target.name for r in silent}
        for finding in self._sorted():
            if finding.verdict in UNSEEN and finding.target not in names:
                yield self._unseen(finding)

    def _silence(self, result: TargetResult) -> Notification:
        trouble, target = result.trouble, result.target.name
        assert trouble is not None  # noqa: S101 - the caller has looked
        word = "not-reached" if isinstance(trouble, Unreachable) else "not-read"
        lines = (trouble.hint, f"{count(len(result.findings), 'gate')} not judged")
        required = any((f.target, f.system, f.gate) in self._decide for f in result.findings)
        return Notification(
            descriptor=Reference(id=word, index=list(NOTIFICATIONS).index(word)),
            level="error" if required else "warning",
            message=_message(target, trouble.what, (printable(line) for line in lines)),
            locations=(self._location(target, "fleet", REACHED),),
        )

    def _unseen(self, finding: Finding) -> Notification:
        decides = (finding.target, finding.system, finding.gate) in self._decide
        told = f"{finding.gate} was not checked: {finding.message}"
        return Notification(
            descriptor=Reference(id="not-checked", index=list(NOTIFICATIONS).index("not-checked")),
            associated_rule=Reference(id=finding.gate, index=self._index[finding.gate]),
            level="error" if decides else "note",
            message=_message(finding.target, told, details(finding)),
            locations=(self._location(finding.target, finding.system, finding.gate),),
        )


def _message(target: str, told: str, lines: Iterator[str]) -> Message:
    head = f"{printable(clip(target, LONGEST))}: {printable(clip(told, LONGEST))}"
    return Message(text=_plain("\n".join(filter(None, (head, *lines)))))


def _plain(text: str) -> str:
    """Keep a text from being read as a link: ``[words](place)`` is one in SARIF (3.11.6)."""
    return text.replace("[", "\\[") if "](" in text else text


def _properties(finding: Finding) -> Mapping[str, Property]:
    return {
        "target": printable(clip(finding.target, LONGEST)),
        "system": finding.system,
        "verdict": finding.verdict.value,
        "required": finding.required,
        "severity": finding.severity.value,
    }


def _kind(name: str, told: str, more: str) -> Descriptor:
    return Descriptor(
        id=name,
        name=_friendly(name),
        short_description=Message(text=told),
        full_description=Message(text=f"{told} {more}"),
        help=Message(text=f"{told} {more} What was not seen never passes.", markdown=more),
        default_configuration=Configuration(level="error"),
    )


def _friendly(name: str) -> str:
    """Write an id as one word: ``BridgeFeedOn``."""
    return "".join(word.capitalize() for word in re.split(r"\W|_", name))


def _descriptor(rule: Rule) -> Descriptor:
    level: Level = "note" if rule.severity is Severity.MINOR else "warning"
    problem = {Severity.CRITICAL: "error", Severity.MAJOR: "warning"}
    properties: dict[str, Property] = {
        "tags": [*rule.capabilities, rule.severity.value],
        "problem.severity": problem.get(rule.severity, "recommendation"),
    }
    if rule.required:
        properties["required"] = rule.required
    return Descriptor(
        id=rule.id,
        name=_friendly(rule.id),
        short_description=Message(text=rule.asks),
        full_description=Message(text=f"Without it: {rule.without}" if rule.without else rule.asks),
        help=Message(text=rule.text, markdown=rule.markdown),
        default_configuration=Configuration(level="error" if rule.always else level),
        properties=properties,
    )
