"""Reading images as the real engine understands them: its own archives, its own files."""

import io
import tarfile
import uuid
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import docker
import pytest
from support.trees import asking, image

from fleet.connectors.engine import client
from fleet.connectors.image import ImageConnector
from fleet.demo.layout import BakedImage, Member, layer, write_docker_archive
from fleet.errors import ProbeError, Unreachable
from fleet.facts.model import Facts
from fleet.facts.paths import State
from fleet.facts.request import PathQuestion, Read

pytestmark = pytest.mark.e2e
M = Member

# Deletions, opaque folders, kinds replaced by each other, hard links over layers, odd names.
LAYERS = [
    [
        M("etc", kind="directory", mode=0o755),
        M("etc/passwd", b"root:x:0:0::/root:/bin/sh\nnode:x:1000:1000::/home/node:/bin/sh\n"),
        M("home/node", kind="directory", mode=0o700, uid=1000, gid=1000),
        M("opt/old/a", b"a1"),
        M("opt/old/b", b"b1"),
        M("opt/gone", b"gone"),
        M("opt/dir/x", b"x1"),
        M("opt/file", b"f1"),
        M("opt/link", kind="link", target="dir"),
        M("srv/lower", b"lower", mode=0o4755, mtime=1_700_000_000),
        M("srv/up", kind="link", target="../../../etc/passwd"),
        M("srv/abs", kind="link", target="/srv/up"),
        M("srv/self", kind="link", target="self"),
        M("srv/dead", kind="link", target="nowhere"),
        M("srv/hard", kind="hard", target="srv/lower", mode=0o4755, mtime=1_700_000_000),
        M("l" * 110 + "/" + "n" * 110, b"long"),
        M("srv/Ünï cöde", b"named"),
    ],
    [
        M("opt/.wh.gone"),
        M("opt/old", kind="directory", mode=0o755),
        M("opt/old/c", b"c2"),
        M("opt/old/.wh..wh..opq"),
        M("opt/.wh.dir"),
        M("opt/dir", b"now a file"),
        M("opt/file", kind="directory", mode=0o755),
        M("opt/file/inner", b"now a folder"),
        M("etc/.wh..wh..opqX"),
        M("opt/.wh.never"),
    ],
    [
        M("opt/link", kind="directory", mode=0o755),
        M("opt/link/y", b"the link is now a folder"),
        M("srv/.wh.lower"),
        M("home/node", kind="directory", mode=0o700, uid=1000, gid=1000),
        M("home/node/bridge.ts", kind="link", target="/opt/old/c"),
        M("opt/old/c", b"c3", mode=0o600),
    ],
]
ASKED = """
/etc/passwd /opt/old/a /opt/old/b /opt/old/c /opt/gone /opt/dir /opt/dir/x /opt/file
/opt/file/inner /opt/link /opt/link/x /opt/link/y /srv/lower /srv/up /srv/abs /srv/self /srv/dead
/srv/hard /home/node /home/node/bridge.ts
"""
PATHS = (*ASKED.split(), "/" + "l" * 110 + "/" + "n" * 110, "/srv/Ünï cöde")
REQUEST = asking(*(PathQuestion(path, Read.WHOLE) for path in PATHS))


@pytest.fixture(scope="module")
def engine() -> Iterator[docker.DockerClient]:
    with closing(client(120)) as opened:
        yield opened


@pytest.fixture(scope="module")
def loaded(engine: docker.DockerClient, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Load an image of hand-made layers into the engine."""
    tag = f"fleet-img-test-{uuid.uuid4().hex[:8]}:1"
    path = tmp_path_factory.mktemp("image") / "image.tar"
    config = {"User": "node", "Env": ["PATH=/usr/bin"], "Labels": {"a": "1"}}
    write_docker_archive(path, [BakedImage([layer(each) for each in LAYERS], tag, config)])
    with path.open("rb") as file:
        engine.images.load(file.read())
    yield tag
    engine.images.remove(tag, force=True)


@pytest.fixture(scope="module")
def read(loaded: str) -> Facts:
    return ImageConnector(image("docker-daemon", *loaded.split(":")), timeout=120).collect(REQUEST)


def export(engine: docker.DockerClient, tag: str) -> dict[str, tarfile.TarInfo | bytes]:
    """Return the file system as the engine lays it out, from a container that never runs."""
    container = engine.containers.create(tag, command="x")
    try:
        stream = io.BytesIO(b"".join(engine.api.export(str(container.id))))
    finally:
        container.remove()
    found: dict[str, tarfile.TarInfo | bytes] = {}
    with tarfile.open(fileobj=stream) as archive:
        for member in archive:
            file = archive.extractfile(member) if member.isreg() else None
            found["/" + member.name.strip("/")] = file.read() if file else member
    return found


def test_every_path_as_the_engine_has_it(
    engine: docker.DockerClient, loaded: str, read: Facts
) -> None:
    real = export(engine, loaded)
    for path, fact in read.paths.items():
        final = fact.final or path
        there = real.get(final)
        if fact.state is State.PRESENT and fact.kind == "file":
            assert there == read.content(fact), path
        elif fact.state is State.PRESENT:
            assert isinstance(there, tarfile.TarInfo), path
            assert there.isdir(), path
        elif fact.state is State.ABSENT:
            assert there is None, path
        else:
            assert isinstance(there, tarfile.TarInfo), path
            assert there.issym(), path
    states = {fact.state for fact in read.paths.values()}
    assert states == {State.PRESENT, State.ABSENT, State.LOOP, State.DANGLING}


def test_the_archive_it_saves_reads_the_same(
    engine: docker.DockerClient, loaded: str, read: Facts, tmp_path: Path
) -> None:
    with (tmp_path / "saved.tar").open("wb") as file:
        for chunk in engine.images.get(loaded).save(named=True):
            file.write(chunk)
    target = image("docker-archive", tmp_path / "saved.tar", loaded.rpartition(":")[2])
    again = ImageConnector(target).collect(REQUEST)
    assert again.paths == read.paths
    assert again.contents == read.contents
    assert again.image
    assert read.image
    assert again.image == read.image.model_copy(update={"way": "", "engine": "", "passed_over": ()})


def test_files_are_what_the_engine_hands_out(
    engine: docker.DockerClient, loaded: str, read: Facts
) -> None:
    container = engine.containers.create(loaded, command="x")
    try:
        for path in ("/etc/passwd", "/opt/old/c", "/srv/hard", "/opt/dir"):
            chunks, _ = container.get_archive(path)
            with tarfile.open(fileobj=io.BytesIO(b"".join(chunks))) as archive:
                member = archive.getmembers()[0]
                file = archive.extractfile(member)
                assert file
                assert file.read() == read.content(read.paths[path])
                assert member.mode & 0o7777 == read.paths[path].mode
                assert (member.uid, int(member.mtime)) == (
                    read.paths[path].uid,
                    read.paths[path].mtime,
                )
    finally:
        container.remove()


def test_what_the_engine_says_of_it(engine: docker.DockerClient, loaded: str, read: Facts) -> None:
    assert read.image
    assert read.image.id == engine.images.get(loaded).id
    assert (read.image.user, read.image.labels) == ("node", {"a": "1"})
    assert (read.platform.home, read.platform.user) == ("/home/node", "node")
    assert read.paths["/home/node"].owner == "node"


def test_a_built_image(engine: docker.DockerClient) -> None:
    """Layers as the engine's own builder writes them: copies, commits of deletions."""
    tag = f"fleet-img-test-{uuid.uuid4().hex[:8]}:built"
    files = {"Dockerfile": b"FROM scratch\nCOPY a /srv/a\nCOPY b /srv/\nENV T=x\nUSER 7\n"}
    context = layer(M(name, data) for name, data in {**files, "a": b"1", "b": b"2"}.items())
    engine.images.build(fileobj=io.BytesIO(context), custom_context=True, tag=tag, rm=True)
    try:
        container = engine.containers.create(tag, command="x")
        try:
            container.put_archive("/srv", layer([M("c", b"3"), M("a", b"changed")]))
            container.commit(*tag.split(":"))
        finally:
            container.remove()
        request = asking(*(PathQuestion(f"/srv/{name}", Read.WHOLE) for name in "abcd"))
        facts = ImageConnector(image("docker-daemon", *tag.split(":"))).collect(request)
        contents = [facts.content(fact) for fact in facts.paths.values()]
        assert contents == [b"changed", b"2", b"3", None]
        assert facts.platform.uid == 7
    finally:
        engine.images.remove(tag, force=True)


def test_an_image_that_is_not_there_names_those_that_are(loaded: str) -> None:
    name = loaded.partition(":")[0]
    with pytest.raises(Unreachable, match=f"no image {name}:9") as caught:
        ImageConnector(image("docker-daemon", name, "9")).collect(REQUEST)
    assert caught.value.stage == "missing"
    assert caught.value.hint == f"it has {loaded}"


def test_an_engine_that_is_not_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    with pytest.raises(Unreachable) as caught:
        ImageConnector(image("docker-daemon", "x", "1")).collect(REQUEST)
    assert caught.value.stage == "engine"


def test_an_archive_larger_than_allowed_is_refused(loaded: str) -> None:
    target = image("docker-daemon", *loaded.split(":"), image_way="save")
    with pytest.raises(ProbeError, match="unpack to more than 4096 bytes"):
        ImageConnector(target, max_bytes=4096).collect(REQUEST)


def test_nothing_was_started_and_nothing_is_left(
    engine: docker.DockerClient, loaded: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    for way in ("", "api", "save"):
        ImageConnector(image("docker-daemon", *loaded.split(":"), image_way=way)).collect(REQUEST)
    assert engine.containers.list(all=True, filters={"ancestor": loaded}) == []
    assert list(tmp_path.iterdir()) == []
