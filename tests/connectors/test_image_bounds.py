"""Hostile images from every kind of source: a clear answer, in bounded memory, nothing written."""

import gzip
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path

import pytest
from support.bounded import Told, header, looked_at, many_files
from support.fake_registry import FakeRegistry
from support.images import as_archive, as_docker_archive, as_layout

from fleet.demo.layout import BakedImage, Member, layer
from fleet.inventory.model import Target

M = Member
MEBI = 1024 * 1024
MOST_BYTES = 64 * MEBI


@contextmanager
def in_registry(_folder: Path, images: Sequence[BakedImage]) -> Iterator[Target]:
    with FakeRegistry(images) as registry:
        yield registry.target()


SOURCES: dict[str, Callable[[Path, Sequence[BakedImage]], AbstractContextManager[Target]]] = {
    "oci": lambda path, images: nullcontext(as_layout(path, images)),
    "oci-archive": lambda path, images: nullcontext(as_archive(path, images)),
    "docker-archive": lambda path, images: nullcontext(as_docker_archive(path, images)),
    "docker": in_registry,
}


def look(
    tmp_path: Path,
    source: str,
    *contents: bytes,
    paths: Sequence[str] = (),
    most: int = MOST_BYTES,
    diff_id: str = "",
) -> list[Told]:
    """Look at images of one layer, as :func:`support.bounded.looked_at` does."""
    rootfs = {"rootfs": {"type": "layers", "diff_ids": [diff_id]}} if diff_id else {}
    with ExitStack() as stack:
        made = [
            SOURCES[source](
                tmp_path / f"image{number}", [BakedImage([c], "palace:1", extra=rootfs)]
            )
            for number, c in enumerate(contents)
        ]
        targets = [stack.enter_context(each) for each in made]
        return looked_at(tmp_path, targets, paths, most=most)


@pytest.mark.parametrize("source", SOURCES)
def test_names_and_links_that_lead_out_stay_inside(source: str, tmp_path: Path) -> None:
    secret = tmp_path / "host"
    secret.write_text("tok-EXAMPLE-host")
    up = "../" * 40
    members = [
        M("etc", kind="directory"),
        M(f"{up}{tmp_path}/written", b"1"),
        M(f"{tmp_path}/absolute", b"1"),
        M("abs", kind="link", target=str(secret)),
        M("up", kind="link", target=f"{up}{secret}"),
        M("hard", kind="hard", target=str(secret)),
        M("loop", kind="link", target="pool"),
        M("pool", kind="link", target="loop"),
        M("self", kind="link", target="self"),
        M("p", kind="link", target="/proc/self/root"),
    ]
    links = ("/abs", "/up", "/hard", "/loop", "/self", "/p/etc/passwd")
    (told,) = look(tmp_path, source, layer(members), paths=links)
    assert (told.error, told.contents) == ("", 0)
    assert [told.states[path] for path in links] == [
        *("dangling", "dangling", "unreadable", "loop", "loop", "dangling")
    ]
    assert {p.name for p in tmp_path.iterdir() if p.is_file()} <= {"host", "image0"}


@pytest.mark.parametrize("source", SOURCES)
def test_a_bomb_is_stopped(source: str, tmp_path: Path) -> None:
    size = 3 * MOST_BYTES
    bomb = gzip.compress(header("zeros", size=size) + bytes(size + 1024))
    (told,) = look(tmp_path, source, bomb)
    assert told.error == "ProbeError"
    assert f"unpack to more than {MOST_BYTES} bytes" in told.what


@pytest.mark.parametrize("source", SOURCES)
def test_a_sparse_file_of_ten_gigabytes_costs_nothing(source: str, tmp_path: Path) -> None:
    size = str(10 * 1024**3)
    pax = {"GNU.sparse.major": "0", "GNU.sparse.minor": "1", "GNU.sparse.name": "s"}
    pax |= {"GNU.sparse.size": size, "GNU.sparse.map": "0,0", "GNU.sparse.numblocks": "1"}
    (told,) = look(tmp_path, source, header("s", pax=pax) + bytes(1024), paths=["/s"])
    assert (told.states, told.contents) == ({"/s": "present"}, 0)


@pytest.mark.parametrize(
    "source, count", [("oci", 999_000), *((source, 260_000) for source in SOURCES)]
)
def test_a_great_many_files_fit(source: str, count: int, tmp_path: Path) -> None:
    """A name that was not kept is found all the same where a link leads to it."""
    asked = {"/last": "present", "/files/0000/000": "present", "/files/0000/none": "absent"}
    content, diff_id = many_files(count)
    most = 1024 * MEBI
    (told,) = look(tmp_path, source, content, paths=[*asked], most=most, diff_id=diff_id)
    assert (told.error, told.what, told.states) == ("", "", asked)


DAMAGE = [
    (layer([M("a", b"1" * 5000)])[:3000], "ProbeError", "layer 1 of 1"),
    (gzip.compress(layer([M("a", bytes(range(256)) * 20)]))[:-30], "ProbeError", "not decompress"),
    (b"no tar at all" * 100, "ProbeError", "no tar archive"),
    (b"\xfd7zXZ\x00" + bytes(600), "Unsupported", "cannot read xz layers here"),
    (header("a", size=1 << 40) + bytes(1024), "ProbeError", "layer 1 of 1"),
    (header("x" * 5000) + bytes(1024), "ProbeError", "name is longer than"),
]


@pytest.mark.parametrize("source", SOURCES)
def test_damage_is_an_error_that_names_the_layer(source: str, tmp_path: Path) -> None:
    contents = [content for content, _, _ in DAMAGE]
    answers = look(tmp_path, source, *contents, paths=["/a"])
    for told, (_, error, said) in zip(answers, DAMAGE, strict=True):
        assert (told.error, said in told.what) == (error, True), told
