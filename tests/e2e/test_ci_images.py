"""The Dockerfiles to be copied: an image that passes its own check, and a stage that fails a build.

The image is real, pi and palace from their registries, and is built once for all tests here.
"""

import io
import json
import shutil
import tarfile
from collections.abc import Callable, Iterator

import docker
import docker.errors
import pytest
from click.testing import CliRunner
from support.ci import CI
from support.ci_images import NAME, Built, base_image, built, wheel
from support.places import ROOT

from fleet.cli.main import cli
from fleet.demo.history import BRIDGE, bridge_of

pytestmark = [pytest.mark.network, pytest.mark.timeout(1200)]
DEVBOX = f"{NAME}:devbox"


@pytest.fixture(scope="module")
def base(engine: docker.DockerClient, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    yield base_image(engine, tmp_path_factory.mktemp("base"))
    for tag in ("checked", "bad", "devbox", "base", "raw"):
        try:
            engine.images.remove(f"{NAME}:{tag}", force=True)
        except docker.errors.ImageNotFound:
            continue


@pytest.fixture(scope="module")
def devbox(engine: docker.DockerClient, base: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The image that ``ci/devbox.Dockerfile`` builds."""
    folder = tmp_path_factory.mktemp("devbox")
    shutil.copytree(ROOT / "toolkit", folder / "toolkit", symlinks=True)
    shutil.copy2(CI / "devbox.Dockerfile", folder / "Dockerfile")
    engine.images.build(
        path=str(folder), tag=DEVBOX, buildargs={"BASE": base}, rm=True, forcerm=True
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


def check(image: str, *require: str) -> tuple[int, dict[tuple[str, str], str]]:
    words = ["check", f"docker-daemon:{image}", "--system", "mempalace-bridge,pi"]
    ended = CliRunner().invoke(cli, [*words, "--require", ",".join(require), "--format", "json"])
    told = json.loads(ended.stdout)["findings"]
    return ended.exit_code, {(f["system"], f["gate"]): f["verdict"] for f in told}


def test_the_image_passes_its_own_check(devbox: str) -> None:
    code, found = check(devbox, "feed", "stamp", "mailbox", "remote")
    assert code == 0, found
    assert "fail" not in found.values()
    passed = {gate for (_, gate), verdict in found.items() if verdict == "pass"}
    assert {"bridge.placed", "bridge.feed", "bridge.feed-on", "pi.one", "pi.writable"} <= passed


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
