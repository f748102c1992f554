"""Connections that begin inside a container, by whatever is there to make them."""

import shutil
import socket
import tarfile
import threading
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import docker
import pytest
from docker.models.containers import Container
from support.http import LoopbackServer, Reply
from support.rig import BASE, LABELS, NAME, PALACE, docker0
from support.tools import pi_tool

from fleet.connectors.container import ContainerConnector
from fleet.errors import Unreachable, Unsupported
from fleet.inventory.address import parse_address
from fleet.inventory.model import Target

pytestmark = pytest.mark.e2e

BODY = b"x" * 300_000


@pytest.fixture(scope="module")
def server(images: None) -> Iterator[tuple[str, int]]:
    with LoopbackServer(lambda _: Reply(body=BODY), address=docker0()) as made:
        yield made.address, made.port


def started(engine: docker.DockerClient, image: str, name: str) -> Container:
    return engine.containers.run(
        image,
        entrypoint=["sleep", "600"],
        name=f"{NAME}-{name}",
        detach=True,
        labels=LABELS,
        init=True,
    )


@pytest.fixture(scope="module", params=["bash", "python3", "node"])
def container(
    request: pytest.FixtureRequest, engine: docker.DockerClient, images: None
) -> Iterator[Container]:
    """A container with one of the programs that can connect."""
    image = BASE if request.param == "bash" else PALACE
    made = started(engine, image, f"relay-{request.param}")
    if request.param == "node":
        buffer = BytesIO()
        with tarfile.open(fileobj=buffer, mode="w") as tar:
            tar.add(Path(pi_tool().node).resolve(), arcname="node")
        made.put_archive("/usr/bin", buffer.getvalue())
    yield made
    made.remove(force=True)


def connector(container: Container) -> ContainerConnector:
    target = Target("box", parse_address(f"container:{container.name}"))
    return ContainerConnector(target, timeout=20)


def fetched(sock: socket.socket) -> bytes:
    sock.settimeout(20)
    sock.sendall(b"GET / HTTP/1.0\r\n\r\n")
    answer = b""
    while data := sock.recv(65536):
        answer += data
    sock.close()
    return answer


def test_bytes_go_both_ways_and_nothing_is_lost(
    container: Container, server: tuple[str, int]
) -> None:
    one = connector(container)
    for _ in range(3):
        answer = fetched(one.open_tcp(*server))
        assert answer.startswith(b"HTTP/1.1 200")
        assert answer.partition(b"\r\n\r\n")[2] == BODY
    one.close()
    one.close()


def test_what_keeps_it_from_connecting_is_named(
    container: Container, server: tuple[str, int]
) -> None:
    one = connector(container)
    with pytest.raises(Unreachable) as refused:
        one.open_tcp(server[0], 1)
    assert refused.value.stage == "connect"
    with pytest.raises(Unreachable) as unknown:
        one.open_tcp("nowhere.invalid", 80)
    assert unknown.value.stage in ("resolve", "connect")
    one.close()


def test_a_caller_that_goes_away_leaves_no_thread(
    container: Container, server: tuple[str, int]
) -> None:
    before = threading.active_count()
    one = connector(container)
    sock = one.open_tcp(*server)
    sock.close()
    one.close()
    assert not [t for t in threading.enumerate() if t.name.startswith("relay ")]
    assert threading.active_count() <= before + 1


def test_a_container_without_a_shell_cannot_be_asked_from(
    engine: docker.DockerClient, images: None, tmp_path: Path
) -> None:
    busybox = shutil.which("busybox")
    assert busybox
    archive = tmp_path / "bare.tar"
    with tarfile.open(archive, "w") as tar:
        tar.add(busybox, arcname="busybox")
    engine.api.import_image(str(archive), repository=f"{NAME}-bare", tag="1")
    made = engine.containers.run(
        f"{NAME}-bare:1",
        entrypoint=["/busybox", "sleep", "600"],
        name=f"{NAME}-bare",
        detach=True,
        labels=LABELS,
    )
    one = connector(made)
    try:
        with pytest.raises(Unsupported):
            one.open_tcp("127.0.0.1", 80)
    finally:
        one.close()
        made.remove(force=True)
        engine.images.remove(f"{NAME}-bare:1", force=True)
