"""Text of a target cannot steer a terminal."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet.facts.text import printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain été 日本 ✓", "plain été 日本 ✓"),
        ("\x1b[31mred\x07", "\\x1b[31mred\\x07"),
        ("a\nb\tc\r", "a\\nb\\tc\\r"),
        ("\x9b31m\x85", "\\x9b31m\\x85"),
        ("\u202egpj.exe\u2066\u200b", "\\u202egpj.exe\\u2066\\u200b"),
        ("\u2028\u2029\ud800\U000e0041", "\\u2028\\u2029\\ud800\\U000e0041"),
    ],
)
def test_control_characters_are_spelled(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_long_text_is_cut() -> None:
    assert printable("x" * 200) == "x" * 200
    assert printable("x" * 201) == "x" * 199 + "…"
    assert printable("\x1b" * 3, 10) == "\\x1b\\x1b\\…"


@given(text=st.text(), limit=st.integers(1, 50))
def test_nothing_steers_and_nothing_is_longer(text: str, limit: int) -> None:
    shown = printable(text, limit)
    assert len(shown) <= limit
    assert all(unicodedata.category(char)[0] != "C" for char in shown)
