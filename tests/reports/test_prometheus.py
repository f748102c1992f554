"""Metrics that a textfile collector takes, and that promtool finds nothing wrong with."""

import shutil
import subprocess

import pytest
from prometheus_client.parser import text_string_to_metric_families
from support.crafted import craft, finding, result, run

from fleet.reports.prometheus import MOST, render
from fleet.reports.view import View
from fleet.verifier.model import Verdict
from fleet.verifier.run import Run

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def samples(made: Run) -> Samples:
    text = render(made, View())
    found: Samples = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            key = (sample.name, frozenset(sample.labels.items()))
            assert key not in found, key
            assert sample.timestamp is None  # a textfile collector refuses them
            found[key] = sample.value
    return found


def value(found: Samples, name: str, **labels: str) -> float:
    return found[name, frozenset(labels.items())]


def test_what_a_run_comes_down_to() -> None:
    found = samples(craft("mixed"))
    assert value(found, "fleet_run_exit_code", command="audit") == 2
    assert value(found, "fleet_run_duration_seconds", command="audit") == 12
    assert value(found, "fleet_targets", state="seen") == 5
    assert value(found, "fleet_targets", state="unreachable") == 1
    assert value(found, "fleet_findings", verdict="fail", required="true") == 4
    assert value(found, "fleet_findings", verdict="fail", required="false") == 2
    assert value(found, "fleet_target_up", target="attic") == 0
    assert value(found, "fleet_target_up", target="laptop") == 1
    assert value(found, "fleet_target_duration_seconds", target="laptop") == 0.12
    assert value(found, "fleet_gate_failing_left_out") == 0
    assert ("fleet_target_facts_timestamp_seconds", frozenset({("target", "attic")})) not in found


def test_a_verdict_that_did_not_occur_is_a_zero() -> None:
    found = samples(craft("healthy"))
    for verdict in Verdict:
        assert ("fleet_findings", frozenset({("verdict", verdict), ("required", "true")})) in found
    assert value(found, "fleet_findings", verdict="fail", required="true") == 0


def test_failures_one_by_one_are_bounded_required_ones_first() -> None:
    many = [
        finding("box", f"bridge.g{n}", Verdict.FAIL, "no", required=n >= MOST)
        for n in range(MOST + 5)
    ]
    found = samples(run(result("box", *many)))
    told = [dict(labels) for name, labels in found if name == "fleet_gate_failing"]
    assert len(told) == MOST
    assert sum(labels["required"] == "true" for labels in told) == 5
    assert value(found, "fleet_gate_failing_left_out") == 5


def test_hostile_names_stay_labels() -> None:
    name = 'a"}\\ 1\nfleet_target_up{target="b'
    found = samples(run(result(name, finding(name, "bridge.feed", Verdict.FAIL, "no"))))
    ups = [dict(labels)["target"] for metric, labels in found if metric == "fleet_target_up"]
    assert ups == [name.replace("\n", "\\n")]


@pytest.mark.parametrize("name", ["mixed", "hostile", "healthy", "nothing", "crowd"])
def test_promtool_finds_nothing_wrong(name: str) -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not installed (Debian: prometheus)")
    text = render(craft(name), View())
    ended = subprocess.run(
        [promtool, "check", "metrics"], input=text, capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
