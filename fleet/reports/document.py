"""A run as a document: the layout ``fleet.run/1``, which other programs read.

The layout only grows: a key that exists keeps its meaning. Order is fixed (targets and findings by
name), so that two documents of one run are equal byte for byte.
"""

from datetime import UTC, date, datetime
from typing import Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from fleet import __version__
from fleet.errors import TargetError, Unreachable
from fleet.facts.model import Platform
from fleet.inventory.model import Kind
from fleet.reports.text import printable
from fleet.verifier.fleetwide.table import Side, Standing, Table, What
from fleet.verifier.model import Accepted, Finding, Severity, Verdict
from fleet.verifier.run import Run, TargetResult, conclude
from fleet.verifier.toolkit import Commit

FORMAT: Literal["fleet.run/1"] = "fleet.run/1"


class Part(BaseModel):
    """Base of all parts: frozen, and closed to unknown keys."""

    model_config = ConfigDict(frozen=True, defer_build=True, extra="forbid")


class RunPart(Part):
    """The invocation itself."""

    id: str = Field(description="Unique; sorts by start.")
    fleet: str = Field(description="The version of fleet that judged.")
    command: str = Field(description="The command's name, never its arguments.")
    started: AwareDatetime
    finished: AwareDatetime
    strict: bool = Field(description="Whether advisory gates decide the exit code too.")


class TroublePart(Part):
    """Why a target could not be asked."""

    stage: str = Field(
        description="Where it failed: resolve, connect, timeout, host-key, authentication, become,"
        " engine, missing; probe (it answered, but not with what was asked for); unsupported."
    )
    message: str
    hint: str = Field(description="What to do next; empty when nothing is known.")


class PlatformPart(Part):
    """Who was asked, and where."""

    os: str
    machine: str
    hostname: str
    user: str
    home: str
    rule: str = Field(description="What gave the home.")


class TargetPart(Part):
    """One target, reached or not."""

    name: str
    address: str
    kind: Kind
    groups: tuple[str, ...]
    systems: tuple[str, ...]
    require: tuple[str, ...] = Field(description="Capabilities that the inventory requires.")
    reachable: bool
    trouble: TroublePart | None = Field(description="Why there are no facts; null when there are.")
    milliseconds: int = Field(ge=0, description="How long asking took.")
    taken_at: AwareDatetime | None = Field(description="When its facts were read.")
    platform: PlatformPart | None


class WaiverPart(Part):
    """What the inventory says of a failure that it accepts."""

    reason: str
    until: date = Field(description="The last day on which the failure is accepted.")
    expired: bool = Field(description="Whether that day has passed; the failure then counts.")


class FindingPart(Part):
    """One gate's verdict on one target."""

    target: str = Field(description="A target; of the system `fleet`: `fleet`, or a group.")
    system: str
    gate: str
    verdict: Verdict
    severity: Severity
    required: bool
    message: str
    evidence: tuple[str, ...] = Field(description="The facts that decided it, one line each.")
    since: str | None = Field(description="The commit or version the gate dates from.")
    remedy: str | None
    follows: str | None = Field(description="A gate here whose failure this one only repeats.")
    capabilities: tuple[str, ...]
    waiver: WaiverPart | None = Field(description="Of a failure that is, or was, accepted.")
    fixed_by: tuple[str, ...] = Field(
        description="Artifacts that `fleet fix GATE` deploys again to put a failure or a warning"
        " right; empty where a person has to."
    )


class CommitPart(Part):
    """A commit of the toolkit."""

    id: str
    date: str
    behind: int = Field(ge=0, description="How many commits of the clone's history came after it.")


class SidePart(Part):
    """One side of what belongs together."""

    what: What = Field(description="What it is; `compose` is the compose file.")
    target: str = Field(description="The target that told of it; in `targets`.")
    name: str = Field(description="The image's, the container's or the host's name, or a path.")
    standing: Standing = Field(
        description="`behind`: as all others, and the history knows a newer commit."
    )
    image: str = Field(description="The image that it is, was made of, or names today; or empty.")
    commit: CommitPart | None = Field(description="The newest that carries its bridge, if known.")
    content: str = Field(description="sha256 of its bridge; empty where it has none.")
    origin: str = Field(description="Where the bytes come from: baked, mounted, link, file.")
    source: str = Field(description="The file, or what it is mounted from.")
    created: str = Field(description="As the engine tells it; of a file when it was written.")
    notes: tuple[str, ...] = Field(description="What differs, or why it was not seen.")
    remedy: str = Field(description="What to do about it; empty for nothing.")


class DriftPart(Part):
    """The sides of one thing: images, containers, compose files, clones and hosts of one name."""

    name: str
    drifted: bool = Field(description="Whether a side differs from the others.")
    seen: int = Field(ge=0, description="How many of the sides were seen.")
    total: int = Field(ge=0)
    reference: CommitPart | None = Field(description="The newest commit that a side carries.")
    newest: CommitPart | None = Field(description="The newest commit of the toolkit's clone.")
    elsewhere: tuple[str, ...] = Field(description="Targets that belong to it and were not asked.")
    notes: tuple[str, ...] = Field(description="What was found and not looked at.")
    sides: tuple[SidePart, ...]


class TargetCounts(Part):
    """How many targets were asked, and what became of it."""

    total: int
    reachable: int
    unreachable: int
    unread: int = Field(description="Reachable, but no facts came.")


class ConclusionPart(Part):
    """The exit code and the reason for it."""

    code: Literal[0, 2, 3]
    reason: str


class SummaryPart(Part):
    """What the run comes down to."""

    verdicts: dict[Verdict, int] = Field(description="Findings by verdict; every verdict is told.")
    required: dict[Verdict, int] = Field(description="The same, of required findings only.")
    targets: TargetCounts
    conclusion: ConclusionPart


class RunDocument(Part):
    """One run: what was asked of whom, every finding, and the conclusion."""

    format: Literal["fleet.run/1"] = FORMAT
    run: RunPart
    targets: tuple[TargetPart, ...]
    findings: tuple[FindingPart, ...]
    drift: tuple[DriftPart, ...] = Field(
        default=(), description="What has several sides, each held against the others; by name."
    )
    summary: SummaryPart


def document(run: Run) -> RunDocument:
    """Lay out a run. Texts from targets come with control characters escaped."""
    findings = sorted(run.findings, key=lambda f: (f.target, f.system, f.gate))
    return RunDocument(
        run=RunPart(
            id=run.id,
            fleet=__version__,
            command=run.command,
            started=_utc(run.started),
            finished=_utc(run.finished),
            strict=run.strict,
        ),
        targets=tuple(_target(r) for r in sorted(run.results, key=lambda r: r.target.name)),
        findings=tuple(_finding(f) for f in findings),
        drift=tuple(_drift(table) for table in run.drift),
        summary=_summary(run),
    )


def json_schema() -> dict[str, object]:
    """Describe ``fleet.run/1`` as a JSON Schema (draft 2020-12)."""
    schema: dict[str, object] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": FORMAT,
    }
    return schema | RunDocument.model_json_schema(mode="serialization")


def _utc(moment: datetime) -> datetime:
    return moment.astimezone(UTC)


def _target(result: TargetResult) -> TargetPart:
    target, trouble, facts = result.target, result.trouble, result.facts
    return TargetPart(
        name=printable(target.name),
        address=printable(str(target.address)),
        kind=target.kind,
        groups=_texts(target.groups),
        systems=_texts(target.systems),
        require=_texts(target.require),
        reachable=not isinstance(trouble, Unreachable),
        trouble=None if trouble is None else _trouble(trouble),
        milliseconds=result.milliseconds,
        taken_at=None if facts is None else _utc(facts.taken_at),
        platform=None if facts is None else _platform(facts.platform),
    )


def _trouble(trouble: TargetError) -> TroublePart:
    return TroublePart(
        stage=trouble.stage, message=printable(trouble.what), hint=printable(trouble.hint)
    )


def _platform(platform: Platform) -> PlatformPart:
    return PlatformPart(
        os=printable(platform.os),
        machine=printable(platform.machine),
        hostname=printable(platform.hostname),
        user=printable(platform.user),
        home=printable(platform.home),
        rule=printable(platform.rule),
    )


def _finding(finding: Finding) -> FindingPart:
    return FindingPart(
        target=printable(finding.target),
        system=finding.system,
        gate=finding.gate,
        verdict=finding.verdict,
        severity=finding.severity,
        required=finding.required,
        message=printable(finding.message),
        evidence=_texts(finding.evidence),
        since=_text(finding.since),
        remedy=_text(finding.remedy),
        follows=finding.follows,
        capabilities=_texts(finding.capabilities),
        waiver=_waiver(finding.waiver),
        fixed_by=finding.fixed_by,
    )


def _waiver(waiver: Accepted | None) -> WaiverPart | None:
    if waiver is None:
        return None
    reason = printable(waiver.reason)
    return WaiverPart(reason=reason, until=waiver.until, expired=waiver.expired)


def _drift(table: Table) -> DriftPart:
    return DriftPart(
        name=printable(table.name),
        drifted=table.drifted,
        seen=table.seen,
        total=len(table.sides),
        reference=_commit(table.reference),
        newest=_commit(table.newest),
        elsewhere=_texts(table.elsewhere),
        notes=_texts(table.notes),
        sides=tuple(_side(side) for side in table.sides),
    )


def _side(side: Side) -> SidePart:
    return SidePart(
        what=side.what,
        target=printable(side.target),
        name=printable(side.name),
        standing=side.standing,
        image=printable(side.image),
        commit=_commit(side.bridge.commit) if side.bridge else None,
        content=side.bridge.sha256 if side.bridge else "",
        origin=side.origin,
        source=printable(side.source),
        created=printable(side.created),
        notes=_texts(side.notes),
        remedy=printable(side.remedy),
    )


def _commit(commit: Commit | None) -> CommitPart | None:
    if commit is None:
        return None
    return CommitPart(id=commit.id, date=printable(commit.date), behind=commit.behind)


def _text(text: str | None) -> str | None:
    return None if text is None else printable(text)


def _texts(texts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(printable(text) for text in texts)


def _summary(run: Run) -> SummaryPart:
    conclusion = conclude(run)
    unreachable = sum(isinstance(r.trouble, Unreachable) for r in run.results)
    troubled = sum(r.trouble is not None for r in run.results)
    required = [f.verdict for f in run.findings if f.required]
    return SummaryPart(
        verdicts=dict(run.counts()),
        required={verdict: required.count(verdict) for verdict in Verdict},
        targets=TargetCounts(
            total=len(run.results),
            reachable=len(run.results) - unreachable,
            unreachable=unreachable,
            unread=troubled - unreachable,
        ),
        conclusion=ConclusionPart.model_validate(
            {"code": conclusion.code, "reason": printable(conclusion.reason)}
        ),
    )
