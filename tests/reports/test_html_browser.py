"""The page in a real browser: what a person can do with it, and what a target cannot."""

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from support.browser import Site
from support.crafted import START, craft, finding, result, run
from support.pages import served

from fleet.reports.matrix import Mark
from fleet.reports.past import Before, Past, Then
from fleet.verifier.model import Verdict
from fleet.verifier.run import Run

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Dialog, Page

ATTACKS = (
    "<script>window.owned=1</script>",
    "</script><script>window.owned=1</script>",
    "<img src=/leak onerror=window.owned=1>",
    '"><svg onload=window.owned=1>',
    "' onmouseover='window.owned=1",
    "--><script>window.owned=1</script><!--",
    "<!--<script>",
    "{{ 7*7 }}{% raw %}",
    "javascript:window.owned=1",
    "<iframe srcdoc='<script>parent.owned=1</script>'>",
    "<base href=//evil.example.net/>",
    "<link rel=stylesheet href=/leak>",
    "</style><style>*{display:none}</style>",
    "</title></head></table></dialog><h1>PASSED</h1>",
    "&lt;b&gt;&#60;i&#62;",
    "\u202etxt.exe\u2028\x1b[31m",
    "__proto__",
)
#: Contrast of every text that is seen with what lies behind it, by WCAG 2: the lowest, and where.
CONTRAST = """() => {
  const parse = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = (colour) => {
    const [r, g, b] = colour.slice(0, 3).map((c) => c / 255)
      .map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    for (let one = element; one; one = one.parentElement) {
      const colour = parse(getComputedStyle(one).backgroundColor);
      if (colour.length < 4 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  let worst = [99, ""];
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
    if (!own || !element.checkVisibility() || /^(SCRIPT|STYLE)$/.test(element.tagName)) continue;
    const [a, b] = [light(parse(getComputedStyle(element).color)), light(behind(element))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < worst[0]) worst = [ratio, element.outerHTML.slice(0, 200)];
  }
  return worst;
}"""


def heard(page: "Page") -> list[str]:
    """Collect what goes wrong on a page: errors, dialogs, what its policy refused."""
    troubles: list[str] = []

    def refused(dialog: "Dialog") -> None:
        troubles.append(f"dialog {dialog.message}")
        dialog.dismiss()

    page.on("pageerror", lambda error: troubles.append(f"error {error}"))
    page.on("console", lambda message: troubles.append(f"console {message.text}"))
    page.on("dialog", refused)
    return troubles


def attacked() -> Run:
    """Craft a run in which everything that a target can say is an attack."""
    made = []
    for number, attack in enumerate(ATTACKS):
        name = f"{number}{attack}"
        one = finding(
            name,
            "bridge.placed",
            Verdict.FAIL,
            attack,
            required=True,
            evidence=(attack, attack * 2),
            since=attack,
            remedy=attack,
        )
        told = result(name, one)
        made.append(replace(told, target=replace(told.target, groups=(attack,))))
    return run(*made)


def test_nothing_that_a_target_says_is_more_than_text(page: "Page", site: Site) -> None:
    name = f"0{ATTACKS[0]}"
    past = Past(
        {name: (Then(ATTACKS[0], START, Mark.FAIL),)},
        {(name, "bridge.placed"): Before(START, differed=(f"+{ATTACKS[1]}",))},
    )
    troubles = heard(page)
    page.goto(served(site, attacked(), past))
    rows = page.locator("#grid tbody tr")
    assert rows.count() == len(ATTACKS)
    for number in range(rows.count()):
        for column in (0, -1):  # the target, and its one gate
            cell = rows.nth(number).locator("th, td")
            cell.nth(0 if column == 0 else cell.count() - 1).click()
            told = page.locator("#story").inner_text()
            shown = ATTACKS[number].replace("\u202e", "\\u202e").replace("\u2028", "\\u2028")
            assert shown.replace("\x1b", "\\x1b") in told
            page.keyboard.press("Escape")
    assert page.locator("#story").evaluate("dialog => !dialog.open")
    assert page.evaluate("window.owned") is None
    assert page.locator("h1").all_inner_texts() == ["fleet audit"]
    assert page.locator("img, iframe, base, link, svg:not(#grid svg)").count() == 0
    assert site.asked == ["/"]
    assert troubles == []


def test_the_policy_would_stop_what_escaping_missed(page: "Page", site: Site) -> None:
    page.goto(served(site, craft("mixed")))
    troubles = heard(page)
    page.evaluate(
        """() => {
          const frame = document.createElement("div");
          frame.innerHTML = "<img src=/leak onerror='window.owned=1'><p style='color:red'>x</p>";
          document.body.append(frame);
          const script = document.createElement("script");
          script.textContent = "window.owned=2";
          document.body.append(script);
          fetch("/leak").catch(() => {});
        }"""
    )
    page.wait_for_timeout(200)
    assert page.evaluate("window.owned") is None
    assert site.asked == ["/"]
    assert len([t for t in troubles if "Content Security Policy" in t]) >= 4


def test_a_cell_opens_its_story_and_gives_the_focus_back(page: "Page", site: Site) -> None:
    troubles = heard(page)
    page.goto(served(site, craft("mixed")))
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "to the matrix"
    page.locator("#grid tbody th").first.focus()
    page.keyboard.press("Control+Home")
    for key in ("ArrowDown", "ArrowDown", "ArrowDown", "ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    assert page.evaluate("document.activeElement.textContent") == "✗ FAIL"
    page.keyboard.press("Enter")
    told = page.locator("#story")
    assert told.locator("h2").inner_text() == "desk: bridge.placed"
    text = told.inner_text()
    for part in ("What was asked", "What decided it", "the link leads nowhere", "absent: "):
        assert part in text
    assert "fleet apply --limit desk" in text
    assert "no earlier run is known here" in text
    assert page.url.endswith("#story=desk/bridge.placed")
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.textContent") == "✗ FAIL"
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    told.get_by_role("button", name="bridge.placed").press("Enter")
    assert told.locator("h2").inner_text() == "desk: bridge.placed"
    assert troubles == []


def test_the_keys_reach_every_corner_and_the_heads_of_columns(page: "Page", site: Site) -> None:
    page.goto(served(site, craft("mixed")))
    page.locator("#grid tbody th").first.focus()
    page.keyboard.press("Control+End")
    last = "document.activeElement === [...document.querySelectorAll('#grid tbody td')].at(-1)"
    assert page.evaluate(last)
    page.keyboard.press("Home")
    assert page.evaluate("document.activeElement.textContent") == "laptop"
    page.keyboard.press("PageUp")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.textContent") == "mempalace-bridge"
    assert page.evaluate("document.activeElement.getAttribute('aria-expanded')") == "true"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.getAttribute('aria-expanded')") == "false"
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.textContent") == "env"
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    assert page.locator("#story h2").inner_text() == "env.loaded"
    assert page.locator("#grid [tabindex='0']").count() == 1


def test_an_address_opens_the_story_that_it_names(page: "Page", site: Site) -> None:
    site_page = served(site, craft("mixed"))
    page.goto(f"{site_page}#story=vault/serve.bind")
    assert page.locator("#story h2").inner_text() == "vault: serve.bind"
    for wrong in ("#story=vault/none", "#story=%E0%A4%A/x", "#story=laptop/serve.bind"):
        page.goto("about:blank")
        page.goto(site_page + wrong)
        assert page.locator("#story").evaluate("dialog => !dialog.open")


def test_filters_leave_what_was_not_checked_in_sight(page: "Page", site: Site) -> None:
    one = craft("mixed")
    grouped = [
        replace(r, target=replace(r.target, groups=("desks",) if r.target.name == "desk" else ()))
        for r in one.results
    ]
    page.goto(served(site, replace(one, results=tuple(grouped))))
    rows = page.locator("#grid tbody tr:visible th")
    bar = page.locator(".bar .unseen").inner_text()
    page.select_option("#by-mark", "advisory")
    assert rows.all_inner_texts() == ["pi-devbox:2026-08-10", "pi-devbox:2026-08-11"]
    assert page.locator("#shown").inner_text() == "2 of 6 targets shown"
    page.select_option("#by-system", label="env")
    assert rows.count() == 0
    page.get_by_role("button", name="show all").click()
    assert rows.count() == 6
    page.select_option("#by-system", label="env")
    assert rows.all_inner_texts() == [
        "pi-devbox:2026-08-10",
        "pi-devbox:2026-08-11",
        "desk",
        "attic",
        "laptop",
    ]
    heads = page.locator("#grid thead th:visible")
    assert heads.all_inner_texts() == ["target", "env", "env.loaded", "env.file"]
    page.get_by_role("button", name="show all").click()
    page.select_option("#by-group", "desks")
    assert rows.all_inner_texts() == ["desk"]
    page.get_by_role("button", name="show all").click()
    page.keyboard.press("/")
    page.keyboard.type("devbox")
    assert rows.count() == 2
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    box = page.locator(".bar .unseen").bounding_box()
    assert box is not None
    assert 0 <= box["y"] < 200
    assert page.locator(".bar .unseen").inner_text() == bar


def test_a_large_matrix_opens_its_gates_one_system_at_a_time(page: "Page", site: Site) -> None:
    gates = [
        finding("web", f"{s}.g{n}", Verdict.PASS, "holds", system=s)
        for s in ("one", "two")
        for n in range(20)
    ]
    page.goto(served(site, run(result("web", *gates))))
    heads = page.locator("#grid thead th:visible")
    assert heads.all_inner_texts() == ["target", "one", "two"]
    heads.nth(2).click()
    assert heads.count() == 23
    page.get_by_role("button", name="every gate").click()
    assert heads.count() == 43
    page.get_by_role("button", name="every gate").click()
    assert heads.count() == 3
    page.locator("#grid tbody td:visible").nth(1).click()
    assert page.locator("#story li").count() == 20


def test_the_past_is_told_in_strip_and_story(page: "Page", site: Site) -> None:
    marks = [Mark.PASS] * 3 + [Mark.FAIL] * 2
    runs = tuple(Then(f"r{n}", START - timedelta(days=4 - n), m) for n, m in enumerate(marks))
    before = Before(
        START - timedelta(days=1),
        START - timedelta(days=3),
        differed=("-old", "+new"),
        failed=START - timedelta(days=2),
    )
    past = Past({"desk": runs}, {("desk", "bridge.placed"): before})
    page.goto(f"{served(site, craft('mixed'), past)}#story=desk/bridge.placed")
    told = page.locator("#story").inner_text()
    assert "so since the run of 2026-08-31 08:00 UTC" in told
    assert "failed first in the run of 2026-08-30 08:00 UTC" in told
    assert "held last in the run of 2026-08-29 08:00 UTC" in told
    assert page.locator("#story pre").inner_text() == "-old\n+new"
    page.keyboard.press("Escape")
    strip = page.get_by_role("img")
    assert strip.text_content() == "the last 5 runs, oldest first: 2 FAIL, 3 pass"
    page.locator("#grid tbody th", has_text="desk").click()
    newest = page.locator("#story li").first.inner_text()
    assert newest == "2026-09-01 08:00 UTC ✗ FAIL"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_in_light_and_in_dark(browser: "Browser", site: Site, scheme: str) -> None:
    context = browser.new_context(color_scheme="dark" if scheme == "dark" else "light")
    page = context.new_page()
    page.goto(served(site, craft("mixed")))
    dark = "getComputedStyle(document.body).backgroundColor"
    assert (page.evaluate(dark) == "rgb(255, 255, 255)") == (scheme == "light")
    for opened in (False, True):
        if opened:
            page.locator("#grid tbody td.m-fail").first.click()
        ratio, where = page.evaluate(CONTRAST)
        assert ratio >= 4.5, where
    context.close()


def test_without_scripts_the_matrix_and_its_counts_are_there(
    browser: "Browser", site: Site
) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    gates = [finding("web", f"bridge.g{n}", Verdict.FAIL, f"cannot {n}") for n in range(30)]
    page.goto(served(site, run(result("web", *gates))))
    assert page.locator("#grid tbody td:visible").count() == 31
    assert page.locator(".filters").is_hidden()
    assert page.locator(".keys").is_hidden()
    assert page.get_by_text("cannot 29").is_visible()
    assert "0 not checked" in page.locator(".bar").inner_text()
    context.close()


def test_headers_say_what_they_are_the_heads_of(page: "Page", site: Site) -> None:
    page.goto(served(site, craft("mixed")))
    assert page.locator("th:not([scope])").count() == 0
    assert page.locator("#grid thead th[scope=col]").count() == 13
    assert page.locator("#grid tbody th[scope=row]").count() == 6
    assert page.get_by_role("grid").count() == 1
    assert page.locator("main section:not([aria-labelledby])").count() == 0
    focus = page.locator("#by-name")
    focus.focus()
    assert focus.evaluate("e => getComputedStyle(e).outlineStyle") == "solid"
    assert page.locator("label:has(input), label:has(select)").count() == 4
