"""Text that is safe to print and fits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from fleet.reports.text import clip, count, fold, names, printable, shorten, unique


@given(st.text())
def test_printable_text_is_one_line_that_encodes_and_stays(text: str) -> None:
    safe = printable(text)
    assert all(c.isprintable() or c.isspace() for c in safe)
    assert len(safe.splitlines()) <= 1
    safe.encode("utf-8")
    assert printable(safe) == safe


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain [bold]", "plain [bold]"),
        ("\x1b[31m", "\\x1b[31m"),
        ("a\nb\tc", "a\\nb\\tc"),
        ("\x9b", "\\x9b"),
        ("\u202egnp", "\\u202egnp"),
        ("\udc80", "\\udc80"),
        ("\U000e0041", "\\U000e0041"),
        ("Grüße 日本", "Grüße 日本"),
    ],
)
def test_printable(text: str, expected: str) -> None:
    assert printable(text) == expected


@given(st.text(alphabet="ab/ 日é", max_size=200), st.integers(20, 60))
def test_folding_keeps_every_character_but_blanks(text: str, width: int) -> None:
    lines = fold(text, width, "  ", "    ")
    assert all(cell_len(line) <= width for line in lines)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")


def test_folding_keeps_blanks_inside_a_line() -> None:
    assert fold("two  blanks", 40) == ["two  blanks"]


def test_long_paths_break_after_a_slash() -> None:
    assert fold("/a/long/path/to/a/file.ts", 12) == ["/a/long/", "path/to/a/", "file.ts"]


@given(st.text(alphabet="ab日", max_size=60), st.integers(5, 40))
def test_shortened_text_fits(text: str, width: int) -> None:
    assert cell_len(shorten(text, width)) <= width


def test_shortening_keeps_both_ends() -> None:
    assert shorten("workstation.example.net", 11) == "works…e.net"


def test_names_that_do_not_fit_are_counted() -> None:
    assert names(["a", "b", "c"], 80) == "a, b, c"
    assert names(["alpha", "beta", "gamma"], 18) == "alpha and 2 more"
    assert names([], 80) == ""


def test_clipping_says_how_much_is_missing() -> None:
    assert clip("abcdef", 4) == "abcd… (2 more characters)"
    assert clip("abcd", 4) == "abcd"


def test_counting() -> None:
    assert [count(0, "gate"), count(1, "gate"), count(2, "gate")] == [
        "0 gates",
        "1 gate",
        "2 gates",
    ]
    assert count(2, "copy", "copies") == "2 copies"
    assert unique("abca") == ("a", "b", "c")
