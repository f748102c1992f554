"""Secrets in the layers of real images: found, dated, followed to where they are deleted."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from support.images import REQUEST, WRITERS, Write, as_layout, collect

from fleet.demo.layout import BakedImage, Compression, Member, layer
from fleet.facts.images import ScanFact
from fleet.facts.request import Depth, KnownSecret, ScanQuestion
from fleet.secrets import keyed_digest

TOKEN = "tok-EXAMPLE-0123456789"
NPMRC = Member("home/node/.npmrc", f"//npm.example.net/:_authToken={TOKEN}\n".encode())


def known(value: str) -> KnownSecret:
    return KnownSecret("env:PALACE_TOKEN", len(value.encode()), keyed_digest("n0", value))


def scanned(
    folder: Path,
    layers: Sequence[Sequence[Member]],
    question: ScanQuestion | None = None,
    *,
    write: Write = as_layout,
    compression: Compression = "plain",
) -> ScanFact:
    baked = BakedImage([layer(each) for each in layers], "palace:1", compression=compression)
    request = replace(REQUEST, scan=question or ScanQuestion())
    facts = collect(write(folder / "image", [baked]), request)
    assert TOKEN not in facts.model_dump_json()
    assert facts.image
    assert facts.image.scan
    return facts.image.scan


@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize("compression", ["plain", "gzip", "zstd"])
def test_a_file_that_a_later_layer_deletes_is_found(
    write: Write, compression: Compression, tmp_path: Path
) -> None:
    layers = [[Member("etc/os-release", b"x")], [NPMRC], [Member("home/node/.wh..npmrc")]]
    scan = scanned(tmp_path, layers, write=write, compression=compression)
    (found,) = scan.found
    assert (found.place, found.key, found.layer, found.gone) == (
        "/home/node/.npmrc",
        "_authToken",
        2,
        3,
    )
    assert found.digest.startswith("sha256:")
    assert (scan.layers, scan.files, scan.read, scan.bytes) == (3, 2, 1, len(NPMRC.content))


@pytest.mark.parametrize(
    "later",
    [
        [Member("home/node/.npmrc", b"audit=false\n")],
        [Member("home/node/.wh..wh..opq")],
        [Member("home/.wh.node")],
        [Member("home/node", kind="link", target="/srv")],
        [Member("home/node/.npmrc", kind="directory")],
    ],
    ids=["replaced", "opaque", "folder", "folder-by-link", "by-folder"],
)
def test_every_way_of_hiding_a_file_is_told(later: list[Member], tmp_path: Path) -> None:
    (found,) = scanned(tmp_path, [[NPMRC], later]).found
    assert (found.layer, found.gone) == (1, 2)


def test_what_still_shows_is_not_gone(tmp_path: Path) -> None:
    layers = [
        [NPMRC],
        [Member("home/node", kind="directory"), Member("home/node/.wh..yarnrc")],
        [Member("home/.wh..wh..opq"), NPMRC],
    ]
    scan = scanned(tmp_path, layers)
    assert [(f.layer, f.gone) for f in scan.found] == [(1, 3), (3, None)]


def test_a_layer_deletes_nothing_of_its_own(tmp_path: Path) -> None:
    layers = [[NPMRC, Member("home/node/.wh..npmrc"), Member("home/.wh..wh..opq")]]
    assert [found.gone for found in scanned(tmp_path, layers).found] == [None]


def test_a_second_name_of_a_file_is_told_too(tmp_path: Path) -> None:
    second = Member("srv/copy", kind="hard", target="/home/node/.npmrc")
    layers = [[NPMRC, second], [Member("home/node/.wh..npmrc")]]
    found = scanned(tmp_path, layers).found
    assert [(each.place, each.layer, each.gone) for each in found] == [
        ("/home/node/.npmrc", 1, 2),
        ("/srv/copy", 1, None),
    ]


def test_a_likely_name_for_a_file_that_was_not_read_is_told(tmp_path: Path) -> None:
    layers = [
        [
            Member("srv/plain", NPMRC.content),
            Member("home/node/.npmrc", kind="hard", target="srv/plain"),
        ]
    ]
    scan = scanned(tmp_path, layers)
    assert (scan.found, scan.skipped) == (
        (),
        {"a hard link to a file that was not read for its own name": 1},
    )
    found = scanned(tmp_path, layers, ScanQuestion(depth=Depth.ALL, secrets=(known(TOKEN),))).found
    assert [each.place for each in found] == ["/srv/plain", "/home/node/.npmrc"]


def test_only_likely_files_are_read_unless_all_are_asked_for(tmp_path: Path) -> None:
    layers = [[Member("srv/app/notes.txt", f"the token is {TOKEN}\n".encode())]]
    question = ScanQuestion(secrets=(known(TOKEN),))
    scan = scanned(tmp_path, layers, question)
    assert (scan.found, scan.files, scan.read, scan.secrets) == ((), 1, 0, 1)
    deep = scanned(tmp_path / "all", layers, replace(question, depth=Depth.ALL))
    assert [(f.place, f.key) for f in deep.found] == [("/srv/app/notes.txt", "env:PALACE_TOKEN")]


def test_a_systems_own_paths_count_as_likely(tmp_path: Path) -> None:
    layers = [
        [
            Member("srv/u/.pi/agent/notes.txt", f"{TOKEN}".encode()),
            Member("opt/palace/x.yml", f"auth: {TOKEN}".encode()),
        ]
    ]
    question = ScanQuestion(paths=("~/.pi/agent", "/opt/palace"), secrets=(known(TOKEN),))
    assert len(scanned(tmp_path, layers, question).found) == 2


def test_what_is_too_large_is_told_and_not_read(tmp_path: Path) -> None:
    scan = scanned(tmp_path, [[Member("root/.netrc", b"#" * 300_000)]])
    assert (scan.read, scan.skipped) == (0, {"larger than 256 KiB": 1})


def test_a_file_whose_name_a_request_wants_is_scanned_too(tmp_path: Path) -> None:
    secret = Member("home/node/bridge.ts", b"const key = 'ghp_" + b"aB3d" * 9 + b"';")
    (found,) = scanned(tmp_path, [[secret]]).found
    assert found.rule == "GitHub Token"


def test_nobody_looks_when_nobody_asks(tmp_path: Path) -> None:
    target = as_layout(tmp_path / "i", [BakedImage([layer([NPMRC])], "palace:1")])
    facts = collect(target)
    assert facts.image
    assert (facts.image.scan, facts.image.baked) == (None, None)
