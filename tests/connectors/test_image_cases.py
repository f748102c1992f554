"""Cases A03, A04, A05, A08, A14, A16, A17, H04, H05 on images, as measured on real failures."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from support.places import CASES
from support.trees import asking, image

from fleet.connectors.image import ImageConnector
from fleet.demo.layout import BakedImage, Member, layer, write_archive
from fleet.facts.model import Facts
from fleet.facts.paths import State
from fleet.facts.request import PathQuestion, Read

BRIDGE = "/root/.pi/agent/extensions/mempalace.ts"


Look = Callable[..., Facts]


def made(case: str, folder: Path, *more: str) -> Path:
    """Build a case's link tree."""
    folder.mkdir()
    subprocess.run(["sh", str(CASES / case / "make.sh"), str(folder), *more], check=True)
    return folder


def baked(root: Path, file: Path) -> Path:
    """Bake a folder into an OCI archive."""
    members = []
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        if path.is_symlink():
            members.append(Member(name, kind="link", target=str(path.readlink())))
        elif path.is_dir():
            members.append(Member(name, kind="directory", mode=0o755))
        else:
            members.append(Member(name, path.read_bytes()))
    write_archive(file, [BakedImage([layer(members)])])
    return file


@pytest.fixture(params=["rootfs", "oci-archive"])
def look(request: pytest.FixtureRequest, tmp_path: Path) -> Look:
    """Return a function that builds a case and reads the bridge, in both kinds of image."""

    def read(case: str, *more: str, path: str = BRIDGE, how: Read = Read.WHOLE) -> Facts:
        root = made(case, tmp_path / "root", *more)
        where = root if request.param == "rootfs" else baked(root, tmp_path / "i.tar")
        connector = ImageConnector(image(request.param, where))
        return connector.collect(asking(PathQuestion(path, how)))

    return read


def test_a03_every_hop_is_told_and_absolute_ones_stay_inside(look: Look) -> None:
    facts = look("A03")
    fact = facts.paths[BRIDGE]
    folder = "/root/.pi/agent/extensions"
    assert fact.state is State.PRESENT
    assert [(hop.path, hop.target) for hop in fact.hops] == [
        (f"{folder}/mempalace.ts", "abs.ts"),
        (f"{folder}/abs.ts", "/opt/toolkit/mempalace.ts"),
    ]
    assert fact.final == "/opt/toolkit/mempalace.ts"
    assert b"MEMPALACE_FEED" in (facts.content(fact) or b"")


def test_a04_a_loop_is_a_loop(look: Look) -> None:
    fact = look("A04").paths[BRIDGE]
    assert (fact.state, fact.at, len(fact.hops)) == (State.LOOP, BRIDGE, 1)
    assert fact.link
    assert fact.final is None


@pytest.mark.parametrize("variant", [(), ("old",)])
def test_a05_place_and_content_are_two_answers(look: Look, variant: tuple[str, ...]) -> None:
    facts = look("A05", *variant)
    fact = facts.paths[BRIDGE]
    assert fact.final == "/home/u/src/toolkit/mempalace.ts"
    assert (b"MEMPALACE_FEED" in (facts.content(fact) or b"")) is (variant == ())


def test_a08_a_regular_file_is_no_link(look: Look) -> None:
    fact = look("A08").paths[BRIDGE]
    assert (fact.state, fact.link, fact.kind, fact.hops) == (State.PRESENT, False, "file", ())


def test_a16_the_folder_above_is_a_link(look: Look) -> None:
    path = "/root/.pi/agent/extensions/user.ts"
    fact = look("A16", path=path).paths[path]
    assert (fact.state, fact.link) == (State.PRESENT, False)
    assert fact.final == "/root/dots/pi/extensions/user.ts"
    assert [hop.target for hop in fact.hops] == ["../../dots/pi/extensions"]


def test_a16_a_name_missing_behind_a_folder_link_is_absent_not_dangling(look: Look) -> None:
    fact = look("A16").paths[BRIDGE]
    assert (fact.state, fact.at) == (State.ABSENT, "/root/dots/pi/extensions/mempalace.ts")


def test_a16_a_listing_goes_through_the_link(look: Look) -> None:
    path = "/root/.pi/agent/extensions"
    fact = look("A16", path=path, how=Read.LIST).paths[path]
    assert fact.link
    assert [(entry.name, entry.kind) for entry in fact.entries or ()] == [("user.ts", "file")]


@pytest.mark.parametrize("name", ["empty.ts", "cut.ts"])
def test_a14_empty_and_cut_files_come_as_they_are(name: str, tmp_path: Path) -> None:
    content = (CASES / "A14" / name).read_bytes()
    write_archive(tmp_path / "i.tar", [BakedImage([layer([Member("x.ts", content)])])])
    connector = ImageConnector(image("oci-archive", tmp_path / "i.tar"))
    facts = connector.collect(asking(PathQuestion("/x.ts", Read.WHOLE)))
    assert facts.paths["/x.ts"].size == len(content)
    assert facts.content(facts.paths["/x.ts"]) == content


@pytest.mark.parametrize(
    "number, home, rule",
    [
        (0, "/home/dev", "its passwd, user dev"),
        (1, "/workspace", "HOME in the environment"),
        (2, "/", "its passwd does not know the user's uid"),
    ],
)
def test_a17_home_is_the_images_own(number: int, home: str, rule: str, tmp_path: Path) -> None:
    config = json.loads((CASES / "A17" / "inspect.json").read_text())[number]["Config"]
    members = [
        Member("etc/passwd", (CASES / "A17" / "passwd").read_bytes()),
        Member(f"{home}/.pi/agent/extensions/mempalace.ts", b"here"),
        Member("root/.pi/agent/extensions/mempalace.ts", b"not here"),
    ]
    write_archive(tmp_path / "i.tar", [BakedImage([layer(members)], config=config)])
    connector = ImageConnector(image("oci-archive", tmp_path / "i.tar"))
    path = "~/.pi/agent/extensions/mempalace.ts"
    facts = connector.collect(asking(PathQuestion(path, Read.WHOLE)))
    assert facts.content(facts.paths[path]) == b"here"
    assert (facts.platform.home, facts.platform.rule) == (home, rule)


def test_h04_odd_whiteouts() -> None:
    connector = ImageConnector(image("oci", CASES / "H04" / "layout", "palace:1"))
    listed = [PathQuestion(path, Read.LIST) for path in ("/etc", "/x", "/a", "/a/keep", "/")]
    facts = connector.collect(asking(*listed))
    names = {path: [e.name for e in fact.entries or ()] for path, fact in facts.paths.items()}
    assert names["/etc"] == ["hostname", "passwd"], "only the very name makes a folder opaque"
    assert names["/x"] == []
    assert names["/"] == ["a", "etc", "x"]
    flaw = "layer 3 of 3 (sha256:f9ee9eaee3c9) holds a whiteout without a name in /a"
    assert facts.unseen["layers"] == flaw
    for path in ("/a", "/a/keep"):
        fact = facts.paths[path]
        assert (fact.state, fact.at, fact.why) == (State.UNREADABLE, path, flaw)


@pytest.mark.parametrize("layout", ["zstd", "mislabelled"])
def test_h05_compression_is_told_by_the_bytes(layout: str) -> None:
    connector = ImageConnector(image("oci", CASES / "H05" / layout))
    home = "~/.pi/agent/extensions/mempalace.ts"
    facts = connector.collect(asking(PathQuestion(home, Read.WHOLE)))
    content = facts.content(facts.paths[home]) or b""
    assert content.startswith(b"// bridge v2")
    assert len(content) == facts.paths[home].size == 399
    assert facts.paths[home].absolute == BRIDGE
