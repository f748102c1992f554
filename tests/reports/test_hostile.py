"""Whatever a target says, every format stays itself, and agrees with the exit code."""

import json
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from markdown_it import MarkdownIt
from support import any_run, commands
from support.crafted import START, craft, finding, result, run
from support.schemas import check_junit, check_sarif
from tap.parser import Parser

from fleet.reports.formats import FORMATS
from fleet.reports.markdown import MOST
from fleet.reports.marked import code, prose
from fleet.reports.matrix import Mark
from fleet.reports.past import Past, Then
from fleet.reports.text import clip, printable
from fleet.reports.view import View, renderer
from fleet.verifier.model import Verdict
from fleet.verifier.run import Run, conclude

TAGS = {"p", "strong", "table", "thead", "tbody", "tr", "th", "td", "details", "summary"} | {
    "ul",
    "li",
    "code",
}
MARKDOWN = MarkdownIt("commonmark").enable(["table", "strikethrough"])
SEVERAL = settings(max_examples=100, deadline=None)


def rendered(form: str, given_run: Run) -> str:
    text = renderer(form)(given_run, View())
    text.encode("utf-8")
    return text


class Tags(HTMLParser):
    """Collects tags, and texts without them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert not attrs, (tag, attrs)
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")

    def handle_decl(self, decl: str) -> None:
        raise AssertionError(f"a declaration: {decl}")

    def handle_pi(self, data: str) -> None:
        raise AssertionError(f"an instruction: {data}")


@SEVERAL
@given(any_run.runs())
def test_junit(one: Run) -> None:
    text = rendered("junit", one)
    check_junit(text)
    root = ET.fromstring(text)  # noqa: S314 - our own text
    troubles = int(root.attrib["failures"]) + int(root.attrib["errors"])
    assert bool(troubles) == bool(conclude(one).code)
    found = root.findall(".//failure")
    assert len(found) == int(root.attrib["failures"])
    assert bool(found) == (conclude(one).code == 2)


@SEVERAL
@given(any_run.runs())
def test_sarif(one: Run) -> None:
    told = json.loads(rendered("sarif", one))
    check_sarif(told)
    (invocation,) = told["runs"][0]["invocations"]
    code_of = conclude(one).code
    assert invocation["exitCode"] == code_of
    errors = [
        r for r in told["runs"][0]["results"] if r["level"] == "error" and not r.get("suppressions")
    ]
    assert bool(errors) == (code_of == 2)
    if code_of == 3:
        assert not invocation["executionSuccessful"]
    for found in told["runs"][0]["results"]:
        (place,) = found["locations"]
        uri = place["physicalLocation"]["artifactLocation"]["uri"]
        assert re.fullmatch(r"[a-z-]+:[A-Za-z0-9/:@~+,=&;!%._-]*", uri)


@SEVERAL
@given(any_run.runs())
def test_tap(one: Run) -> None:
    text = rendered("tap", one)
    lines = list(Parser().parse_text(text))
    assert not [line for line in lines if line.category in ("unknown", "bail")]
    points = [line for line in lines if line.category == "test"]
    (plan,) = [line for line in lines if line.category == "plan"]
    assert plan.expected_tests == len(points)
    assert [point.number for point in points] == list(range(1, len(points) + 1))
    failed = [point for point in points if not point.ok and not point.todo]
    assert bool(failed) == bool(conclude(one).code)
    for point in points:
        assert point.yaml_block is None or point.yaml_block["verdict"]


@SEVERAL
@given(any_run.runs())
def test_github(one: Run) -> None:
    found = commands.read(rendered("github", one))
    assert {command.name for command in found} <= {"error", "warning", "notice"}
    assert all(list(command.properties) == ["title"] for command in found)
    assert bool([c for c in found if c.name == "error"]) == bool(conclude(one).code)
    for name in ("error", "warning", "notice"):
        assert len([c for c in found if c.name == name]) <= 10


@SEVERAL
@given(any_run.runs())
def test_markdown(one: Run) -> None:
    text = rendered("markdown", one)
    assert len(text.encode()) <= MOST
    seen = Tags(MARKDOWN.render(text))
    assert seen.tags <= TAGS
    first = text.partition("\n")[0]
    words = {0: "PASSED", 2: "FAILED", 3: "NOT PROVED"}
    assert first.startswith(f"**{words[conclude(one).code]}**")
    for row in re.findall(r"^\|.*$", text, re.MULTILINE):
        assert len(re.findall(r"(?<!\\)\|", row)) == 5, row


class Elements(HTMLParser):
    """Collects the elements of a page with their attributes, and its data."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: set[tuple[str, str]] = set()
        self.data, self._within = "", False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found |= {(tag, name) for name, _ in attrs} | {(tag, "")}
        self._within = ("id", "data") in attrs

    def handle_endtag(self, tag: str) -> None:
        self._within = False

    def handle_data(self, data: str) -> None:
        self.data += data if self._within else ""


def plain_page() -> set[tuple[str, str]]:
    """Return every element and attribute that our own pages have."""
    past = Past({"laptop": (Then("r", START, Mark.PASS),)})
    told = [renderer("html")(craft(n), View(past=past)) for n in ("mixed", "silent", "nothing")]
    return set().union(*(Elements(text).found for text in told))


@SEVERAL
@given(any_run.runs())
def test_html(one: Run) -> None:
    text = rendered("html", one)
    seen = Elements(text)
    assert seen.found <= PLAIN, seen.found - PLAIN
    told = json.loads(seen.data)
    assert len(told["targets"]) == len(one.results)
    assert "<" not in seen.data
    names = {printable(r.target.name) for r in one.results}
    assert names == {told["texts"][target["n"]] for target in told["targets"]}
    first = text.partition("<title>")[2].partition(":")[0]
    assert first == {0: "PASSED", 2: "FAILED", 3: "NOT PROVED"}[conclude(one).code]


PLAIN = plain_page()


@SEVERAL
@given(any_run.texts)
def test_a_text_in_markdown_renders_as_the_text(text: str) -> None:
    for write in (prose, code):
        shown = Tags(MARKDOWN.render(f"x {write(text)} x"))
        assert shown.tags <= {"p", "code"}
        read = "".join(shown.texts).split()
        expected = printable(clip(text, 600))
        if write is prose:  # quotes of a command become a code span
            expected, read = expected.replace("`", ""), "".join(read).replace("`", "").split()
            expected = "".join(expected.split())
            assert "".join(read).strip("x") == expected.strip("x")
        else:
            assert read == ["x", *expected.split(), "x"]


@pytest.mark.parametrize("form", sorted(set(FORMATS) - {"json"}))  # json holds everything
def test_a_megabyte_of_text_is_bounded(form: str) -> None:
    long = "ä" * 1_000_000
    one = run(
        result(
            "web",
            finding(
                "web", "bridge.placed", Verdict.FAIL, long, required=True, evidence=(long,) * 3
            ),
        )
    )
    assert len(rendered(form, one).encode()) < 120_000


@pytest.mark.parametrize("name", ["mixed", "hostile", "crowd", "wide", "healthy", "nothing"])
def test_the_crafted_runs_keep_every_schema(name: str) -> None:
    check_junit(rendered("junit", craft(name)))
    check_sarif(json.loads(rendered("sarif", craft(name))))
    assert len(rendered("markdown", craft(name)).encode()) <= MOST
    commands.read(rendered("github", craft(name)))


def test_the_readers_would_see_a_forgery() -> None:
    with pytest.raises(AssertionError):
        commands.read("::error title=a::b\nplain\n")
    with pytest.raises(AssertionError):
        commands.read("::error title=100%::b\n")
    assert commands.read("::error title=a%3Ab::c%0Ad%25\n")[0].data == "c\nd%"
    assert Tags(MARKDOWN.render("<b>x</b>")).tags == {"p", "b"}
    with pytest.raises(AssertionError):
        Tags(MARKDOWN.render("[a](b)"))
