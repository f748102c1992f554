import pytest

from fleet.connectors.text import one_line


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        (b"", ""),
        (b"\n \n", ""),
        (b"  one\ntwo\n", "one"),
        ("naïve ✓", "naïve ✓"),
        (b"\x1b[2J\x07 \xff", "\\x1b[2J\\x07 \\xff"),
        ("a\u202eb", "a\\u202eb"),
        (b"a\0b", "a\\x00b"),
    ],
)
def test_only_the_first_line_and_only_what_is_visible(said: bytes | str, shown: str) -> None:
    assert one_line(said) == shown


def test_the_last_line_on_demand() -> None:
    assert one_line(b"noise\nthe point\n\n", last=True) == "the point"


def test_long_lines_are_cut() -> None:
    assert one_line("x" * 1000, 10) == "xxxxxxx..."
