"""What a target prints is kept within bounds."""

import pytest

from fleet.connectors.bounded import MEBI, Bounded, size_text
from fleet.errors import ProbeError


def test_keeps_what_fits() -> None:
    held = Bounded(4)
    held.feed(b"ab")
    held.feed(b"cd")
    assert held.take() == b"abcd"
    assert len(held) == 4


def test_refuses_one_byte_more_and_lets_go() -> None:
    held = Bounded(4, where="box")
    held.feed(b"abcd")
    with pytest.raises(ProbeError) as caught:
        held.feed(b"e")
    assert caught.value.where == "box"
    assert "4 bytes" in caught.value.what
    assert len(held) == 0


def test_error_output_is_cut_silently() -> None:
    held = Bounded(4)
    held.feed_head(b"abc")
    held.feed_head(b"def")
    held.feed_head(b"ghi")
    assert held.take() == b"abcd"


@pytest.mark.parametrize(
    ("size", "text"), [(64 * MEBI, "64 MiB"), (512 * 1024, "512 KiB"), (17, "17 bytes")]
)
def test_size_text(size: int, text: str) -> None:
    assert size_text(size) == text
