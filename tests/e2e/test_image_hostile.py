"""Hostile images that a real engine takes in: read in each way, in bounds, nothing left behind."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import docker
import docker.errors
import pytest
from support.bounded import Told, header, looked_at, many_files, squeezed
from support.trees import image

from fleet.connectors.image_created import LABEL
from fleet.connectors.image_overlay import privileged
from fleet.connectors.image_way import Way
from fleet.demo.layout import BakedImage, Member, layer, write_docker_archive

pytestmark = pytest.mark.e2e
M = Member
MEBI = 1024 * 1024
WAYS = [way for way in Way if way is not Way.OVERLAY or privileged()]


@contextmanager
def loaded(engine: docker.DockerClient, path: Path, content: bytes, diff_id: str) -> Iterator[str]:
    """Load an image of one layer, gone when the block ends; its name is the engine's alone."""
    tag = f"fleet-hostile-{uuid.uuid4().hex[:8]}:1"
    rootfs = {"rootfs": {"type": "layers", "diff_ids": [diff_id]}} if diff_id else {}
    write_docker_archive(path, [BakedImage([content], tag, extra=rootfs)])
    try:
        engine.images.load(path.read_bytes())
        engine.images.get(tag)
        yield tag
    finally:
        path.unlink()
        with suppress(docker.errors.ImageNotFound):
            engine.images.remove(tag, force=True)


def look(
    engine: docker.DockerClient,
    tmp_path: Path,
    content: bytes,
    *paths: str,
    most: int = 4096 * MEBI,
    diff_id: str = "",
) -> dict[Way, Told]:
    """Ask an image in every way, and check that the engine has no container left of it."""
    with loaded(engine, tmp_path / "image.tar", content, diff_id) as tag:
        targets = [image("docker-daemon", *tag.split(":"), image_way=str(way)) for way in WAYS]
        told = looked_at(tmp_path, targets, paths, most=most, seconds=200, scan=True)
        made = {"ancestor": tag, "label": f"{LABEL}=1"}
        assert engine.api.containers(all=True, filters=made) == []
    return dict(zip(WAYS, told, strict=True))


def test_what_leads_out_of_the_image_is_looked_for_in_it(
    engine: docker.DockerClient, tmp_path: Path
) -> None:
    secret = tmp_path / "host"
    secret.write_text("tok-EXAMPLE-host")
    up = "../" * 40
    members = [
        M("h", kind="directory", mode=0o755),
        M("h/abs", kind="link", target=str(secret)),
        M("h/up", kind="link", target=f"{up}{secret}"),
        M("h/loop", kind="link", target="pool"),
        M("h/pool", kind="link", target="loop"),
        M("h/self", kind="link", target="self"),
        M("h/root", kind="link", target="/proc/self/root"),
        *(M(f"h/l{n}", kind="link", target=f"l{n + 1}") for n in range(500)),
        M("h/null", kind="device"),
        M("h/esc\x1b[31m\nline", b"odd"),
        M("h/" + "n" * 255, b"long"),
        M("h/" + "/".join(["a"] * 500), b"deep"),
        M("h/.env", b"TOKEN=ghp_" + b"a1B2" * 9, mode=0o6777),
    ]
    states = {
        "/h/abs": "dangling",
        "/h/up": "dangling",
        "/h/loop": "loop",
        "/h/self": "loop",
        "/h/l0": "loop",
        f"{secret}": "absent",
        "/h/esc\x1b[31m\nline": "present",
        "/h/" + "n" * 255: "present",
        "/h/" + "/".join(["a"] * 500): "present",
    }
    answers = look(engine, tmp_path, layer(members), *states)
    for way, told in answers.items():
        assert (way, told.error, told.what) == (way, "", "")
        assert {path: told.states[path] for path in states} == states, way
        assert told.contents == 3
        assert set(told.found or ()) == (set() if way is Way.API else {"/h/.env"})
    (tmp_path / "proc").mkdir()
    with_proc = look(engine, tmp_path / "proc", layer(members), "/h/root/etc/passwd")
    for way, told in with_proc.items():
        if way is Way.API:
            assert "lays something of its own over /proc" in told.what
        else:
            assert (way, told.states) == (way, {"/h/root/etc/passwd": "dangling"})


def test_names_that_lead_out_are_names_in_the_image(
    engine: docker.DockerClient, tmp_path: Path
) -> None:
    """The engine unpacks them below its root, and then cannot save what it has unpacked."""
    beside = tmp_path / "below"
    paths = (f"{beside}/written", f"{beside}/absolute")
    members = [M("../" * 40 + paths[0], b"1"), M(paths[1], b"2")]
    answers = look(engine, tmp_path, layer(members), *paths)
    saved = answers.pop(Way.SAVE)
    if saved.error:
        assert "the engine does not save the image: open /" in saved.what
    else:
        assert saved.states == dict.fromkeys(paths, "present")
    for way, told in answers.items():
        assert (way, told.error, told.what) == (way, "", "")
        assert (told.states, told.contents) == (dict.fromkeys(paths, "present"), 2)
    assert not beside.exists()


def test_what_an_engine_refuses_is_never_looked_at(
    engine: docker.DockerClient, tmp_path: Path
) -> None:
    """These never become images of an engine; archives of them are read without it."""
    for number, member in enumerate(
        (
            M("hard", kind="hard", target=str(tmp_path / "host")),
            M("d/.wh.", b""),
        )
    ):
        content = layer([M("d", kind="directory"), member])
        with (
            pytest.raises(docker.errors.ImageLoadError),
            loaded(engine, tmp_path / f"{number}.tar", content, ""),
        ):
            pass


def test_a_great_many_files_are_read_in_bounds(engine: docker.DockerClient, tmp_path: Path) -> None:
    content, diff_id = many_files(200_000)
    asked = {"/last": "present", "/files/0000/000": "present", "/files/0000/none": "absent"}
    for way, told in look(engine, tmp_path, content, *asked, diff_id=diff_id).items():
        assert (way, told.error, told.what, told.states) == (way, "", "", asked)


def test_a_bomb_costs_nothing_where_single_files_are_read_and_is_stopped_elsewhere(
    engine: docker.DockerClient, tmp_path: Path
) -> None:
    """A megabyte that the engine has unpacked to a gigabyte, and keeps as a file of it."""
    size = 1024 * MEBI
    parts = [header("opt/zeros", size=size), *[bytes(MEBI)] * 1024]
    parts.append(layer([M("opt/wanted", b"1")]))
    bomb, diff_id = squeezed(parts)
    assert len(bomb) < 8 * MEBI
    paths = ("/opt/wanted", "/opt/zeros")
    answers = look(engine, tmp_path, bomb, *paths, most=512 * MEBI, diff_id=diff_id)
    saved = answers.pop(Way.SAVE)
    assert (saved.error, saved.states) == ("ProbeError", {})
    assert f"unpack to more than {512 * MEBI} bytes" in saved.what
    for way, told in answers.items():
        assert (way, told.error, told.what) == (way, "", "")
        assert (told.states, told.contents) == (dict.fromkeys(paths, "present"), 1)


def test_a_sparse_file_costs_what_is_asked_of_it(
    engine: docker.DockerClient, tmp_path: Path
) -> None:
    """The engine unpacks its holes, so that it is no larger here than other tests can bear."""
    size = 64 * MEBI
    pax = {"GNU.sparse.major": "0", "GNU.sparse.minor": "1", "GNU.sparse.name": "s"}
    pax |= {"GNU.sparse.size": str(size), "GNU.sparse.map": "0,0", "GNU.sparse.numblocks": "1"}
    content = header("s", pax=pax) + layer([M("opt/wanted", b"1")])
    answers = look(engine, tmp_path, content, "/s", "/opt/wanted")
    saved = answers.pop(Way.SAVE)
    assert saved.states or "the engine does not save the image: " in saved.what
    for way, told in answers.items():
        assert (way, told.error, told.what) == (way, "", "")
        assert told.states == {"/s": "present", "/opt/wanted": "present"}
        assert told.contents == 1
