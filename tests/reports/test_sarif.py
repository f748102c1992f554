"""SARIF: rules that explain themselves, findings that keep their identity, honest invocations."""

import json
import re
from dataclasses import replace
from datetime import date
from typing import Any

import pytest
from support.crafted import craft, finding, result, run, unreachable
from support.schemas import check_sarif

from fleet.errors import ProbeError
from fleet.reports.sarif import address_uri, render
from fleet.reports.view import View
from fleet.systems.catalogue import load_catalogue
from fleet.verifier.fleetwide.rules import SYSTEM
from fleet.verifier.model import Accepted, Finding, Severity, Verdict
from fleet.verifier.run import Run


def told(one: Run) -> dict[str, Any]:
    document = json.loads(render(one, View()))
    check_sarif(document)
    found: dict[str, Any] = document["runs"][0]
    return found


def one_finding(verdict: Verdict = Verdict.FAIL, **more: Any) -> Finding:
    return finding("web", "bridge.feed", verdict, "cannot feed", **more)


def results(*findings: Finding, strict: bool = False) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = told(run(result("web", *findings), strict=strict))["results"]
    return found


def test_every_gate_of_the_catalogue_is_a_rule_that_explains_itself() -> None:
    gates = (*(gate for _, gate in load_catalogue().gates()), *SYSTEM.gates)
    found = [finding("web", gate.id, Verdict.PASS, "holds") for gate in gates]
    rules = {
        rule["id"]: rule
        for rule in told(replace(run(result("web", *found)), gates=gates))["tool"]["driver"][
            "rules"
        ]
    }
    assert set(rules) == {gate.id for gate in gates}
    for gate in gates:
        rule = rules[gate.id]
        assert rule["shortDescription"]["text"] == gate.asks
        for text in filter(None, (gate.without, gate.remedy, gate.source)):
            assert text in rule["help"]["text"], gate.id
        assert "**severity:**" in rule["help"]["markdown"]


@pytest.mark.parametrize("one", [craft("mixed"), craft("silent")], ids=["mixed", "silent"])
def test_every_descriptor_has_the_texts_that_code_hosts_want(one: Run) -> None:
    driver = told(one)["tool"]["driver"]
    for each in (*driver["rules"], *driver["notifications"]):
        assert re.fullmatch(r"([A-Z][a-z0-9]*)+", each["name"]), each
        for text in ("shortDescription", "fullDescription", "help"):
            assert each[text]["text"], (each["id"], text)


@pytest.mark.parametrize(
    ("verdict", "required", "severity", "strict", "level"),
    [
        (Verdict.FAIL, True, Severity.MINOR, False, "error"),
        (Verdict.FAIL, False, Severity.CRITICAL, False, "warning"),
        (Verdict.FAIL, False, Severity.MINOR, False, "note"),
        (Verdict.FAIL, False, Severity.MINOR, True, "error"),
        (Verdict.WARN, True, Severity.MAJOR, False, "warning"),
        (Verdict.WARN, True, Severity.MINOR, False, "note"),
        (Verdict.WARN, False, Severity.MINOR, True, "error"),
    ],
)
def test_the_level_says_what_decides(
    verdict: Verdict, required: bool, severity: Severity, strict: bool, level: str
) -> None:
    (found,) = results(one_finding(verdict, required=required, severity=severity), strict=strict)
    assert found["level"] == level


def test_what_holds_and_what_was_not_seen_is_no_result() -> None:
    silent = (Verdict.PASS, Verdict.NOT_CHECKED, Verdict.ERROR, Verdict.NOT_APPLICABLE)
    for verdict in silent:
        assert results(one_finding(verdict)) == []


def test_a_fingerprint_survives_another_message_and_another_day() -> None:
    (first,) = results(one_finding(evidence=("14 commits behind",)))
    (again,) = results(one_finding(required=True)._replace(message="is of 2026-08-10"))
    assert first["partialFingerprints"] == again["partialFingerprints"]
    others = [
        one_finding()._replace(gate="bridge.stamp"),
        one_finding()._replace(system="env"),
    ]
    for other in others:
        assert results(other)[0]["partialFingerprints"] != first["partialFingerprints"]
    marks = [tuple(r["partialFingerprints"].values()) for r in told(craft("mixed"))["results"]]
    assert len(marks) == len(set(marks)) > 5


def test_a_waived_failure_is_suppressed_with_its_reason() -> None:
    accepted = Accepted("one user", date(2026, 12, 31), expired=False)
    waived = one_finding(Verdict.WAIVED, required=True)._replace(waiver=accepted)
    (found,) = results(waived)
    (suppression,) = found["suppressions"]
    assert suppression["status"] == "accepted"
    assert suppression["justification"] == "waived until 2026-12-31: one user"
    (counting,) = results(one_finding()._replace(waiver=replace(accepted, expired=True)))
    assert counting["suppressions"] == []
    assert "the waiver ran out on 2026-12-31" in counting["message"]["text"]


def test_a_target_that_was_not_reached_is_one_notification() -> None:
    one = told(craft("silent"))
    (invocation,) = one["invocations"]
    (said,) = invocation["toolExecutionNotifications"]
    assert said["descriptor"]["id"] == "not-reached"
    assert said["level"] == "error"
    assert "ssh-keygen -R attic" in said["message"]["text"]
    assert "2 gates not judged" in said["message"]["text"]
    assert (invocation["exitCode"], invocation["executionSuccessful"]) == (3, False)
    unread = result("web", one_finding(Verdict.UNREACHABLE), trouble=ProbeError("no frames"))
    (said,) = told(run(unread))["invocations"][0]["toolExecutionNotifications"]
    assert (said["descriptor"]["id"], said["level"]) == ("not-read", "warning")


@pytest.mark.parametrize(("required", "level"), [(True, "error"), (False, "note")])
def test_a_gate_that_was_not_checked_names_its_rule(required: bool, level: str) -> None:
    one = told(run(result("web", one_finding(Verdict.NOT_CHECKED, required=required))))
    (said,) = one["invocations"][0]["toolExecutionNotifications"]
    assert (said["level"], said["associatedRule"]["id"]) == (level, "bridge.feed")
    rules = one["tool"]["driver"]["rules"]
    assert rules[said["associatedRule"]["index"]]["id"] == "bridge.feed"


def test_a_failed_gate_is_a_run_that_did_its_job() -> None:
    (invocation,) = told(run(result("web", one_finding(required=True))))["invocations"]
    assert (invocation["exitCode"], invocation["executionSuccessful"]) == (2, True)
    assert invocation["exitCodeDescription"] == "1 required gate failed on 1 target"
    both = run(result("web", one_finding(required=True)), unreachable("attic"))
    (invocation,) = told(both)["invocations"]
    assert (invocation["exitCode"], invocation["executionSuccessful"]) == (2, False)


def test_a_place_is_the_targets_address_and_its_gate() -> None:
    found = told(craft("image"))["results"][0]["locations"][0]
    place = found["physicalLocation"]["artifactLocation"]["uri"]
    assert place == "docker-daemon:pi-devbox:2026-08-10"
    (logical,) = found["logicalLocations"]
    assert logical["name"] == "bridge.feed"
    name = "pi-devbox:2026-08-10/mempalace-bridge/bridge.feed"
    assert logical["fullyQualifiedName"] == name


@pytest.mark.parametrize(
    ("address", "uri"),
    [
        ("ssh://me@[2001:db8::1]:22", "ssh://me@%5B2001:db8::1%5D:22"),
        ("local:", "local:"),
        ("rootfs:/a b/ü", "rootfs:/a%20b/%C3%BC"),
        ("oci:x%y?z#1", "oci:x%25y%3Fz%231"),
    ],
)
def test_an_address_is_written_as_a_uri(address: str, uri: str) -> None:
    assert address_uri(address) == uri


def test_brackets_make_no_link() -> None:
    (found,) = results(one_finding()._replace(message="[a](b) and [c]"))
    assert "\\[a](b) and \\[c]" in found["message"]["text"]
