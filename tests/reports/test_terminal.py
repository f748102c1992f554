"""What a person reads: every golden file is one crafted run seen one way.

``FLEET_WRITE_GOLDEN=1`` rewrites the files; read the difference before you keep it.
"""

import os
import re

import pytest
from rich.cells import cell_len
from support.crafted import craft
from support.places import CASES

from fleet.reports.terminal import render
from fleet.reports.view import Detail, View

FOLDER = CASES / "reports"

SEEN = {
    "mixed": ("mixed", View()),
    "mixed-quiet": ("mixed", View(detail=Detail.QUIET)),
    "mixed-verbose": ("mixed", View(detail=Detail.VERBOSE)),
    "mixed-ascii": ("mixed", View(unicode=False)),
    "mixed-narrow": ("mixed", View(width=50)),
    "image": ("image", View(width=110)),
    "hostile": ("hostile", View()),
    "crowd": ("crowd", View()),
    "wide": ("wide", View()),
    "healthy": ("healthy", View()),
    "nothing": ("nothing", View()),
    "silent": ("silent", View()),
}


@pytest.mark.parametrize("name", SEEN)
def test_reads_as_the_golden_file_says(name: str) -> None:
    run, view = SEEN[name]
    text = render(craft(run), view)
    golden = FOLDER / f"{name}.txt"
    if os.environ.get("FLEET_WRITE_GOLDEN"):
        golden.parent.mkdir(parents=True, exist_ok=True)
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")


@pytest.mark.parametrize("width", [40, 60, 80, 200])
@pytest.mark.parametrize("name", ["mixed", "hostile", "crowd", "wide", "silent"])
def test_no_line_is_wider_than_the_screen(name: str, width: int) -> None:
    for line in render(craft(name), View(width=width)).splitlines():
        assert cell_len(line) <= width, line


def test_a_finding_reads_as_promised() -> None:
    promised = (
        "pi-devbox:2026-08-10   bridge.feed   FAIL   cannot feed\n"
        "  /opt/mempalace-toolkit/extensions/pi/mempalace.ts"
        " (via ~/.pi/agent/extensions/mempalace.ts)\n"
        "  is toolkit 1f00aa2 of 2026-08-10, 14 commits behind; MEMPALACE_FEED is not in it\n"
        "  needs 29e660e (2026-08-12) or later:"
        " rebuild the image, or install the contrib recipe until then\n"
    )
    assert promised in render(craft("image"), View(width=110))


def test_what_a_target_sent_is_neither_markup_nor_control() -> None:
    plain = render(craft("hostile"), View())
    assert "[/red] is [link=file:///etc]here[/link] :warning:" in plain
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\u2028]", plain)
    coloured = render(craft("hostile"), View(colour=True))
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain
    assert "\x1b]" not in coloured


def test_colours_add_nothing_but_colours() -> None:
    plain = render(craft("mixed"), View())
    coloured = render(craft("mixed"), View(colour=True))
    assert "\x1b[1;31m" in coloured
    assert "\x1b" not in plain
    stripped = re.sub(r"\x1b\[[0-9;]*m", "", coloured)
    assert [line.rstrip() for line in stripped.splitlines()] == plain.splitlines()


def test_one_cause_on_many_targets_is_told_once() -> None:
    text = render(craft("crowd"), View())
    assert text.count("cannot feed") == 1
    assert "196 targets   bridge.feed" in text
    assert len(text.splitlines()) < 40


def test_verbose_names_every_target() -> None:
    text = render(craft("crowd"), View(detail=Detail.VERBOSE))
    found = text[text.index("196 targets") :].partition("/opt/")[0]
    assert len(re.findall(r"web-\d{3}", found)) == 196


def test_marks_are_told_apart_without_colour_in_ascii() -> None:
    text = render(craft("mixed"), View(unicode=False))
    assert text.isascii()
    legend = next(line for line in text.splitlines() if "FAIL" in line and "pass" in line)
    marks = re.findall(r"(?:^|   )(\S) ", legend)
    assert len(marks) == len(set(marks)) >= 4
