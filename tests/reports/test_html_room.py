"""The page where there is little room: on a phone, in narrow tables, and on paper."""

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from support.browser import Site
from support.crafted import START, craft, finding, result, run
from support.pages import served

from fleet.reports.matrix import Mark
from fleet.reports.past import Past, Then
from fleet.verifier.fleetwide.table import Side, Standing, Table, What
from fleet.verifier.model import Verdict

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

SHA, OTHER = "3" * 64, "4" * 64
DRIFT = Table(
    "pi-devbox",
    (
        Side(What.IMAGE, "i", "box:latest", SHA, created="2026-08-26T01:02:03Z"),
        Side(
            *(What.CONTAINER, "c", "pi-devbox", OTHER, None, "mounted", "/srv/toolkit"),
            created="2026-08-13T00:00:00Z",
            standing=Standing.DIFFERS,
            notes=("made of an older image than pi-devbox:latest is today",),
        ),
        Side(What.COMPOSE, "c", "compose.yml", standing=Standing.UNSEEN),
    ),
)
SHOWN = "getComputedStyle(document.querySelector('{}')).display"


@pytest.mark.parametrize("name", ["mixed", "hostile", "wide"])
def test_a_phone_scrolls_the_matrix_and_never_the_page(
    browser: "Browser", site: Site, name: str
) -> None:
    context = browser.new_context(viewport={"width": 360, "height": 740}, has_touch=True)
    page = context.new_page()
    page.goto(served(site, craft(name)))
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    names = page.locator("#grid tbody th").evaluate_all(
        "cells => cells.filter(c => c.scrollWidth > c.clientWidth).map(c => c.innerText)"
    )
    assert names == []
    page.locator("#grid tbody td:not(:empty)").first.tap()
    box = page.locator("#story").bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 360
    context.close()


@pytest.mark.parametrize("width", [360, 1200])
def test_no_word_of_the_smaller_tables_is_cut(browser: "Browser", site: Site, width: int) -> None:
    context = browser.new_context(viewport={"width": width, "height": 740})
    page = context.new_page()
    gates = ("fleet.devices", "fleet.composed", "bridge.fresh")
    whole = tuple(
        finding("workstations", gate, Verdict.NOT_CHECKED, "nobody answers", system="fleet")
        for gate in gates
    )
    page.goto(served(site, replace(craft("mixed"), fleetwide=whole, drift=(DRIFT,))))
    assert page.evaluate("document.documentElement.scrollWidth") == width
    lines = page.locator(".plain tr").evaluate_all(
        """rows => rows.flatMap(row => [...row.cells].slice(0, -1).map(cell => {
          const range = document.createRange();
          range.selectNodeContents(cell);
          const tops = [...range.getClientRects()].map(box => Math.round(box.bottom));
          return [cell.innerText, Math.max(...tops, 0) - Math.min(...tops, 1e6) > 12];
        }))"""
    )
    assert [text for text, broken in lines if broken] == []
    told = [text for text, _ in lines]
    assert {"fleet.composed", "workstations", "≠ DIFFERS", "container", "2026-08-13"} <= set(told)
    context.close()


def test_it_prints_all_of_it_without_what_only_a_screen_can_do(page: "Page", site: Site) -> None:
    page.goto(served(site, craft("mixed")))
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate(SHOWN.format(".filters")) == "none"
    assert page.locator(".scroll").first.evaluate("e => e.scrollHeight <= e.clientHeight")
    assert page.locator(".bar").evaluate("e => getComputedStyle(e).position") == "static"
    assert page.get_by_text("the link leads nowhere").first.is_visible()
    assert page.pdf().startswith(b"%PDF")


@pytest.mark.parametrize("systems, gates", [(3, 8), (8, 8), (10, 8)])
def test_every_gate_that_is_shown_fits_on_a_sheet(
    page: "Page", site: Site, systems: int, gates: int
) -> None:
    """A browser shrinks what is wider than a sheet to two thirds, and cuts the rest silently."""
    told = [
        finding("web", f"system{s}.some-gate-{n}", Verdict.NOT_CHECKED, "why", system=f"system{s}")
        for s in range(systems)
        for n in range(gates)
    ]
    past = Past({"web": tuple(Then(f"r{n}", START, Mark.PASS) for n in range(30))})
    page.goto(served(site, run(result("web", *told)), past))
    every = page.get_by_role("button", name="every gate")
    if every.get_attribute("aria-pressed") == "false":
        every.click()
    sheet = 980  # pixels of a letter's long side, less the margins; A4 is longer
    page.set_viewport_size({"width": sheet, "height": 740})
    page.emulate_media(media="print")
    assert page.locator("#grid thead th:visible").count() == 2 + systems * (gates + 1)
    box = page.locator("#grid").bounding_box()
    assert box is not None
    assert box["width"] <= sheet * 1.5
