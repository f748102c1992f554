"""How long the page of a large fleet takes to be made, and to open in Chromium.

``python -m benchmarks.page [TARGETS] [GATES]``: crafts a run in which a part of the gates fails,
warns or was not seen, with thirty earlier runs of each target, renders it, and opens it several
times with an empty profile. Prints the medians: seconds on the wall by Chromium's own performance
timing, and seconds of the processor that the page's main thread took, which a busy machine does
not make more of.
"""

import os
import shutil
import sys
import tempfile
import time
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from playwright.sync_api import sync_playwright
from support.browser import QUIET
from support.crafted import START, finding, result, run, unreachable

from fleet.reports.html import render
from fleet.reports.matrix import Mark
from fleet.reports.past import STRIP, Before, Past, Then
from fleet.reports.view import View
from fleet.verifier.model import Verdict
from fleet.verifier.run import Run, TargetResult

if TYPE_CHECKING:
    from playwright.sync_api import Browser

SYSTEMS = 10
OPENED = 7
TIMING = """() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => {
  const told = performance.getEntriesByType("navigation")[0];
  done([told.domContentLoadedEventEnd, performance.now()]);
})))"""


def crafted(targets: int, gates: int) -> Run:
    """Craft a run; one target in fifty is not reached."""
    return run(*(_target(number, gates) for number in range(targets)))


def _target(number: int, gates: int) -> TargetResult:
    name = f"web-{number:03}.eu-central.example.net"
    if number % 50 == 7:  # noqa: PLR2004 - any will do
        return unreachable(name)
    found = []
    for gate in range(gates):
        verdict = Verdict.PASS
        if (number * 7 + gate * 13) % 41 == 0:
            verdict = Verdict.FAIL
        elif (number + gate) % 17 == 0:
            verdict = Verdict.NOT_CHECKED
        elif (number + gate) % 23 == 0:
            verdict = Verdict.WARN
        system = f"system-{gate % SYSTEMS}"
        own = verdict is Verdict.FAIL
        found.append(
            finding(
                name,
                f"{system}.gate-{gate:02}",
                verdict,
                f"does not do what gate {gate} asks" + (f" on {name}" if own else ""),
                system=system,
                required=gate % 3 == 0,
                evidence=(f"~/.pi/agent/file-{gate} is not there",),
                remedy=f"bring file {gate}",
            )
        )
    made = result(name, *found)
    return replace(made, target=replace(made.target, groups=("web", f"zone-{number % 4}")))


def before(one: Run) -> Past:
    """Craft thirty earlier runs of each target."""
    strips, stories = {}, {}
    for number, each in enumerate(one.results):
        days = range(STRIP)
        marks = [Mark.FAIL if (number + day) % 11 == 0 else Mark.PASS for day in days]
        strips[each.target.name] = tuple(
            Then(f"run-{day}", START - timedelta(days=STRIP - day), mark)
            for day, mark in zip(days, marks, strict=True)
        )
        for told in each.findings:
            if told.verdict is not Verdict.PASS:
                stories[told.target, told.gate] = Before(START, None, differed=("a: 1 -> 2",))
    return Past(strips, stories)


def opened(browser: "Browser", page: Path) -> tuple[float, float, float]:
    """Open a page once: until the content is loaded, until it is drawn, the processor's seconds."""
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    tab = context.new_page()
    session = context.new_cdp_session(tab)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    tab.goto(page.as_uri())
    loaded, done = tab.evaluate(TIMING)
    told = {m["name"]: m["value"] for m in session.send("Performance.getMetrics")["metrics"]}
    context.close()
    return loaded / 1000, done / 1000, told["TaskDuration"]


def main() -> None:
    """Measure, and print a line for each number."""
    targets, gates = (int(word) for word in (*sys.argv[1:], "300", "60")[:2])
    chromium = shutil.which("chromium")
    if chromium is None:
        raise SystemExit("there is no chromium here")
    one = crafted(targets, gates)
    begun = time.process_time()
    text = render(one, View(past=before(one)))
    print(f"made in {time.process_time() - begun:.2f} s of the processor, {len(text) / 1e6:.1f} MB")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page = Path(folder) / "page.html"
        page.write_text(text, encoding="utf-8")
        browser = playwright.chromium.launch(executable_path=chromium, args=list(QUIET))
        measured = list(zip(*(opened(browser, page) for _ in range(OPENED)), strict=True))
        browser.close()
    names = ("content loaded", "drawn", "processor")
    for name, values in zip(names, measured, strict=True):
        print(f"{name}: {median(values):.2f} s ({min(values):.2f} to {max(values):.2f})")
    print(f"load of the machine: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
