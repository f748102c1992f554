"""The page: what stands in it before any script runs."""

import base64
import hashlib
import json
import re
from dataclasses import replace
from datetime import date, timedelta
from html.parser import HTMLParser
from typing import cast

import pytest
from support.crafted import START, craft, finding, result, run, unreachable

from fleet.reports.html import render
from fleet.reports.matrix import Mark
from fleet.reports.page.grid import cell, grid
from fleet.reports.page.strip import strip
from fleet.reports.past import STRIP, Before, Past, Then
from fleet.reports.view import View
from fleet.verifier.fleetwide.table import Side, Standing, Table, What
from fleet.verifier.model import Accepted, Verdict
from fleet.verifier.run import Run


class Page(HTMLParser):
    """Reads a page: the cells of its matrix, its data, its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.attributes: list[tuple[str, dict[str, str | None]]] = []
        self.raw: dict[str, str] = {"style": "", "script": "", "data": ""}
        self.texts: list[str] = []
        self._within: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = dict(attrs)
        self.attributes.append((tag, told))
        name = "data" if told.get("id") == "data" else tag
        self._within.append(str(told.get("id") or name) if tag == "table" else name)
        if "grid" in self._within and tag == "tr":
            self.rows.append([])
        if "grid" in self._within and tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        while self._within and self._within.pop() not in (tag, "grid", "fleet", "data"):
            pass

    def handle_data(self, data: str) -> None:
        if self._within and self._within[-1] in self.raw:
            self.raw[self._within[-1]] += data
            return
        self.texts.append(data)
        if "grid" in self._within and {"td", "th"} & set(self._within) and self.rows:
            self.rows[-1][-1] += data

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())

    @property
    def data(self) -> dict[str, list[dict[str, object]]]:
        return cast("dict[str, list[dict[str, object]]]", json.loads(self.raw["data"]))


def page(one: Run, past: Past | None = None) -> Page:
    return Page(render(one, View(past=past)))


def test_targets_go_down_and_systems_with_their_gates_across() -> None:
    head, *rows = page(craft("mixed")).rows
    assert head == [
        *("target", "mempalace-bridge", "bridge.placed", "bridge.feed", "bridge.stamp"),
        *("env", "env.loaded", "env.file"),
        *("mempalace-serve", "serve.bind", "serve.token", "serve.stays", "serve.health"),
    ]
    told = {row[0]: row[1:] for row in rows}
    assert told["laptop"][:6] == ["✓ pass"] * 6
    assert told["desk"][:4] == ["✗ FAIL", "✗ FAIL", "? not checked*", "? not checked"]
    assert told["attic"][:2] == ["∅ unreachable*"] * 2
    assert told["vault"][-5:] == ["✗ FAIL", "✗ FAIL", "w waived", "! warning", "E unreadable*"]
    assert told["pi-devbox:2026-08-10"][3] == "x advisory"
    assert [row[0] for row in rows][-1] == "laptop"


@pytest.mark.parametrize("mark", Mark)
def test_every_mark_has_a_glyph_a_word_and_a_look_of_its_own(mark: Mark) -> None:
    told = page(craft("mixed"))
    assert f"{mark.glyph} " in told.text
    looks = {f"m-{m.name.lower().replace('_', '-')}" for m in Mark}
    assert len(looks) == len(Mark)
    assert all(look in told.raw["style"] for look in looks)


def test_what_was_not_checked_is_counted_in_the_bar() -> None:
    told = page(craft("mixed")).text
    assert "FAILED 4 required gates failed on 4 targets (exit 2)" in told
    assert "4 not checked , 2 unreachable, 1 unreadable of 24 findings; 4 of these required" in told
    assert "6 targets asked, 5 answered; 7 pass, 6 fail" in told
    healthy = page(craft("healthy")).text
    assert "PASSED" in healthy
    assert "0 not checked , 0 unreachable, 0 unreadable of 4 findings; none of these required" in (
        healthy
    )


def test_the_policy_allows_what_is_in_the_page_and_nothing_else() -> None:
    told = page(craft("mixed"))
    (policy,) = [a["content"] for t, a in told.attributes if t == "meta" and "http-equiv" in a]
    assert policy is not None
    for name, rule in (("style", "style-src"), ("script", "script-src")):
        digest = base64.b64encode(hashlib.sha256(told.raw[name].encode()).digest()).decode()
        assert f"{rule} 'sha256-{digest}';" in policy
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    for _, attributes in told.attributes:
        assert not {"src", "style", "action"} & set(attributes)
        assert not [name for name in attributes if name.startswith("on")]
        assert str(attributes.get("href", "#")).startswith("#")
    assert not re.search(r"url\(|@import|https?:", told.raw["style"])
    assert not re.search(r"fetch|XMLHttp|import|https?:|innerHTML|eval\(", told.raw["script"])


def test_a_story_holds_what_decided_and_what_to_do() -> None:
    told = page(craft("mixed")).data
    names, texts = [gate["i"] for gate in told["gates"]], cast("list[str]", told["texts"])
    (desk,) = [t for t in told["targets"] if texts[cast("int", t["n"])] == "desk"]
    stories = cast("list[int]", desk["c"])
    story = told["stories"][stories[names.index("bridge.placed")]]
    assert texts[cast("int", story["t"])] == "the link leads nowhere"
    assert texts[cast("int", story["a"])] == "fleet apply --limit desk"
    assert story["r"] is True
    follower = told["stories"][stories[names.index("bridge.feed")]]
    assert texts[cast("int", follower["f"])] == "bridge.placed"
    assert stories[names.index("serve.bind")] == -1


def test_what_many_targets_share_is_kept_once() -> None:
    told = page(craft("crowd"))
    assert len(told.data["targets"]) == 300
    assert len(told.data["stories"]) < 12
    assert len(told.rows) == 301


def test_the_strip_tells_by_shape_and_in_words() -> None:
    marks = [Mark.PASS] * 27 + [Mark.FAIL, Mark.NOT_CHECKED, None]
    runs = [Then(f"r{n}", START + timedelta(days=n), mark) for n, mark in enumerate(marks)]
    drawn = strip(runs)
    assert drawn.told == ("the last 30 runs, oldest first: 1 FAIL, 1 not checked, 27 pass")
    assert drawn.short == "27 of 30 held"
    shapes = {style: path.split("M")[-1] for style, path in drawn.paths}
    assert len({re.sub(r"^\d+ ", "", shape) for shape in shapes.values()}) == 4
    warned = [Then("r", START, mark) for mark in (Mark.WARN, Mark.ADVISORY, Mark.ERROR)]
    assert strip(warned).short == "2 of 3 held"
    assert strip(runs * 2).told.startswith("the last 30 runs")
    assert strip([*runs[:2]]).paths[0][1].startswith(f"M{28 * 5} ")
    told = page(craft("healthy"), Past({"laptop": tuple(runs)}))
    assert told.rows[0][:2] == ["target", "last runs"]
    assert "27 of 30 held" in told.text
    assert len(cast("list[object]", told.data["targets"][0]["l"])) == STRIP


def test_since_when_and_what_differed_stand_in_the_data() -> None:
    held, since = START - timedelta(days=3), START - timedelta(days=2)
    before = Before(since, held, differed=("-a line", "+another"))
    told = page(craft("mixed"), Past({}, {("desk", "bridge.placed"): before})).data
    (desk,) = [t for t in told["targets"] if "b" in t]
    (one,) = cast("dict[str, dict[str, object]]", desk["b"]).values()
    assert (one["held"], one["since"]) == ("2026-08-29 08:00 UTC", "2026-08-30 08:00 UTC")
    texts = cast("list[str]", told["texts"])
    assert [texts[n] for n in cast("list[int]", one["diff"])] == ["-a line", "+another"]


def test_drift_stands_in_a_table_with_what_to_do() -> None:
    sides = (
        Side(What.IMAGE, "img", "pi-devbox:latest", image="sha256:abcdef012345", created="2026-08"),
        Side(
            What.CONTAINER,
            "box",
            "pi-devbox",
            standing=Standing.DIFFERS,
            notes=("it runs an older image",),
            remedy="recreate it",
        ),
    )
    told = page(replace(craft("healthy"), drift=(Table("pi-devbox", sides),))).text
    assert "= same image pi-devbox:latest abcdef0" in told
    assert "≠ DIFFERS container pi-devbox" in told
    assert "it runs an older image" in told
    assert "container pi-devbox : recreate it" in told
    assert "Drift" not in page(craft("healthy")).text


def test_findings_about_the_fleet_have_a_table_of_their_own() -> None:
    whole = finding("fleet", "fleet.skew", Verdict.WARN, "two clocks differ", system="fleet")
    told = page(replace(craft("healthy"), fleetwide=(whole,)))
    assert "fleet.skew ! warning two clocks differ" in told.text
    assert "fleet" not in [row[0] for row in told.rows]
    assert told.data["fleet"][0]["s"] is not None


def test_a_waiver_is_told_with_its_reason_and_its_last_day() -> None:
    one = finding("web", "bridge.feed", Verdict.WAIVED, "cannot feed", required=True)
    waived = one._replace(waiver=Accepted("one user", date(2026, 12, 31), expired=False))
    told = page(run(result("web", waived)))
    assert "waived until 2026-12-31: one user" in told.text
    assert "waived until 2026-12-31: one user" in cast("list[str]", told.data["texts"])


def test_a_large_fleet_opens_with_its_gates_closed_and_a_small_one_with_all() -> None:
    gates = [finding("web", f"bridge.g{n}", Verdict.PASS, "holds") for n in range(30)]
    (many,) = [a for t, a in page(run(result("web", *gates))).attributes if a.get("id") == "grid"]
    (few,) = [a for t, a in page(craft("mixed")).attributes if a.get("id") == "grid"]
    assert str(many["class"]).split() == ["c0"]
    assert "class" not in few


def test_what_only_follows_is_counted_where_the_reasons_stand() -> None:
    (desk,) = [r for r in craft("mixed").results if r.target.name == "desk"]
    told = page(run(desk)).text
    assert "2 not checked" in told
    assert "2 not checked, only because of a cause that is told above" in told
    assert "could be seen" not in told
    assert "2 more not checked, only because" in page(craft("mixed")).text
    assert "could be seen, but for what is told above" in page(craft("healthy")).text


def test_a_run_of_nobody_says_so() -> None:
    told = page(run())
    assert "No target was asked." in told.text
    assert told.rows == []
    assert "NOT PROVED nothing required was checked (exit 3)" in told.text


@pytest.mark.parametrize("required", [True, False])
def test_what_is_required_and_not_seen_is_starred(required: bool) -> None:
    one = finding("web", "bridge.feed", Verdict.NOT_CHECKED, "no", required=required)
    seen = cell([one], strict=False)
    assert seen is not None
    assert seen.word == ("not checked*" if required else "not checked")
    assert cell([one], strict=True) == cell([one._replace(required=True)], strict=False)
    assert cell([], strict=False) is None


def test_rows_are_worst_first_and_else_as_they_were_asked() -> None:
    good = [result(n, finding(n, "bridge.feed", Verdict.PASS, "can")) for n in ("b", "a")]
    laid = grid(run(*good, unreachable("z")))
    assert [line.result.target.name for line in laid.lines] == ["z", "b", "a"]
    assert sum(laid.counts().values()) == 4
