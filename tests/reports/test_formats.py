"""The formats for machines: what each verdict becomes, and that people find what they need."""

import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from datetime import date
from importlib import import_module

import pytest
from support import commands
from support.crafted import START, craft, finding, result, run, unreachable
from tap.parser import Parser

from fleet.errors import ProbeError
from fleet.reports.formats import FORMATS
from fleet.reports.markdown import LEFT_OUT, MOST
from fleet.reports.view import View, renderer
from fleet.verifier.model import Accepted, Finding, Verdict
from fleet.verifier.run import Run

UNTIL = Accepted("one user", date(2026, 12, 31), expired=False)


def render(form: str, one: Run) -> str:
    return renderer(form)(one, View())


def one_of(verdict: Verdict, *, required: bool = True) -> Finding:
    made = finding("web", "bridge.feed", verdict, "the message", required=required)
    return made._replace(waiver=UNTIL) if verdict is Verdict.WAIVED else made


def beside(told: Finding) -> Run:
    """Return a run in which something required holds beside a finding."""
    held = finding("web", "bridge.placed", Verdict.PASS, "is there", required=True)
    return run(result("web", told, held))


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_has_a_module_of_its_own(form: str) -> None:
    module, _, function = FORMATS[form].partition(":")
    assert module == f"fleet.reports.{form}"
    assert callable(getattr(import_module(module), function))


@pytest.mark.parametrize(
    ("verdict", "required", "element"),
    [
        (Verdict.PASS, True, None),
        (Verdict.WARN, True, "system-out"),
        (Verdict.FAIL, True, "failure"),
        (Verdict.FAIL, False, "skipped"),
        (Verdict.NOT_CHECKED, True, "error"),
        (Verdict.NOT_CHECKED, False, "skipped"),
        (Verdict.ERROR, True, "error"),
        (Verdict.ERROR, False, "skipped"),
        (Verdict.WAIVED, True, "skipped"),
        (Verdict.NOT_APPLICABLE, True, "skipped"),
    ],
)
def test_junit(verdict: Verdict, required: bool, element: str | None) -> None:
    root = ET.fromstring(render("junit", beside(one_of(verdict, required=required))))  # noqa: S314 - our own text
    cases = {case.attrib["name"]: case for case in root.iter("testcase")}
    assert [child.tag for child in cases["bridge.feed"]] == ([element] if element else [])
    assert cases["bridge.feed"].attrib["classname"] == "web.mempalace-bridge"
    assert list(cases["bridge.placed"]) == []


def test_junit_says_where_and_how_it_ended() -> None:
    (suite,) = ET.fromstring(render("junit", craft("silent")))  # noqa: S314 - our own text
    told = {p.attrib["name"]: p.attrib["value"] for p in suite.iter("property")}
    assert told["fleet.exit-code"] == "3"
    assert told["address"] == "ssh://me@attic"
    assert suite.attrib["time"] == "0.12"
    assert suite.attrib["timestamp"] == START.isoformat()


@pytest.mark.parametrize("form", ["junit", "tap"])
def test_a_target_that_is_not_there_is_one_error(form: str) -> None:
    text = render(form, craft("silent"))
    assert text.count("<error" if form == "junit" else "not ok") == 1
    assert "2 gates not judged" in text


@pytest.mark.parametrize("form", ["junit", "tap", "github"])
def test_one_that_nothing_is_required_of_breaks_nothing(form: str) -> None:
    silent = result("web", one_of(Verdict.UNREACHABLE, required=False), trouble=ProbeError("no"))
    good = result("a", finding("a", "bridge.placed", Verdict.PASS, "is there", required=True))
    text = render(form, run(silent, good))
    assert not re.search(r"<error|<failure|^not ok|^::error", text, re.MULTILINE)
    assert "no" in text


@pytest.mark.parametrize("form", ["junit", "tap"])
def test_a_run_that_checked_nothing_is_no_success(form: str) -> None:
    text = render(form, run(result("web", one_of(Verdict.PASS, required=False))))
    assert text.count("<error" if form == "junit" else "not ok") == 1
    assert "nothing required was checked" in text


@pytest.mark.parametrize(
    ("verdict", "required", "ok", "directive"),
    [
        (Verdict.PASS, True, True, ""),
        (Verdict.WARN, True, True, ""),
        (Verdict.FAIL, True, False, ""),
        (Verdict.FAIL, False, False, "TODO advisory, does not decide"),
        (Verdict.NOT_CHECKED, True, False, ""),
        (Verdict.NOT_CHECKED, False, True, "SKIP not checked: the message"),
        (Verdict.WAIVED, True, False, "TODO waived"),
        (Verdict.NOT_APPLICABLE, True, True, "SKIP not applicable: the message"),
    ],
)
def test_tap(verdict: Verdict, required: bool, ok: bool, directive: str) -> None:
    text = render("tap", beside(one_of(verdict, required=required)))
    points = [line for line in Parser().parse_text(text) if line.category == "test"]
    (point,) = [p for p in points if "bridge.feed" in p.description]
    assert (point.ok, point.directive.text) == (ok, directive)
    assert text.startswith("TAP version 14\n1..2\n")


def test_tap_says_why_it_is_waived() -> None:
    text = render("tap", beside(one_of(Verdict.WAIVED)))
    (point,) = [p for p in Parser().parse_text(text) if p.category == "test" and p.todo]
    assert point.yaml_block["details"] == ["waived until 2026-12-31: one user"]


def test_github_tells_one_cause_once_and_the_verdict_last() -> None:
    found = commands.read(render("github", craft("mixed")))
    titles = [(c.name, c.properties["title"]) for c in found]
    assert titles[0] == ("error", "desk: bridge.placed")
    assert ("error", "2 targets: bridge.feed") in titles
    assert ("error", "attic: not reached") in titles
    assert ("warning", "2 targets: bridge.stamp") in titles
    assert ("notice", "vault: serve.token") in titles
    assert titles[-1] == ("error", "fleet audit: exit 2")
    assert found[-1].data == "4 required gates failed on 4 targets"
    assert "what to do: fleet apply --limit desk" in found[0].data


def test_github_counts_what_a_step_would_not_show() -> None:
    many = [
        finding("web", f"bridge.g{n}", Verdict.FAIL, f"cannot {n}", required=True)
        for n in range(30)
    ]
    found = commands.read(render("github", run(result("web", *many))))
    assert len(found) == 10
    assert found[-2].properties["title"] == "fleet: 22 more"
    assert found[-2].data.splitlines()[-1] == "web: bridge.g29"


def test_markdown_begins_with_the_verdict_and_folds_the_rest() -> None:
    text = render("markdown", craft("mixed"))
    first, _, rest = text.partition("\n\n")
    assert first == "**FAILED**: 4 required gates failed on 4 targets (exit 2)"
    table, _, folded = rest.partition("\n\n")
    assert "| `attic` | not reached | the host key" in table
    assert "| `desk` | `bridge.placed` | the link leads nowhere |" in table
    assert "bridge.stamp" not in table
    assert "6 targets asked, 5 answered; 24 findings: 7 pass, 6 fail" in folded
    assert "4 not checked" in folded
    assert folded.count("<details>") == folded.count("</details>") == 5


def test_markdown_counts_what_does_not_fit() -> None:
    many = [
        result(f"w{n}", finding(f"w{n}", "bridge.feed", Verdict.FAIL, f"{n} " * 200, required=True))
        for n in range(300)
    ]
    text = render("markdown", run(*many, unreachable("attic")))
    assert MOST - 2000 < len(text.encode()) <= MOST
    shown = text.count("\n| `w")
    assert 50 < shown < 300
    left = re.search(rf"(\d+) rows {LEFT_OUT}", text)
    assert left
    assert int(left[1]) >= 300 - shown


@pytest.mark.parametrize("form", ["junit", "sarif", "tap"])
def test_order_does_not_depend_on_who_answered_first(form: str) -> None:
    one = craft("mixed")
    assert render(form, one) == render(form, replace(one, results=tuple(reversed(one.results))))
