"""The report as metrics in Prometheus' text format, for node_exporter's textfile collector.

Names carry their unit, and what is counted may go down, so all are gauges. Cardinality is bounded
by targets and gates; of failures one by one at most :data:`MOST` are told, required ones first, and
how many were left out is a metric of its own.
"""

from collections import Counter
from collections.abc import Iterable, Iterator

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from fleet import __version__
from fleet.errors import Unreachable
from fleet.reports.text import clip, printable
from fleet.reports.view import View
from fleet.verifier.model import Finding, Verdict
from fleet.verifier.run import Run, TargetResult, conclude

MOST = 1000  # failures that are told one by one
LONGEST = 200  # characters of a label
FAILURES = (Verdict.FAIL, Verdict.ERROR)


def render(run: Run, _view: View) -> str:
    """Render a run as metrics."""
    return exposed(metrics(run))


def exposed(found: Iterable[Metric]) -> str:
    """Return metrics in Prometheus' text format, version 0.0.4."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Told(list(found)))
    return generate_latest(registry).decode()


class _Told(Collector):
    def __init__(self, found: list[Metric]) -> None:
        self._found = found

    def collect(self) -> Iterable[Metric]:
        return self._found


def metrics(run: Run) -> Iterator[Metric]:
    """Yield what a run comes down to."""
    yield _one("fleet_build_info", "The version of fleet that judged.", {"version": __version__}, 1)
    yield from _of_run(run)
    yield _targets(run)
    yield _findings(run)
    yield from _of_targets(run)
    yield _gates(run)
    yield from _failing(run)
    yield _one(
        "fleet_drifted_families",
        "Families of image, containers, compose file and hosts in which a side differs.",
        {},
        sum(table.drifted for table in run.drift),
    )


def _of_run(run: Run) -> Iterator[Metric]:
    command = {"command": run.command}
    yield _one(
        "fleet_run_finished_timestamp_seconds",
        "When the last run ended, in seconds since 1970.",
        command,
        run.finished.timestamp(),
    )
    seconds = (run.finished - run.started).total_seconds()
    yield _one("fleet_run_duration_seconds", "How long the last run took.", command, seconds)
    yield _one(
        "fleet_run_exit_code",
        "What the last run came to: 0 all required gates hold, 2 one failed, 3 one could not be"
        " checked.",
        command,
        conclude(run).code,
    )


def _targets(run: Run) -> Metric:
    family = GaugeMetricFamily(
        "fleet_targets",
        "Targets of the last run: seen, unreachable, or unread (they answered, no facts came).",
        labels=["state"],
    )
    states = Counter(_state(result) for result in run.results)
    for state in ("seen", "unreachable", "unread"):
        family.add_metric([state], states[state])
    return family


def _state(result: TargetResult) -> str:
    if result.trouble is None:
        return "seen"
    return "unreachable" if isinstance(result.trouble, Unreachable) else "unread"


def _findings(run: Run) -> Metric:
    family = GaugeMetricFamily(
        "fleet_findings",
        "Findings of the last run, by verdict and whether they decide the exit code.",
        labels=["verdict", "required"],
    )
    counts = Counter((f.verdict, f.required) for f in run.findings)
    for verdict in Verdict:
        for required in (True, False):
            family.add_metric([verdict.value, _word(required)], counts[verdict, required])
    return family


def _of_targets(run: Run) -> Iterator[Metric]:
    up = GaugeMetricFamily("fleet_target_up", "Whether a target was seen.", labels=["target"])
    taken = GaugeMetricFamily(
        "fleet_target_facts_timestamp_seconds",
        "When a target's facts were read, in seconds since 1970.",
        labels=["target"],
    )
    took = GaugeMetricFamily(
        "fleet_target_duration_seconds", "How long asking a target took.", labels=["target"]
    )
    found = GaugeMetricFamily(
        "fleet_target_required_findings",
        "Required findings of a target, by verdict.",
        labels=["target", "verdict"],
    )
    for result in run.results:
        name = _label(result.target.name)
        up.add_metric([name], float(result.trouble is None))
        if result.facts is not None:
            taken.add_metric([name], result.facts.taken_at.timestamp())
        took.add_metric([name], result.milliseconds / 1000)
        counts = Counter(f.verdict for f in result.findings if f.required)
        for verdict in Verdict:
            found.add_metric([name, verdict.value], counts[verdict])
    yield from (up, taken, took, found)


def _gates(run: Run) -> Metric:
    family = GaugeMetricFamily(
        "fleet_gate_findings",
        "Findings of a gate over all targets, by verdict.",
        labels=["system", "gate", "verdict"],
    )
    counts = Counter((f.system, f.gate, f.verdict) for f in run.findings)
    for system, gate in sorted({(f.system, f.gate) for f in run.findings}):
        for verdict in Verdict:
            family.add_metric([system, gate, verdict.value], counts[system, gate, verdict])
    return family


def _failing(run: Run) -> Iterator[Metric]:
    bad = sorted((f for f in run.findings if f.verdict in FAILURES), key=_first)
    family = GaugeMetricFamily(
        "fleet_gate_failing",
        f"1 for each gate that fails on a target; at most {MOST}, required ones first.",
        labels=["target", "system", "gate", "severity", "required"],
    )
    for f in bad[:MOST]:
        told = [_label(f.target), f.system, f.gate, f.severity.value, _word(f.required)]
        family.add_metric(told, 1)
    yield family
    yield _one(
        "fleet_gate_failing_left_out",
        "Failures that fleet_gate_failing does not tell one by one.",
        {},
        max(0, len(bad) - MOST),
    )


def _first(finding: Finding) -> tuple[bool, str, str]:
    return not finding.required, finding.target, finding.gate


def _word(required: bool) -> str:
    return "true" if required else "false"


def _label(text: str) -> str:
    return clip(printable(text), LONGEST)


def _one(name: str, told: str, labels: dict[str, str], value: float) -> Metric:
    family = GaugeMetricFamily(name, told, labels=list(labels))
    family.add_metric(list(labels.values()), value)
    return family
