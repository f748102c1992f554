"""Images made to hurt: whatever they hold, the answer is an error or a fact, in bounded memory."""

import gzip
import io
import tarfile
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.trees import asking, image

from fleet.connectors.deadline import Deadline
from fleet.connectors.image import ImageConnector
from fleet.connectors.oci import tar
from fleet.connectors.oci.layers import Layer, LayeredTree
from fleet.connectors.oci.streams import Blob, Budget, open_regular
from fleet.demo.layout import BakedImage, Member, layer, packed, write_archive
from fleet.errors import FleetError, ProbeError, Unreachable
from fleet.facts.model import Facts
from fleet.facts.paths import State
from fleet.facts.request import PathQuestion, Read
from fleet.facts.walk import resolve

MEBI = 1024 * 1024


def read_layer(
    path: Path, content: bytes, *, max_bytes: int = 64 * MEBI, seconds: float = 60
) -> LayeredTree:
    path.write_bytes(content)
    blob = Blob(lambda: open_regular(path), "layer 1", len(content))
    return LayeredTree([Layer(blob)], Budget(max_bytes, Deadline(seconds), "oci:x"), ())


def baked(path: Path, *layers: bytes, question: PathQuestion) -> Facts:
    write_archive(path, [BakedImage(layers)])
    return ImageConnector(image("oci-archive", path)).collect(asking(question))


def header(
    name: str, *, size: int = 0, kind: bytes = tarfile.REGTYPE, pax: dict[str, str] | None = None
) -> bytes:
    info = tarfile.TarInfo(name)
    info.size, info.type = size, kind
    info.pax_headers = pax or {}
    return info.tobuf(tarfile.PAX_FORMAT)


def test_a_gzip_that_unpacks_without_end_is_stopped(tmp_path: Path) -> None:
    bomb = bomb_of(40)
    assert len(bomb) < MEBI
    tracemalloc.start()
    try:
        with pytest.raises(ProbeError, match="unpack to more than 8388608 bytes"):
            read_layer(tmp_path / "l", bomb, max_bytes=8 * MEBI)
        assert tracemalloc.get_traced_memory()[1] < 8 * MEBI
    finally:
        tracemalloc.stop()


def bomb_of(mebi: int) -> bytes:
    """Return a small gzip of a tar that holds one huge file of zeros."""
    return gzip.compress(header("zeros", size=mebi * MEBI) + bytes(mebi * MEBI + 1024))


def test_the_budget_is_for_all_layers_together(tmp_path: Path) -> None:
    write_archive(tmp_path / "i", [BakedImage([layer([Member("a", bytes(MEBI))])] * 3)])
    target = image("oci-archive", tmp_path / "i")
    with pytest.raises(ProbeError, match="unpack to more than"):
        ImageConnector(target, max_bytes=2 * MEBI).collect(asking())
    ImageConnector(target, max_bytes=4 * MEBI).collect(asking())


def test_time_that_runs_out_is_said(tmp_path: Path) -> None:
    with pytest.raises(Unreachable, match="took longer than 0 s") as caught:
        read_layer(tmp_path / "l", layer([Member("a", b"1")]), seconds=0)
    assert caught.value.stage == "timeout"


@pytest.mark.parametrize(
    "content, said",
    [
        (header("a", size=1 << 40), "ends in the middle of a file"),
        (header("a", kind=b"x", size=1 << 32), "a tar header claims to be"),
        (header("a", kind=b"L", size=1 << 32), "a tar header claims to be"),
        (header("a", kind=b"K", size=200_000) + bytes(300_000), "a tar header claims to be"),
        (header("a", kind=b"L", size=1) + b"x" + bytes(511), "no tar archive: empty header"),
        (header("a") + b"garbage" * 200, "damaged at byte 512"),
        (layer([Member("a", b"1")])[:512], "ends in the middle of a file"),
        (layer([Member("a", b"1")])[:1024], "it is cut short"),
        (header("a", pax={"size": "-512"}) + bytes(1024), "."),
        (header("x" * 5000), "name is longer than 4096"),
        (b"\x1f\x8b\x08\x00garbage", "does not decompress"),
        (packed(layer([Member("a", b"1" * 5000)]), "gzip")[:-20], "does not decompress"),
        (packed(layer([Member("a", b"1" * 5000)]), "zstd")[:-20], "empty: no tar archive"),
        (b"\x28\xb5\x2f\xfdgarbage", "does not decompress"),
    ],
)
def test_headers_that_lie_are_damage(content: bytes, said: str, tmp_path: Path) -> None:
    with pytest.raises(ProbeError, match=rf"layer 1 cannot be read: .*({said})"):
        read_layer(tmp_path / "l", content)


def test_long_name_headers_without_end_are_damage(tmp_path: Path) -> None:
    one = header("n", kind=b"L", size=2) + b"x\0" + bytes(510)
    with pytest.raises(ProbeError, match="layer 1 cannot be read"):
        read_layer(tmp_path / "l", one * 3000)


def test_times_that_are_no_times(tmp_path: Path) -> None:
    for text in ("inf", "nan", "-1e400", "1e300"):
        tree = read_layer(tmp_path / "l", header("a", pax={"mtime": text}) + bytes(1024))
        node = tree.lstat("/a")
        assert node
        assert isinstance(node.mtime, int)


def test_too_many_members_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tar, "MAX_MEMBERS", 100)
    with pytest.raises(ProbeError, match="more than 100 members"):
        read_layer(tmp_path / "l", layer(Member(f"f{n}") for n in range(101)))
    monkeypatch.setattr(tar, "MAX_NAMES", 1000)
    with pytest.raises(ProbeError, match="members"):
        read_layer(tmp_path / "l", layer(Member("x" * 90 + str(n)) for n in range(20)))


def test_ten_thousand_links_end_in_time(tmp_path: Path) -> None:
    links = [Member(f"l{n}", kind="link", target=f"l{n + 1}") for n in range(10_000)]
    question = PathQuestion("/l0", Read.WHOLE)
    started = time.monotonic()
    facts = baked(tmp_path / "i", layer(links), question=question)
    assert facts.paths["/l0"].state is State.LOOP
    assert time.monotonic() - started < 20


def test_members_behind_link_loops_are_damage_not_a_hang(tmp_path: Path) -> None:
    loop = [Member("a", kind="link", target="b"), Member("b", kind="link", target="a")]
    with pytest.raises(ProbeError, match="a link loop holds a member"):
        read_layer(tmp_path / "l", layer([*loop, Member("a/x", b"1")]))
    grows = [Member("g", kind="link", target="g/" * 1000), Member("g/x", b"1")]
    with pytest.raises(ProbeError, match="a link loop holds a member"):
        read_layer(tmp_path / "l", layer(grows))


def test_links_out_of_the_image_stay_in_it(tmp_path: Path) -> None:
    (tmp_path / "host").write_text("host secret")
    members = [
        Member("abs", kind="link", target=str(tmp_path / "host")),
        Member("up", kind="link", target="../" * 40 + f"{tmp_path}/host"),
        Member("hard", kind="hard", target=str(tmp_path / "host")),
        Member("../" * 30 + f"{tmp_path}/host2", b"inside"),
    ]
    for name in ("/abs", "/up", "/hard"):
        question = PathQuestion(name, Read.WHOLE)
        facts = baked(tmp_path / "i", layer(members), question=question)
        assert facts.paths[name].state in (State.DANGLING, State.UNREADABLE)
        assert facts.contents == {}
    assert not (tmp_path / "host2").exists()


def test_odd_names_are_found_and_shown(tmp_path: Path) -> None:
    names = ["new\nline", "-rf", "esc\x1b[31m", "quo'te\"", "tab\t", "Ünï", "a b", "$(id)"]
    members = [Member(name, name.encode()) for name in names]
    for name in names:
        question = PathQuestion(f"/{name}", Read.WHOLE)
        facts = baked(tmp_path / "i", layer(members), question=question)
        assert facts.content(facts.paths[f"/{name}"]) == name.encode()
        facts.model_dump_json()
    with pytest.raises(ProbeError) as caught:
        read_layer(tmp_path / "l", header("esc\x1b[31m" + "x" * 5000))
    assert "\x1b" not in str(caught.value)


def test_sparse_files_are_read_with_their_holes(tmp_path: Path) -> None:
    written = b"12345678" * 64
    info = tarfile.TarInfo("sparse")
    info.size = 512
    info.pax_headers = {
        "GNU.sparse.major": "0",
        "GNU.sparse.minor": "1",
        "GNU.sparse.name": "sparse",
        "GNU.sparse.size": "2000",
        "GNU.sparse.numblocks": "2",
        "GNU.sparse.map": "0,256,1024,256",
    }
    content = info.tobuf(tarfile.PAX_FORMAT) + written + bytes(1024)
    wanted = written[:256] + bytes(768) + written[256:] + bytes(720)
    for stored in (content, gzip.compress(content)):
        tree = read_layer(tmp_path / "l", stored)
        assert tree.read("/sparse", 2000) == wanted
    lying = content.replace(b"0,256,1024,256", b"0,256,9024,256")
    with pytest.raises(ProbeError, match="ends in the middle"):
        read_layer(tmp_path / "l", lying).read("/sparse", 2000)


def test_a_huge_sparse_file_costs_nothing(tmp_path: Path) -> None:
    pax = {"GNU.sparse.size": str(1 << 50), "GNU.sparse.map": "0,0", "GNU.sparse.numblocks": "1"}
    pax |= {"GNU.sparse.major": "0", "GNU.sparse.minor": "1", "GNU.sparse.name": "s"}
    facts = baked(
        tmp_path / "i",
        header("s", pax=pax) + bytes(1024),
        question=PathQuestion("/s", Read.WHOLE),
    )
    assert facts.paths["/s"].size == 1 << 50
    assert facts.paths["/s"].why == "larger than 524288 bytes: not read"


def test_a_large_image_is_read_in_little_memory(tmp_path: Path) -> None:
    big = io.BytesIO()
    with gzip.GzipFile(fileobj=big, mode="wb", compresslevel=1) as file:
        for number in range(8):
            file.write(header(f"f{number}", size=16 * MEBI))
            for _ in range(16):
                file.write(bytes([number]) * MEBI)
        file.write(layer([Member("wanted", b"x" * 1000)]))
    (tmp_path / "l").write_bytes(big.getvalue())
    del big
    blob = Blob(lambda: open_regular(tmp_path / "l"), "layer 1", (tmp_path / "l").stat().st_size)
    tracemalloc.start()
    try:
        budget = Budget(1024 * MEBI, Deadline(60), "x")
        tree = LayeredTree([Layer(blob)], budget, {"wanted"})
        assert tree.read("/wanted", 1000) == b"x" * 1000
        assert tracemalloc.get_traced_memory()[1] < 4 * MEBI
    finally:
        tracemalloc.stop()


@settings(max_examples=150, deadline=None)
@given(
    flips=st.lists(st.tuples(st.integers(0, 6000), st.integers(0, 255)), min_size=1, max_size=6),
    kind=st.sampled_from(["plain", "gzip", "zstd"]),
)
def test_any_damage_ends_in_an_answer_or_an_error(
    flips: list[tuple[int, int]], kind: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    members = [
        Member("d", kind="directory"),
        Member("d/a", b"1" * 700),
        Member("n" * 150, b"2"),
        Member("l", kind="link", target="d/a"),
        Member("h", kind="hard", target="d/a"),
    ]
    content = bytearray(packed(layer(members), kind))  # type: ignore[arg-type]  # of its literals
    for position, value in flips:
        content[position % len(content)] = value
    path = tmp_path_factory.mktemp("fuzz") / "l"
    try:
        tree = read_layer(path, bytes(content))
        for name in ("/d/a", "/l", "/h"):
            walk = resolve(tree, name)
            if walk.final and walk.node and walk.node.kind == "file" and walk.node.size < MEBI:
                tree.read(walk.final, MEBI)
    except FleetError:
        pass


def test_descriptors_are_given_back(tmp_path: Path) -> None:
    def opened() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    write_archive(tmp_path / "i", [BakedImage([layer([Member("a", b"1")])], compression="gzip")])
    (tmp_path / "bad").write_bytes(b"x" * 5000)
    attempts: list[Callable[[], object]] = [
        lambda: ImageConnector(image("oci-archive", tmp_path / "i")).collect(asking()),
        lambda: ImageConnector(image("oci-archive", tmp_path / "bad")).collect(asking()),
        lambda: ImageConnector(image("rootfs", tmp_path)).collect(asking(PathQuestion("/i/x"))),
    ]
    before = opened()
    for _ in range(5):
        for attempt in attempts:
            try:
                attempt()
            except FleetError:
                continue
    assert opened() == before
