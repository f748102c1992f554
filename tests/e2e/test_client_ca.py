"""A container whose palace has a certificate of its own authority, asked from inside of it."""

import io
import tarfile
from collections.abc import Iterator
from pathlib import Path

import docker
import pytest
from docker.models.containers import Container
from support.homes import Homes
from support.mcp_server import ScriptedMcpServer, self_signed
from support.places import CASES
from support.rig import BASE, LABELS, NAME

pytestmark = pytest.mark.e2e

CA = "/etc/own-ca.pem"
TOKEN = "tok-EXAMPLE-good"


@pytest.fixture
def tls(tmp_path: Path) -> tuple[Path, Path]:
    return self_signed(tmp_path)


@pytest.fixture
def palace(tls: tuple[Path, Path]) -> Iterator[ScriptedMcpServer]:
    with ScriptedMcpServer.from_file(CASES / "E08" / "behaviour.json", tls=tls) as server:
        yield server


@pytest.fixture
def box(
    engine: docker.DockerClient, images: None, palace: ScriptedMcpServer
) -> Iterator[Container]:
    """A client in the host's own network, so that it reaches the palace on loopback."""
    made = engine.containers.run(
        BASE,
        entrypoint=["sleep", "600"],
        name=f"{NAME}-own-ca",
        detach=True,
        labels=LABELS,
        network_mode="host",
        init=True,
        environment={
            "MEMPALACE_REMOTE_URL": palace.url,
            "MEMPALACE_REMOTE_TOKEN": TOKEN,
            "NODE_EXTRA_CA_CERTS": CA,
        },
    )
    yield made
    made.remove(force=True)


@pytest.fixture
def declared(
    box: Container, palace: ScriptedMcpServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Homes:
    monkeypatch.setenv("FLEET_TEST_TOKEN", TOKEN)
    inventory = tmp_path / "fleet.yml"
    inventory.write_text(
        f"vars:\n  palace_url: {palace.url}\n  palace_token: !secret env:FLEET_TEST_TOKEN\n"
        f"  client_ca: {CA}\n"
        "containers:\n"
        f"  box: {{container: {box.name}, systems: [mempalace-bridge, env]}}\n"
    )
    return Homes(tmp_path, inventory, ("box",))


def put(box: Container, content: bytes) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        entry = tarfile.TarInfo(CA.lstrip("/"))
        entry.size, entry.mode = len(content), 0o644
        archive.addfile(entry, io.BytesIO(content))
    assert box.put_archive("/", packed.getvalue())


def test_a_container_is_asked_with_the_file_that_lies_in_it(
    declared: Homes, box: Container, tls: tuple[Path, Path]
) -> None:
    _, without = declared.audit()
    assert without["box", "flip.ca"]["verdict"] == "fail"
    assert f"{CA} does not exist" in str(without["box", "flip.ca"]["evidence"])
    assert without["box", "flip.path"]["follows"] == "flip.ca"
    put(box, tls[0].read_bytes() + tls[1].read_bytes())
    _, found = declared.audit()
    assert found["box", "flip.ca"]["verdict"] == "pass", found["box", "flip.ca"]
    assert found["box", "flip.symptom"]["verdict"] == "pass", found["box", "flip.symptom"]


def test_another_authority_in_the_container_is_not_enough(
    declared: Homes, box: Container, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    put(box, self_signed(tmp_path / "other")[0].read_bytes())
    _, found = declared.audit()
    assert found["box", "flip.ca"]["verdict"] == "pass"
    assert "certificate not trusted" in str(found["box", "flip.symptom"]["message"])
