"""The three ways to read an engine's image tell the same, and leave nothing behind."""

import os
import random
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Literal

import docker
import pytest
from support.trees import asking, image

from fleet.connectors import engine_http, image_created, image_overlay
from fleet.connectors.engine import endpoint
from fleet.connectors.image import ImageConnector
from fleet.connectors.image_way import Way
from fleet.demo.layout import BakedImage, Member, layer, write_docker_archive
from fleet.errors import ProbeError, Unsupported
from fleet.facts.model import Facts
from fleet.facts.paths import State
from fleet.facts.request import (
    CommandQuestion,
    Depth,
    LaunchQuestion,
    PathQuestion,
    Read,
    Request,
    ScanQuestion,
)

pytestmark = pytest.mark.e2e
M = Member
ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root sees the engine's folders")
WAYS = [pytest.param(Way.OVERLAY, marks=ROOT), Way.API, Way.SAVE]
DIR = M("", kind="directory")
Kind = Literal["file", "directory", "link"]
KINDS: tuple[Kind, ...] = ("file", "file", "link", "directory")
FOLDERS: tuple[Kind, ...] = ("directory", "directory", "directory", "file", "link")
BASE = [
    M("etc", kind="directory", mode=0o755),
    M("etc/passwd", b"root:x:0:0::/root:/bin/sh\nnode:x:1000:1000::/home/node:/bin/sh\n"),
]


@contextmanager
def loaded(
    engine: docker.DockerClient, path: Path, layers: list[list[Member]], **config: object
) -> Iterator[str]:
    """Load an image of hand-made layers; gone when the block ends."""
    tag = f"fleet-ways-test-{uuid.uuid4().hex[:8]}:1"
    write_docker_archive(path, [BakedImage([layer(each) for each in layers], tag, config)])
    engine.images.load(path.read_bytes())
    try:
        yield tag
    finally:
        engine.images.remove(tag, force=True)


def read(tag: str, request: Request, way: str = "") -> Facts:
    name, _, version = tag.partition(":")
    variables = {"image_way": way} if way else {}
    return ImageConnector(image("docker-daemon", name, version, **variables)).collect(request)


def told(facts: Facts) -> dict[str, object]:
    """Return facts without what differs by nature."""
    kept = facts.model_dump(exclude={"taken_at", "image"})
    assert facts.image
    return {**kept, "image": facts.image.model_dump(exclude={"way", "passed_over"})}


def scrambled(seed: int) -> tuple[list[list[Member]], list[str]]:
    """Return layers that replace, hide and link each other's names, and all those names."""
    choose = random.Random(seed)  # noqa: S311 - the same layers every time
    folders = ["t/a", "t/b", "t/a/c", "t/b/d"]
    names = [f"{folder}/{leaf}" for folder in ["t", *folders] for leaf in ("x", "y", "z")]
    layers = [[*BASE, M("t", kind="directory", mode=0o755)]]
    for number in range(4):
        members: dict[str, Member] = {"t": M("t", kind="directory", mode=0o755)}
        for path in (*folders, *names):
            above = [folder for folder in folders if path.startswith(f"{folder}/")]
            if choose.random() < 0.5 or any(members.get(f, DIR).kind != "directory" for f in above):
                continue
            for folder in above:
                members.setdefault(folder, M(folder, kind="directory", mode=0o711))
            members[path] = any_member(choose, path, number, is_folder=path in folders)
        files = [path for path, member in members.items() if member.kind == "file"]
        for path in (f"{name}-too" for name in names[:3] if files):
            first = members[choose.choice(files)]
            members[path] = replace(first, path=path, content=b"", kind="hard", target=first.path)
        layers.append([*members.values(), *whiteouts(choose, members, [*folders, *names])])
    return layers, ["t", *folders, *names, *(f"{name}-too" for name in names[:3])]


def any_member(choose: random.Random, path: str, number: int, *, is_folder: bool) -> Member:
    kind: Kind = choose.choice(FOLDERS if is_folder else KINDS)
    target = choose.choice(("x", "../x", "/t/a", "/t/b/d", "../../../t/b", "gone", "y", "."))
    text = f"{path} of layer {number}".encode() if kind == "file" else b""
    mode = choose.choice((0o644, 0o4755, 0o600))
    return Member(path, text, kind, target, mode, choose.choice((0, 1000)), 7, 1_700_000_000)


def whiteouts(
    choose: random.Random, members: dict[str, Member], names: list[str]
) -> Iterator[Member]:
    for path in names:
        above, _, name = path.rpartition("/")
        is_folder = members.get(above, M("")).kind == "directory"
        if is_folder and path not in members and choose.random() < 0.2:
            yield M(f"{above}/.wh.{name}")
    for path, member in members.items():
        if member.kind == "directory" and choose.random() < 0.2 and path != "t":
            yield M(f"{path}/.wh..wh..opq")


def test_all_ways_tell_the_same_of_notes(engine: docker.DockerClient, tmp_path: Path) -> None:
    first = [
        *BASE,
        M("m/MEMORY.md", b"[a](a.md)\n"),
        M("m/gone.md", b"x"),
        M("m/projects/one/t.md", b"old"),
        M("m/far.md", kind="link", target="/elsewhere/far.md"),
    ]
    second = [M("m/.wh.gone.md"), M("m/projects/one/t.md", b"<private>\n")]
    second.append(M("elsewhere/far.md", b"far"))
    request = asking(PathQuestion("/m", Read.NOTES))
    with loaded(engine, tmp_path / "i.tar", [first, second]) as tag:
        found = [
            read(tag, request, way).paths["/m"].notes
            for way in Way
            if way != Way.OVERLAY or not os.geteuid()
        ]
    assert found[0] == found[-1] == found[1]
    names = [(note.name, note.lines, note.matches) for note in found[0] or ()]
    assert names == [
        ("MEMORY.md", 1, ()),
        ("far.md", 1, ()),
        ("projects/one/t.md", 1, ("private",)),
    ]


@pytest.mark.parametrize("seed", range(4))
def test_all_ways_tell_the_same(engine: docker.DockerClient, tmp_path: Path, seed: int) -> None:
    layers, names = scrambled(seed)
    whole = [PathQuestion(f"/{name}", Read.WHOLE) for name in names]
    listed = [PathQuestion(f"/{name}/", Read.LIST) for name in names]
    request = asking(*whole, *listed, PathQuestion("~", Read.STAT), PathQuestion("/no/such"))
    with loaded(engine, tmp_path / "i.tar", layers, User="node") as tag:
        facts = {
            way: read(tag, request, way) for way in Way if way != Way.OVERLAY or not os.geteuid()
        }
    assert {fact.state for fact in facts[Way.SAVE].paths.values()} >= {State.PRESENT, State.ABSENT}
    for way, found in facts.items():
        assert found.image
        assert (found.image.way, found.image.passed_over) == (way, ())
        for path, fact in facts[Way.SAVE].paths.items():
            assert found.paths[path] == fact, (way, path)
        assert told(found) == told(facts[Way.SAVE])


def test_a_search_finds_the_same_in_folders_and_archives(
    engine: docker.DockerClient, tmp_path: Path
) -> None:
    """What a later layer hides, replaces or empties counts; a container does not show it."""
    token = b"TOKEN=ghp_" + b"a1B2" * 9
    root = M("root", kind="directory", mode=0o700)
    folder = M("root/.config", kind="directory", mode=0o755)
    layers = [
        [*BASE, root, M("root/.env", token), M("root/.netrc", token), M("root/.npmrc", token)],
        [root, M("root/.wh..env"), M("root/.npmrc", b"# nothing"), folder],
        [root, folder, M("root/.config/.env", token), M("root/.again", kind="directory")],
        [root, folder, M("root/.config/.wh..wh..opq"), M("root/link", kind="link", target=".env")],
    ]
    question = ScanQuestion()
    request = Request("n0", scan=question)
    config = {"Env": ["API_TOKEN=tok-EXAMPLE-1"]}
    with loaded(engine, tmp_path / "i.tar", layers, **config) as tag:
        saved = read(tag, request, "save").image
        api = read(tag, request, "api").image
        whole = read(tag, replace(request, scan=replace(question, depth=Depth.ALL)), "save").image
        with pytest.raises(Unsupported, match="all of them are asked for"):
            read(tag, replace(request, scan=replace(question, depth=Depth.ALL)), "api")
        folders = read(tag, request).image if os.geteuid() == 0 else saved
    assert saved
    assert saved.scan
    assert whole
    assert whole.scan
    assert folders
    found = [(each.place, each.layer, each.gone) for each in saved.scan.found]
    assert ("/root/.env", 1, 2) in found
    assert ("/root/.npmrc", 1, 2) in found
    assert ("/root/.netrc", 1, None) in found
    assert ("/root/.config/.env", 3, 4) in found
    assert folders.scan
    assert set(folders.scan.found) == set(saved.scan.found)
    assert folders.scan.model_copy(update={"found": ()}) == saved.scan.model_copy(
        update={"found": ()}
    )
    assert folders.baked == saved.baked
    assert api
    assert api.scan
    assert api.baked == saved.baked
    assert sorted(api.scan.unseen) == [1, 2, 3, 4]


@pytest.mark.parametrize("way", WAYS)
def test_programs_are_found_on_the_path(
    engine: docker.DockerClient, tmp_path: Path, way: Way
) -> None:
    members = [
        *BASE,
        M("usr", kind="directory", mode=0o755),
        M("usr/bin", kind="directory", mode=0o755),
        M("bin", kind="link", target="usr/bin"),
        M("usr/bin/pi", kind="link", target="/opt/pi/cli.js"),
        M("opt", kind="directory", mode=0o755),
        M("opt/pi", kind="directory", mode=0o755),
        M("opt/pi/cli.js", b"#!", mode=0o755),
        M("opt/pi/package.json", b'{"name": "pi"}'),
    ]
    commands = (CommandQuestion("pi", Read.HASH, manifest=True), CommandQuestion("uv"))
    request = Request("n0", launches=(LaunchQuestion("container", commands=commands),))
    with loaded(engine, tmp_path / "i.tar", [members], Env=["PATH=/sbin:/bin:/usr/bin"]) as tag:
        facts = read(tag, request, way)
    told_of = facts.launches["container"].commands
    assert told_of["uv"].file is None
    assert told_of["pi"].file
    assert told_of["pi"].manifest
    assert told_of["pi"].file.final == "/opt/pi/cli.js"
    assert facts.content(told_of["pi"].manifest) == b'{"name": "pi"}'


@ROOT
def test_the_quickest_way_is_taken_and_a_slower_one_says_why(
    engine: docker.DockerClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = asking(PathQuestion("/etc/passwd", Read.WHOLE))
    with loaded(engine, tmp_path / "i.tar", [BASE]) as tag:
        first = read(tag, request).image
        assert first
        assert (first.way, first.passed_over) == ("overlay2", ())
        assert first.engine == str(endpoint())
        monkeypatch.setattr("fleet.connectors.image_engine.privileged", lambda: False)
        second = read(tag, request).image
        assert second
        assert second.way == "api"
        assert second.passed_over == ("overlay2: only root sees the engine's folders as they are",)
        with pytest.raises(Unsupported, match="only root sees"):
            read(tag, request, "overlay2")
        with pytest.raises(Unsupported, match="there is no way quick") as caught:
            read(tag, request, "quick")
        assert caught.value.hint == "image_way is one of overlay2, api, save"


@ROOT
def test_what_only_a_mount_can_tell_is_left_to_the_engine(
    engine: docker.DockerClient, tmp_path: Path
) -> None:
    """A folder is marked as moved from elsewhere: what is in it, the folders do not show."""
    layers = [BASE, [M("opt", kind="directory", mode=0o755), M("opt/x", b"1")]]
    with loaded(engine, tmp_path / "i.tar", layers) as tag:
        data = engine.images.get(tag).attrs["GraphDriver"]["Data"]
        os.setxattr(f"{data['UpperDir']}/opt", "trusted.overlay.redirect", b"/etc")
        facts = read(tag, asking(PathQuestion("/opt/x", Read.WHOLE)))
    assert facts.image
    assert facts.image.way == "api"
    assert "only a mount can tell" in facts.image.passed_over[0]


@pytest.mark.parametrize("path", ["/etc/hosts", "/proc/self", "/.dockerenv", "/etc", "/"])
def test_what_every_container_has_of_its_own_is_not_taken_for_the_images(
    engine: docker.DockerClient, tmp_path: Path, path: str
) -> None:
    layers = [[*BASE, M("etc/hosts", b"the image's own")]]
    request = asking(PathQuestion(path, Read.LIST if path in ("/", "/etc") else Read.WHOLE))
    with loaded(engine, tmp_path / "i.tar", layers) as tag:
        with pytest.raises(Unsupported, match="of its own"):
            read(tag, request, "api")
        saved = read(tag, request, "save")
    if path == "/etc/hosts":
        assert saved.content(saved.paths[path]) == b"the image's own"


def test_declared_volumes_are_read_and_none_is_made(
    engine: docker.DockerClient, tmp_path: Path
) -> None:
    layers = [[*BASE, M("data", kind="directory", mode=0o755), M("data/x", b"baked")]]
    config = {"Volumes": {"/data": {}, "/none": {}}, "WorkingDir": "/work"}
    made: list[set[str]] = []
    with loaded(engine, tmp_path / "i.tar", layers, **config) as tag:
        request = asking(
            PathQuestion("/data/x", Read.WHOLE), PathQuestion("/none"), PathQuestion("/work")
        )
        with watching_creation(engine, made):
            facts = read(tag, request, "api")
    assert made == [set()], "one container, and no volume with it"
    assert facts.content(facts.paths["/data/x"]) == b"baked"
    assert facts.paths["/none"].state is State.ABSENT
    assert facts.paths["/work"].state is State.ABSENT


@contextmanager
def watching_creation(engine: docker.DockerClient, made: list[set[str]]) -> Iterator[None]:
    """Note for each container that a way creates which mounts it has, from inside of the block."""
    original = image_created.CreatedTree.__init__

    def noting(
        self: image_created.CreatedTree, http: object, container: str, *rest: object
    ) -> None:
        attrs = engine.containers.get(container).attrs
        assert attrs["State"]["Status"] == "created"
        assert attrs["Config"]["Labels"][image_created.LABEL] == "1"
        made.append({mount["Destination"] for mount in attrs["Mounts"]})
        original(self, http, container, *rest)  # type: ignore[arg-type]  # passed on

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(image_created.CreatedTree, "__init__", noting)
        yield


def left(engine: docker.DockerClient, tag: str) -> list[str]:
    return [str(c["Id"]) for c in engine.api.containers(all=True, filters={"ancestor": tag})]


@pytest.mark.parametrize("fault", [ProbeError("broken"), KeyboardInterrupt(), RuntimeError("bug")])
def test_the_container_is_removed_whatever_happens(
    engine: docker.DockerClient,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    fault: BaseException,
) -> None:
    def broken(*_: object) -> None:
        raise fault

    monkeypatch.setattr(image_created.CreatedTree, "lstat", broken)
    with loaded(engine, tmp_path / "i.tar", [BASE]) as tag:
        with pytest.raises(type(fault)):
            read(tag, asking(PathQuestion("/x")), "api")
        assert left(engine, tag) == []


STUCK = """\
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have ignored it
from fleet.connectors import image_created
def ask_for_ever(tree, path):
    os.write(1, b'there\\n')
    while True:
        tree._engine.json('GET', '/version')
image_created.CreatedTree.lstat = ask_for_ever
"""
COMMAND = "from fleet.cli.main import main\nmain(sys.argv[1:])\n"
PYTEST = "import pytest\nsys.exit(pytest.main(['-s', '-p', 'no:cacheprovider', *sys.argv[1:]]))\n"


@pytest.mark.parametrize("signals, code", [("INT", 130), ("TERM", 143), ("HUP", 129)])
@pytest.mark.parametrize("count", [1, 2])
def test_a_process_that_is_told_to_end_leaves_nothing(
    engine: docker.DockerClient, tmp_path: Path, signals: str, code: int, count: int
) -> None:
    """The real command, while its containers are there; two images are looked at in threads.

    A second signal soon after the first, as pipelines send it, does not keep it from tidying up.
    """
    layers = [[*BASE, M("own", uuid.uuid4().bytes)]]  # containers of no other image are counted
    with loaded(engine, tmp_path / "i.tar", layers) as tag, ended_at_end() as started:
        identity = str(engine.images.get(tag).id)
        addresses = [f"docker-daemon:{name}" for name in (tag, identity)[:count]]
        words = ["check", *addresses, "--system", "env", "-e", "image_way=api"]
        running = started([sys.executable, "-c", STUCK + COMMAND, *words], tmp_path)
        wait_for(running, count)
        assert len(left(engine, tag)) == count
        running.send_signal(signal.Signals[f"SIG{signals}"])
        running.send_signal(signal.SIGTERM)
        _, errors = running.communicate(timeout=60)
        assert b"Traceback" not in errors
        assert running.returncode == code
        assert left(engine, tag) == []
        assert os.listdir(tmp_path / "scratch") == []  # noqa: PTH208 - names alone


def test_a_run_of_pytest_that_is_told_to_end_leaves_nothing(
    engine: docker.DockerClient, tmp_path: Path
) -> None:
    layers = [[*BASE, M("own", uuid.uuid4().bytes)]]
    with loaded(engine, tmp_path / "i.tar", layers) as tag, ended_at_end() as started:
        words = [f"--fleet-target=docker-daemon:{tag}", "--fleet-system=env", str(tmp_path)]
        words += ["--fleet-set=image_way=api", f"--rootdir={tmp_path}"]
        running = started([sys.executable, "-c", STUCK + PYTEST, *words], tmp_path)
        wait_for(running, 1)
        running.send_signal(signal.SIGTERM)
        running.communicate(timeout=60)
        assert running.returncode == pytest.ExitCode.INTERRUPTED
        assert left(engine, tag) == []


def wait_for(running: "subprocess.Popen[bytes]", count: int) -> None:
    """Wait until so many looks have their container."""
    assert running.stdout
    told = iter(running.stdout.readline, b"")
    assert len(list(islice((line for line in told if line.endswith(b"there\n")), count))) == count


@contextmanager
def ended_at_end() -> Iterator[Callable[[list[str], Path], "subprocess.Popen[bytes]"]]:
    """Start processes whose scratch files have a folder of their own; none outlives the block."""
    running: list[subprocess.Popen[bytes]] = []

    def start(words: list[str], folder: Path) -> "subprocess.Popen[bytes]":
        scratch = folder / "scratch"
        scratch.mkdir()
        environ = {**os.environ, "TMPDIR": str(scratch)}
        running.append(
            subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environ)
        )
        return running[-1]

    try:
        yield start
    finally:
        for each in running:
            each.kill()
            each.communicate()


def test_an_engine_that_creates_no_container_saves_the_image(
    engine: docker.DockerClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fleet.connectors.image_engine.privileged", lambda: False)
    original = engine_http.EngineHttp.json

    def refusing(
        self: engine_http.EngineHttp, method: str, path: str, *rest: object
    ) -> tuple[int, object]:
        if method == "POST":
            return 403, {"message": "a policy says no"}
        return original(self, method, path, *rest)  # type: ignore[arg-type]  # passed on

    monkeypatch.setattr(engine_http.EngineHttp, "json", refusing)
    with loaded(engine, tmp_path / "i.tar", [BASE]) as tag:
        facts = read(tag, asking(PathQuestion("/etc/passwd", Read.WHOLE)))
    assert facts.image
    assert facts.image.way == "save"
    assert facts.image.passed_over[1] == "api: the engine creates no container: a policy says no"
    assert facts.paths["/etc/passwd"].state is State.PRESENT


def test_a_large_folder_is_not_read_to_its_end_for_a_guess(
    engine: docker.DockerClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(image_created, "GUESS_BYTES", 300_000)
    monkeypatch.setattr(image_created, "LIST_BYTES", 600_000)
    folders = [M("opt", kind="directory", mode=0o755), M("opt/many", kind="directory", mode=0o755)]
    many = [M(f"opt/many/{n}", bytes(100_000)) for n in range(10)]
    layers = [[*BASE, *folders, *many, M("opt/z1", b"1"), M("opt/z2", b"2")]]
    asked = asking(*(PathQuestion(f"/opt/{name}", Read.WHOLE) for name in ("z1", "z2")))
    with loaded(engine, tmp_path / "i.tar", layers) as tag:
        facts = read(tag, asked, "api")
        assert [facts.content(fact) for fact in facts.paths.values()] == [b"1", b"2"]
        with pytest.raises(Unsupported, match="/opt/many is too large to be listed"):
            read(tag, asking(PathQuestion("/opt/many", Read.LIST)), "api")


@ROOT
def test_layers_that_vanish_are_not_taken_for_absent_files(
    engine: docker.DockerClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = image_overlay.OverlayTree.lstat

    def removing(self: image_overlay.OverlayTree, path: str) -> object:
        with closing(docker.from_env()) as other:
            for each in other.images.list(name=tag.partition(":")[0]):
                other.images.remove(str(each.id), force=True)
        return original(self, path)

    # No other image may hold the same layer.
    layers = [[*BASE, M("own", uuid.uuid4().bytes)]]
    with loaded(engine, tmp_path / "i.tar", layers) as tag:
        monkeypatch.setattr(image_overlay.OverlayTree, "lstat", removing)
        with pytest.raises(Unsupported, match="removed its layers' folders"):
            read(tag, asking(PathQuestion("/etc/passwd", Read.WHOLE)), "overlay2")
        engine.images.load((tmp_path / "i.tar").read_bytes())
