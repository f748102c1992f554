"""The Dockerfiles to be copied: an image that passes its own check, and a stage that fails a build.

The image is real, pi and palace from their registries, and is built once for all tests here.
"""

import io
import json
import shlex
import shutil
import tarfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import docker
import docker.errors
import pytest
from click.testing import CliRunner
from docker.models.containers import Container
from support.ci import CI, ran
from support.ci_images import NAME, Built, base_image, built, wheel
from support.http import EmbeddingStub, FakeModel, Reply, Request
from support.pi import models_of
from support.places import ROOT
from support.rig import compose_binary, docker0

from fleet.cli.main import cli
from fleet.demo.history import BRIDGE, bridge_of

pytestmark = [pytest.mark.network, pytest.mark.timeout(1200)]
DEVBOX = f"{NAME}:devbox"
SLIM = f"{NAME}:slim"
TOKEN = "tok-EXAMPLE-devbox"
#: Where the full image keeps its palace.
PALACE = "/home/dev/.mempalace"
LIVE = "The southern gate is painted green, and the heron has moved to the old mill. " * 4
CUT = "The keeper opens the northern gate at six and closes it when the heron sleeps. " * 4
#: A session that was cut off.
TURNS: list[object] = [
    {"type": "session", "version": 3, "id": "s1", "cwd": "/w"},
    *({"type": "message", "message": {"role": r, "content": CUT}} for r in ("user", "assistant")),
]


@pytest.fixture(scope="module")
def base(engine: docker.DockerClient, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    yield base_image(engine, tmp_path_factory.mktemp("base"))
    for tag in ("checked", "bad", "devbox", "slim", "base", "raw"):
        try:
            engine.images.remove(f"{NAME}:{tag}", force=True)
        except docker.errors.ImageNotFound:
            continue


@pytest.fixture(scope="module")
def devbox(engine: docker.DockerClient, base: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The image that ``ci/devbox.Dockerfile`` builds; beside it the one without memory."""
    folder = tmp_path_factory.mktemp("devbox")
    shutil.copytree(ROOT / "toolkit", folder / "toolkit", symlinks=True)
    shutil.copy2(CI / "devbox.Dockerfile", folder / "Dockerfile")
    for target, tag in (("slim", SLIM), ("", DEVBOX)):
        engine.images.build(
            path=str(folder),
            tag=tag,
            target=target or None,
            buildargs={"BASE": base},
            rm=True,
            forcerm=True,
        )
    return DEVBOX


@pytest.fixture(scope="module")
def bad(engine: docker.DockerClient, devbox: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The same image with the bridge of a day on which it could not feed."""
    folder = tmp_path_factory.mktemp("bad")
    (folder / "old.ts").write_bytes(bridge_of("2026-08-10.ts"))
    text = f"FROM {devbox}\nCOPY old.ts /opt/mempalace-toolkit/{BRIDGE}\n"
    (folder / "Dockerfile").write_text(text, encoding="utf-8")
    engine.images.build(path=str(folder), tag=f"{NAME}:bad", rm=True, forcerm=True)
    return f"{NAME}:bad"


@pytest.fixture(scope="module")
def gate(base: str, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], Built]:
    """What sends an image through the gate, in a build's folder that holds a wheel of fleet."""
    folder = tmp_path_factory.mktemp("gate")
    shutil.copy2(CI / "gate.Dockerfile", folder / "gate.Dockerfile")
    package = f"./{wheel(folder)}"

    def through(image: str, tag: str) -> Built:
        return built(folder, "gate.Dockerfile", tag, IMAGE=image, PYTHON=base, FLEET=package)

    return through


def check(
    image: str, *require: str, systems: str = "mempalace-bridge,pi"
) -> tuple[int, dict[tuple[str, str], str]]:
    words = ["check", f"docker-daemon:{image}", "--system", systems]
    ended = CliRunner().invoke(cli, [*words, "--require", ",".join(require), "--format", "json"])
    told = json.loads(ended.stdout)["findings"]
    return ended.exit_code, {(f["system"], f["gate"]): f["verdict"] for f in told}


def test_the_image_passes_its_own_check(devbox: str) -> None:
    code, found = check(devbox, "feed", "stamp", "mailbox", "remote")
    assert code == 0, found
    assert "fail" not in found.values()
    passed = {gate for (_, gate), verdict in found.items() if verdict == "pass"}
    assert {"bridge.placed", "bridge.feed", "bridge.feed-on", "pi.one", "pi.writable"} <= passed


@pytest.mark.parametrize(
    ("image", "systems"),
    [(SLIM, "pi,env"), (DEVBOX, "mempalace-bridge,pi,env")],
    ids=["slim", "full"],
)
def test_slim_and_full_have_what_pi_needs(devbox: str, image: str, systems: str) -> None:
    code, found = check(image, "clean-layers", systems=systems)
    assert code == 0, found
    assert "fail" not in found.values(), found


def test_the_one_without_memory_has_none(engine: docker.DockerClient, devbox: str) -> None:
    words = ["sh", "-c", "pi --version; command -v mempalace mempalace-mcp; ls ~/.pi/agent"]
    said = engine.containers.run(SLIM, words, remove=True, network="none").decode().split()
    assert said == ["1.6.0", "sessions", "settings.json"]


@pytest.fixture
def started(
    engine: docker.DockerClient, devbox: str, tmp_path: Path
) -> Iterator[Callable[[str], Container]]:
    """What starts a container with a secret, and with a session that was cut off."""
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets/MEMPALACE_REMOTE_TOKEN").write_text(TOKEN)
    (tmp_path / "sessions/--w--").mkdir(parents=True)
    (tmp_path / "sessions/--w--/cut.jsonl").write_text("".join(json.dumps(t) + "\n" for t in TURNS))
    for path in (tmp_path, *tmp_path.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    volumes = [
        f"{tmp_path}/secrets:/run/secrets:ro",
        f"{tmp_path}/sessions:/home/dev/.pi/agent/sessions:ro",
    ]
    made: list[Container] = []

    def start(image: str) -> Container:
        environment = {"MEMPALACE_CATCH_UP_SECONDS": "20"}
        words = ["sleep", "600"]
        made.append(
            engine.containers.run(
                image,
                words,
                name=f"{NAME}-{len(made)}",
                volumes=volumes,
                environment=environment,
                network="none",
                detach=True,
                init=True,
            )
        )
        return made[-1]

    yield start
    for container in made:
        container.remove(force=True)


def _said(container: Container, words: list[str]) -> tuple[object, object]:
    """Run a program in a container; an old engine that is busy may lose what a quick one says."""
    told = container.exec_run(words, stderr=False)
    for _ in range(2):
        told = told if told[1] else container.exec_run(words, stderr=False)
    return told[0], told[1]


@pytest.mark.parametrize("image", [SLIM, DEVBOX], ids=["slim", "full"])
def test_every_bash_of_a_container_knows_its_secrets(
    started: Callable[[str], Container], image: str
) -> None:
    container = started(image)
    said = 'printf %s "$MEMPALACE_REMOTE_TOKEN"'
    for words in [["bash", how, said] for how in ("-lc", "-c", "-ic")]:
        assert _said(container, words) == (0, TOKEN.encode()), words
    container.reload()
    assert TOKEN not in json.dumps(container.attrs)


@pytest.mark.parametrize(
    ("image", "systems"),
    [(SLIM, "pi, env"), (DEVBOX, "mempalace-bridge, pi, env")],
    ids=["slim", "full"],
)
def test_a_container_passes_its_audit(
    started: Callable[[str], Container], tmp_path: Path, image: str, systems: str
) -> None:
    container = started(image)
    _until(lambda: _runs(container))
    (tmp_path / "fleet.yml").write_text(
        f"containers:\n  box:\n    container: {container.name}\n    shell: bash -lc\n"
        f"    systems: [{systems}]\n"
        f"images:\n  baked: {{image: 'docker-daemon:{image}', systems: [{systems}]}}\n"
    )
    words = ["audit", "-i", str(tmp_path / "fleet.yml"), "--format", "json"]
    ended = CliRunner().invoke(cli, words)
    told = json.loads(ended.stdout)["findings"]
    assert ended.exit_code == 0, told
    assert [f for f in told if f["verdict"] == "fail"] == []
    assert TOKEN not in ended.output
    ended = CliRunner().invoke(cli, ["provision", "renew-devboxes", "--yes", *words[1:]])
    assert ended.exit_code == 0, ended.output
    assert [t["name"] for t in json.loads(ended.stdout)["targets"]] == ["baked", "box"]


def test_a_start_exports_what_was_left_and_starts(started: Callable[[str], Container]) -> None:
    container = started(DEVBOX)
    stage = "/home/dev/.local/state/mempalace-pi-session/export/cut.pi.txt"
    _until(lambda: container.exec_run(["test", "-s", stage]).exit_code == 0)
    assert b"northern gate" in container.exec_run(["cat", stage]).output
    _until(lambda: _runs(container))
    assert b"catch-up: 1 sessions staged" in container.logs()


class HeldEmbedding(EmbeddingStub):
    """One that lets whoever mines wait until it is let go."""

    def __init__(self, *, address: str) -> None:
        self.let_go = threading.Event()
        super().__init__(address=address)

    def _answer(self, request: Request) -> Reply:
        self.let_go.wait(45)
        return super()._answer(request)


def test_the_bridge_and_the_catch_up_of_a_start_mine_one_after_another(
    engine: docker.DockerClient, sessions: Path
) -> None:
    """The second pi of a container comes while the start still feeds what was cut off."""
    with (
        HeldEmbedding(address=docker0()) as held,
        FakeModel([LIVE] * 9, address=docker0()) as model,
    ):
        container = engine.containers.run(
            DEVBOX,
            ["sleep", "600"],
            name=f"{NAME}-race",
            volumes=[f"{sessions}:/home/dev/.pi/agent/sessions"],
            environment={**held.environment, "MEMPALACE_CATCH_UP_SECONDS": "100"},
            detach=True,
            init=True,
        )
        try:
            _until(lambda: bool(held.requests))
            assert not _runs(container)
            _asked(container, model, "How is the gate?")
            assert not _runs(container), "the catch-up is still at it"
            assert _mining(container) == 1
            staged = "/home/dev/.local/state/mempalace-pi-session/export"
            assert _printed(container, "ls", staged) == "cut.pi.txt\n", "the bridge gave way"
            held.let_go.set()
            _until(lambda: _runs(container))
            assert b"catch-up: 1 sessions staged" in container.logs()
            assert _filed(container) == {"cut.pi.txt": 1}
            _asked(container, model, "And now?")
            _until(lambda: len(_filed(container)) == 3)
            assert set(_filed(container).values()) == {1}
        finally:
            held.let_go.set()
            container.remove(force=True, v=True)


@pytest.fixture
def sessions(devbox: str, tmp_path: Path) -> Path:
    """A folder of sessions, of which one was cut off; the container's user may write there."""
    folder = tmp_path / "sessions"
    (folder / "--w--").mkdir(parents=True)
    (folder / "--w--/cut.jsonl").write_text("".join(json.dumps(t) + "\n" for t in TURNS))
    for path in (folder, folder / "--w--", folder / "--w--/cut.jsonl"):
        path.chmod(0o777)
    return folder


def _asked(container: Container, model: FakeModel, prompt: str) -> None:
    """Let the container's pi answer something in a session of its own."""
    models = json.dumps(models_of(model))
    written = f"printf %s {shlex.quote(models)} > ~/.pi/agent/models.json"
    asked = f"pi --offline --model fake/fake -p {shlex.quote(prompt)} </dev/null"
    told = container.exec_run(["bash", "-lc", f"{written}; {asked}"])
    assert told.exit_code == 0, told.output


def _mining(container: Container) -> int:
    """Count the programs that mine."""
    rows = container.top(ps_args="-eo pid,args")["Processes"]
    return sum(" mempalace mine " in f" {row[-1].replace('/', ' ')} " for row in rows)


def _filed(container: Container) -> dict[str, int]:
    """Return how often each transcript was filed, by its name."""
    script = """
import collections, json, os, pathlib, sqlite3, sys
files = list(pathlib.Path(sys.argv[1]).glob("**/chroma.sqlite3"))
counted = collections.Counter()
for file in files:
    rows = sqlite3.connect(file).execute(
        "select s.string_value, d.string_value from embedding_metadata s join embedding_metadata d"
        " using (id) where s.key = 'source_file' and d.key = 'chroma:document'")
    counted.update(rows.fetchall())
told = {}
for (source, _), times in counted.items():
    name = os.path.basename(source)
    told[name] = max(told.get(name, 0), times)
print(json.dumps(told))
"""
    told: dict[str, int] = json.loads(_printed(container, "python3", "-c", script, PALACE))
    return told


def _printed(container: Container, *words: str) -> str:
    """Run a program in a container; return what it printed."""
    code, out = _said(container, list(words))
    assert isinstance(out, bytes)
    assert code == 0, out.decode()
    return out.decode()


@pytest.mark.parametrize("target", ["slim", "full"])
def test_the_compose_file_builds_and_runs_either(target: str, tmp_path: Path) -> None:
    shutil.copy2(CI / "devbox.compose.yml", tmp_path)
    words = (str(compose_binary()), "-f", "devbox.compose.yml", "config", "--format", "json")
    code, out, err = ran(shlex.join(words), tmp_path, {"DEVBOX": target}, ("sh", "-c"))
    assert code == 0, err
    service = json.loads(out)["services"]["devbox"]
    assert (service["image"], service["build"]["target"]) == (f"pi-devbox:{target}", target)
    # What lies in the image below pi's folder must stay in sight, and the palace must be kept.
    kept = {volume["target"] for volume in service["volumes"]}
    assert "/home/dev/.pi/agent" not in kept
    assert PALACE in kept


def _runs(container: Container) -> bool:
    """Tell whether the entry point has come to the command."""
    return container.exec_run(["sh", "-c", "grep -lx sleep /proc/[0-9]*/comm"]).exit_code == 0


def _until(holds: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.2)


def test_pi_and_the_palace_run_in_it(engine: docker.DockerClient, devbox: str) -> None:
    words = ["sh", "-c", "pi --version && mempalace-mcp --help 2>&1"]
    said = engine.containers.run(devbox, words, remove=True, network="none").decode()
    assert said.startswith("1.6.0\n")
    assert "MemPalace MCP Server" in said


def test_the_gate_lets_a_good_image_through(
    engine: docker.DockerClient, devbox: str, gate: Callable[[str, str], Built]
) -> None:
    tag = f"{NAME}:checked"
    ended = gate(devbox, tag)
    assert ended.code == 0, ended.log
    assert "exit 0: all" in ended.log
    container = engine.containers.create(tag)
    try:
        chunks, _ = container.get_archive("/usr/share/fleet/checked.json")
        with tarfile.open(fileobj=io.BytesIO(b"".join(chunks))) as archive:
            stream = archive.extractfile("checked.json")
            assert stream
            told = json.load(stream)
    finally:
        container.remove()
    assert told["summary"]["conclusion"]["code"] == 0
    (target,) = told["targets"]
    assert target["address"] == "rootfs:/devbox"


def test_the_gate_fails_the_build_of_a_bad_image(
    engine: docker.DockerClient, bad: str, gate: Callable[[str, str], Built]
) -> None:
    tag = f"{NAME}:refused"
    ended = gate(bad, tag)
    assert ended.code != 0
    assert "MEMPALACE_FEED is not in it" in ended.log
    assert "exit 2: " in ended.log
    with pytest.raises(docker.errors.ImageNotFound):
        engine.images.get(tag)
    assert check(bad, "feed")[0] == 2
