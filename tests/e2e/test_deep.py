"""The deep check where pi is in an image: started once, and in a container that runs."""

from __future__ import annotations

import json
from collections.abc import Iterator

import docker
import pytest
from click.testing import CliRunner
from docker.models.containers import Container
from support.pi import BRIDGE, HELPER
from support.rig import NAME, RUN, executed

from fleet.cli.main import cli

pytestmark = pytest.mark.e2e

DEPLOYED = f"fleet-e2e-deployed:{RUN}"
GATES = ("loaded", "tools", "events", "wakeup", "feed", "stamp", "mailbox", "closed")
EXPORTS = {
    "MEMPALACE_REMOTE_URL": "http://palace.example.net/mcp",
    "MEMPALACE_REMOTE_TOKEN": "tok-EXAMPLE-e2e",
    "MEMPALACE_PI_SSH_TARGET": "me@palace.example.net",
    "MEMPALACE_PI_DEVICE": "devbox",
}
Found = dict[str, dict[str, object]]


def check(address: str, *words: str) -> tuple[int, Found]:
    """Check one address deeply; the exit code, and the findings by gate."""
    command = ["check", "--deep", "--format", "json", "--system", "mempalace-bridge"]
    result = CliRunner().invoke(cli, [*command, "--timeout", "120", *words, address])
    assert not result.exception or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, {f["gate"]: f for f in json.loads(result.stdout)["findings"]}


@pytest.fixture(scope="module")
def devbox(engine: docker.DockerClient, pi_image: str) -> Iterator[Container]:
    """A container with node, pi and the toolkit, deployed by links."""
    container = engine.containers.run(
        pi_image,
        name=f"{NAME}-deep",
        detach=True,
        init=True,
        network_mode="none",
        environment=EXPORTS,
    )
    script = (
        "mkdir -p ~/.pi/agent/extensions /usr/local/bin && "
        f"ln -s {BRIDGE} ~/.pi/agent/extensions/ && ln -s {HELPER} /usr/local/bin/"
    )
    executed(container, ["sh", "-c", script])
    yield container
    container.remove(force=True, v=True)


def listing(container: Container) -> str:
    """Return the processes and temporary files of a container."""
    # Piped to sort, ps would find that either as sort or as the sh that it is going to be.
    processes = 'all=$(exec ps -eo comm=) && echo "$all" | sort'
    return executed(container, ["sh", "-c", f"{processes}; ls -A /tmp; find ~ | sort"])


def test_a_running_container_is_checked_with_its_own_pi(devbox: Container) -> None:
    before = listing(devbox)
    _code, found = check(f"container:{devbox.name}")
    assert {g: found[f"deep.{g}"]["verdict"] for g in GATES} == dict.fromkeys(GATES, "pass"), found
    assert found["deep.stamp"]["message"] == "writes as pi@devbox"
    assert listing(devbox) == before


def test_an_image_is_started_once_and_leaves_nothing(
    devbox: Container, engine: docker.DockerClient
) -> None:
    """Its environment names no palace and no device, so both are taken for granted."""
    repository, _, tag = DEPLOYED.partition(":")
    devbox.commit(
        repository,
        tag,
        changes="ENV MEMPALACE_REMOTE_URL= MEMPALACE_REMOTE_TOKEN= MEMPALACE_PI_DEVICE=",
    )
    before = {c.id for c in engine.containers.list(all=True)}
    try:
        code, found = check(f"docker-daemon:{DEPLOYED}", "--require", "feed", "--require", "stamp")
    finally:
        engine.images.remove(DEPLOYED, force=True)
    assert {g: found[f"deep.{g}"]["verdict"] for g in GATES} == dict.fromkeys(GATES, "pass"), found
    assert found["deep.stamp"]["message"] == "writes as pi@fleet-deep (a name for this check)"
    assert code == 0
    left = engine.containers.list(all=True, filters={"label": "fleet.deep"})
    assert {c.id for c in left} - before == set()
