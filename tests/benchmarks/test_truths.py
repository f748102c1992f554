"""What tools say, read in the forms they say it in."""

import json
from pathlib import Path

from benchmarks.hosts.faults import FAULTS, OLD_BRIDGE, OPEN_FILE, OTHER_COPY, planted
from benchmarks.hosts.modes import documents
from benchmarks.hosts.rig import Host
from benchmarks.hosts.tools import addressed, seen_in_junit
from benchmarks.hosts.truths import (
    CHECKS,
    GATES,
    differences,
    expected,
    seen_by_fleet,
    seen_in_lines,
)


def finding(gate: str, verdict: str, **more: object) -> dict[str, object]:
    return {"target": "h1", "gate": gate, "verdict": verdict, **more}


def test_every_fault_is_planted_and_breaks_something() -> None:
    faults = planted(20)
    assert {*faults} == {"", *FAULTS}
    assert faults.count("") == 10
    assert planted(4) == faults[:4]
    truths = expected({fault: fault for fault in FAULTS})
    assert all(not all(checks.values()) for checks in truths.values())
    assert len({tuple(checks.items()) for checks in truths.values()}) == len(FAULTS)


def test_every_check_fails_somewhere_and_holds_on_a_good_host() -> None:
    truths = expected({fault: fault for fault in ("", *FAULTS)})
    assert all(truths[""].values())
    failing = {check for checks in truths.values() for check, holds in checks.items() if not holds}
    assert failing == {*CHECKS}


def test_a_report_of_fleet_is_read_by_gates() -> None:
    report = {
        "findings": [
            finding("bridge.feed", "fail"),
            finding("bridge.stamp", "pass"),
            finding("env.loaded", "not-checked", follows="env.file"),
            finding("pi.one", "not-checked"),
            finding("bridge.commit", "pass"),
        ]
    }
    seen = seen_by_fleet(json.dumps(report).encode())
    assert seen == {"h1": {"feed": False, "stamp": True, "env-loaded": "env-file"}}


def test_that_there_is_none_is_an_answer_only_of_what_was_looked_for() -> None:
    gates = ("pi.running", "flip.no-local", "bridge.sync", "bridge.fallback")
    report = {"findings": [finding(gate, "not-applicable") for gate in gates]}
    seen = seen_by_fleet(json.dumps(report).encode())
    assert seen == {"h1": {"running": True, "no-local": True, "sync": True}}


def test_lines_are_read_wherever_they_stand() -> None:
    told = rb'    "msg": "bench-truth h1 feed 1\nbench-truth h1 env-file 0\n bench-truth h2 pi 1"'
    wanted = {"h1": {"feed": True, "env-file": False}, "h2": {"pi": True}}
    assert seen_in_lines(told) == wanted
    assert seen_in_lines(b"bench-truth h1 feed yes") == {}


def test_a_report_of_tests_is_read_by_names() -> None:
    report = b"""<testsuites><testsuite>
      <testcase name="test_marker[paramiko://198.18.0.1-feed]"/>
      <testcase name="test_env_file[paramiko://198.18.0.1]"><failure/></testcase>
      <testcase name="test_pi[paramiko://198.18.0.1]"><error/></testcase>
    </testsuite></testsuites>"""
    seen = seen_in_junit(report)
    assert seen == {"198.18.0.1": {"feed": True, "env-file": False}}
    host = Host(1, "h1", "198.18.0.1", "", Path())
    assert list(addressed(seen, [host])) == ["h1"]


def test_what_differs_is_named() -> None:
    wanted = expected({"h1": OPEN_FILE})
    assert differences(wanted, wanted) == []
    blind = {"h1": dict.fromkeys(CHECKS, True)}
    assert differences(wanted, blind) == ["h1: env-mode should be false, and is true"]
    assert len(differences(wanted, {})) == len(CHECKS) == len(GATES)
    other = expected({"h1": OPEN_FILE, "h2": OLD_BRIDGE})
    assert differences(wanted, other) == ["h2: there is no such host"]


def test_an_answer_left_to_another_check_counts_where_that_one_failed() -> None:
    left = {"single": "placed"}
    wanted = expected({"h1": OTHER_COPY})
    assert differences(wanted, {"h1": {**wanted["h1"], **left}}) == []
    good = expected({"h1": ""})
    told = ["h1: single should be true, and is left to placed"]
    assert differences(good, {"h1": {**good["h1"], **left}}) == told


def test_reports_that_follow_each_other_are_told_apart() -> None:
    reports = b'{"run": {"id": "}{"}}\n{"run": {"id": "2"}}\n\n{"run": {}}\n'
    assert [each["run"].get("id") for each in documents(reports)] == ["}{", "2", None]
    assert documents(b"") == []
