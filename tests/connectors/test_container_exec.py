"""An engine's frames, cut anywhere, forged or without end."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet.connectors.container_exec import MOST_ERRORS, Frames
from fleet.errors import ProbeError


def frame(stream: int, data: bytes) -> bytes:
    return bytes([stream, 0, 0, 0]) + len(data).to_bytes(4, "big") + data


@given(
    st.lists(st.tuples(st.sampled_from([0, 1, 2]), st.binary(max_size=40)), max_size=12),
    st.lists(st.integers(1, 20), max_size=80),
)
def test_frames_may_be_cut_anywhere(sent: list[tuple[int, bytes]], cuts: list[int]) -> None:
    frames = Frames(10_000, "box")
    answer = b"".join(frame(stream, data) for stream, data in sent)
    for size in cuts:
        frames.feed(answer[:size])
        answer = answer[size:]
    frames.feed(answer)
    assert frames.output.take() == b"".join(data for stream, data in sent if stream != 2)
    assert frames.errors.take() == b"".join(data for stream, data in sent if stream == 2)


@pytest.mark.parametrize("bad", [b"\x03\0\0\0\0\0\0\1x", b"\1\0\1\0\0\0\0\1x", b"HTTP/1.1 500"])
def test_what_is_no_frame_is_an_error(bad: bytes) -> None:
    with pytest.raises(ProbeError, match="not framed"):
        Frames(100, "box").feed(frame(1, b"ok") + bad)


def test_a_length_is_not_believed() -> None:
    """Nothing is set aside for bytes that were only announced."""
    frames = Frames(100, "box")
    frames.feed(b"\1\0\0\0\xff\xff\xff\xff" + b"x" * 100)
    with pytest.raises(ProbeError, match="more than 100 bytes"):
        frames.feed(b"x")


def test_complaints_are_cut_and_no_error() -> None:
    frames = Frames(100, "box")
    frames.feed(frame(2, b"e" * (MOST_ERRORS + 10)) + frame(1, b"out"))
    assert len(frames.errors) == MOST_ERRORS
    assert frames.output.take() == b"out"
