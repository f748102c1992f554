"""Hostile images from every kind of source: a clear answer, in bounded memory, nothing written."""

import gzip
import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import NamedTuple

import pytest
from support.fake_registry import FakeRegistry
from support.images import as_archive, as_docker_archive, as_layout

from fleet.demo.layout import BakedImage, Member, layer
from fleet.inventory.model import Target

M = Member
MEBI = 1024 * 1024
MOST_MEMORY = 150  # MiB
MOST_BYTES = 64 * MEBI
PROGRAM = """
import json, sys
from fleet.connectors.image import ImageConnector
from fleet.errors import TargetError
from fleet.facts.request import PathQuestion, Read, Request
from fleet.inventory.address import parse_address
from fleet.inventory.model import Target

def told(address, paths):
    target = Target("t", parse_address(address))
    questions = tuple(PathQuestion(path, Read.WHOLE) for path in paths)
    try:
        connector = ImageConnector(target, timeout=100, max_bytes=most)
        facts = connector.collect(Request("n", paths=questions))
    except TargetError as error:
        return [{}, 0, type(error).__name__, error.what]
    return [{p: fact.state for p, fact in facts.paths.items()}, len(facts.contents), "", ""]

most, images = json.load(sys.stdin)
answers = [told(address, paths) for address, paths in images]
# The high water mark of this process alone: what getrusage tells begins with the parent's.
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(json.dumps([answers, int(peak.split()[1]) // 1024]))
"""


class Told(NamedTuple):
    """What a look at an image came to."""

    states: dict[str, str]
    contents: int
    error: str
    what: str


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
    """Look at images of one layer in a process of its own; check memory and what is left."""
    if not Path("/proc/self/status").exists():
        pytest.skip("reads /proc")
    places = [tmp_path / name for name in ("home", "scratch", "here")]
    for place in places:
        place.mkdir()
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(places[0]),
        "TMPDIR": str(places[1]),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    rootfs = {"rootfs": {"type": "layers", "diff_ids": [diff_id]}} if diff_id else {}
    with ExitStack() as stack:
        made = [
            SOURCES[source](
                tmp_path / f"image{number}", [BakedImage([c], "palace:1", extra=rootfs)]
            )
            for number, c in enumerate(contents)
        ]
        addresses = [str(stack.enter_context(each).address) for each in made]
        ended = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            input=json.dumps([most, [(address, paths) for address in addresses]]),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            cwd=places[2],
            env=environment,
        )
    assert ended.returncode == 0, ended.stderr
    told, peak = json.loads(ended.stdout)
    assert peak < MOST_MEMORY
    assert [path for place in places for path in place.rglob("*")] == []
    return [Told(*each) for each in told]


def header(
    name: str,
    *,
    size: int = 0,
    pax: dict[str, str] | None = None,
    kind: bytes = tarfile.REGTYPE,
    target: str = "",
) -> bytes:
    info = tarfile.TarInfo(name)
    info.size, info.pax_headers = size, pax or {}
    info.type, info.linkname = kind, target
    return info.tobuf(tarfile.PAX_FORMAT)


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


def many_files(count: int) -> tuple[bytes, str]:
    """Return a compressed layer of many empty files and a link to the last, and its diff id."""
    block = bytearray(header("files/0000/000"))
    fixed = sum(block[:6]) + sum(block[14:148]) + sum(block[156:])
    packed, plain = io.BytesIO(), hashlib.sha256()
    with gzip.GzipFile(fileobj=packed, mode="wb", compresslevel=1) as out:

        def write(part: bytes | bytearray) -> None:
            plain.update(part)
            out.write(part)

        write(header("last", kind=tarfile.SYMTYPE, target=f"files/{count // 1000 - 1:04}/999"))
        for number in range(count):
            block[6:14] = name = b"%04d/%03d" % divmod(number, 1000)
            block[148:156] = b"%06o\0 " % (fixed + sum(name) + 8 * ord(" "))
            write(block)
        write(bytes(1024))
    return packed.getvalue(), f"sha256:{plain.hexdigest()}"


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
