"""Layers that are not compressed: read by seeking, told as tarfile tells them, and hashed."""

import hashlib
import io
import os
import tarfile
import threading
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.images import collect
from support.trees import asking, image

from fleet.connectors.deadline import Deadline
from fleet.connectors.oci.layers import Layer, LayeredTree
from fleet.connectors.oci.plain import Windowed
from fleet.connectors.oci.streams import Blob, Budget, Damaged, Forward, Stretch, open_regular
from fleet.connectors.oci.tar import members
from fleet.demo.layout import BakedImage, Member, layer, write_layout
from fleet.errors import ProbeError, Unreachable
from fleet.facts.request import PathQuestion, Read

NAMES = st.one_of(
    st.sampled_from(["a", "dir/", "dir//", "./x", "/abs", "ü", "n" * 100, "d/" * 60 + "x"]),
    st.text(alphabet="ab/. é\n\udcff", min_size=1, max_size=120),
)
TYPES = st.sampled_from([b"0", b"\0", b"1", b"2", b"5", b"3", b"6", b"7"])
TOLD = ("name", "type", "size", "mode", "uid", "gid", "mtime", "linkname", "offset_data")


@st.composite
def entries(draw: st.DrawFn) -> tarfile.TarInfo:
    member = tarfile.TarInfo(draw(NAMES))
    member.type = draw(TYPES)
    member.linkname = draw(NAMES) if member.type in (b"1", b"2") else ""
    member.size = draw(st.integers(0, 1500)) if member.type in (b"0", b"\0", b"7") else 0
    member.mode = draw(st.sampled_from([0o644, 0o4755, 0, 0o7777]))
    member.uid = draw(st.sampled_from([0, 1000, 0o7777777, 2**40]))
    member.gid = member.uid // 2
    member.mtime = draw(st.sampled_from([0, 1_700_000_000, 1.5, -3]))
    return member


def told(member: object) -> list[object]:
    return [getattr(member, name) for name in TOLD]


@settings(deadline=None)
@given(
    found=st.lists(entries(), max_size=6),
    form=st.sampled_from([tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT]),
)
@example(found=[tarfile.TarInfo("dir/")], form=tarfile.GNU_FORMAT)
def test_headers_are_told_as_tarfile_tells_them(found: list[tarfile.TarInfo], form: int) -> None:
    buffer = io.BytesIO()
    try:
        with tarfile.open(
            fileobj=buffer, mode="w", format=form, errors="surrogateescape"
        ) as archive:
            for member in found:
                archive.addfile(member, io.BytesIO(bytes(member.size)))
    except ValueError:
        return  # this format cannot say it
    buffer.seek(0)
    with tarfile.open(fileobj=buffer, encoding="utf-8", errors="surrogateescape") as archive:
        expected = [told(member) for member in archive]
    buffer.seek(0)
    assert [told(member) for member in members(Forward(buffer))] == expected


@given(at=st.integers(0, 511), value=st.integers(0, 255))
def test_a_header_with_any_byte_changed_is_told_as_tarfile_tells_it(at: int, value: int) -> None:
    content = bytearray(layer([Member("dir/name", b"content", mode=0o755)]))
    content[at] = value
    try:
        with tarfile.open(
            fileobj=io.BytesIO(content), encoding="utf-8", errors="surrogateescape"
        ) as archive:
            expected = [told(member) for member in archive]
    except tarfile.TarError:
        expected = []
    try:
        assert [told(member) for member in members(Forward(io.BytesIO(content)))] == expected
    except Damaged:
        assert len(expected) <= 1


@given(
    st.lists(st.tuples(st.integers(0, 40_000), st.integers(0, 20_000)), max_size=8),
)
def test_a_window_shows_what_is_in_the_file(steps: list[tuple[int, int]]) -> None:
    content = bytes(range(256)) * 157
    size = len(content) - 7
    descriptor = os.memfd_create("fleet-test")
    os.write(descriptor, b"before" + content)
    with Stretch(descriptor, 6, size) as stretch:
        source = Windowed(stretch, size)
        for position, length in steps:
            source.seek(position)
            part = source.read(length)
            assert part == content[position : min(position + length, size)]
            assert source.tell() == position + len(part)
        with pytest.raises(Damaged):
            source.seek(size + 1)


def blob_of(path: Path, content: bytes, digest: str | None = None) -> Blob:
    path.write_bytes(content)
    found = f"sha256:{hashlib.sha256(content).hexdigest()}" if digest is None else digest
    return Blob(lambda: open_regular(path), path.name, len(content), 0, found)


@pytest.mark.parametrize("size", [100, 3_000_000])
@pytest.mark.parametrize("place", ["content", "after the end"])
def test_a_byte_that_no_header_needs_is_hashed_too(tmp_path: Path, size: int, place: str) -> None:
    good = layer([Member("big", bytes(size)), Member("asked", b"1")])
    digest = f"sha256:{hashlib.sha256(good).hexdigest()}"
    bad = bytearray(good)
    bad[700 if place == "content" else -1] = 1
    before = threading.active_count()
    with pytest.raises(ProbeError, match=r"second cannot be read: its sha256 is .*, not "):
        LayeredTree(
            [
                Layer(blob_of(tmp_path / "first", good)),
                Layer(blob_of(tmp_path / "second", bytes(bad), digest)),
            ],
            Budget(1 << 30, Deadline(60)),
            (),
        )
    assert threading.active_count() == before


def test_both_hashes_of_a_layer_count(tmp_path: Path) -> None:
    blob = blob_of(tmp_path / "one", layer([Member("a", b"1")]))
    LayeredTree([Layer(blob, blob.digest)], Budget(1 << 30, Deadline(60)), ())
    with pytest.raises(ProbeError, match="its sha256 is"):
        LayeredTree([Layer(blob, "sha256:" + "0" * 64)], Budget(1 << 30, Deadline(60)), ())


def test_no_time_left_is_no_forgery(tmp_path: Path) -> None:
    blob = blob_of(tmp_path / "one", layer([Member("a", bytes(3_000_000))]))
    budget = Budget(1 << 30, Deadline(0))
    with pytest.raises(Unreachable) as caught:
        LayeredTree([Layer(blob)], budget, ())
    assert caught.value.stage == "timeout"


def test_most_of_a_layer_is_not_brought_into_memory(tmp_path: Path) -> None:
    big = Member("big", bytes(50_000_000))
    write_layout(tmp_path, [BakedImage([layer([big, Member("asked", b"1")])], tag="a:1")])
    read: list[int] = []
    original = os.pread

    def counting(descriptor: int, size: int, offset: int) -> bytes:
        data = original(descriptor, size, offset)
        read.append(len(data))
        return data

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "pread", counting)
        facts = collect(image("oci", tmp_path, "a:1"), asking(PathQuestion("/asked", Read.WHOLE)))
    assert facts.content(facts.paths["/asked"]) == b"1"
    assert max(read) <= 1 << 20
