"""The probe asks a real engine's client about the containers of a compose project."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import docker.errors
import pytest
from support.containers import Engine, base, engine_answers
from support.probing import NONCE, NOON, Shell

from fleet.facts.compile import probe_script
from fleet.facts.model import Facts
from fleet.facts.parse import parse_answer
from fleet.facts.request import ContainerQuestion, Request
from fleet.facts.running import ContainerFact, EnvValue
from fleet.secrets import keyed_digest

CLIENT = shutil.which("docker")
TOKEN = "tok-EXAMPLE-engine"
PROJECT = "fleet-probe-test"
NOWHERE = "192.0.2.1"  # an address for documentation: no machine has it
PROJECT_LABEL = "com.docker.compose.project"

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(
        CLIENT is None or not engine_answers(), reason="needs a Docker engine and its client"
    ),
]


@pytest.fixture(scope="module")
def facts() -> Iterator[Facts]:
    engine = Engine()
    try:
        image = engine.image("probe", base(shell=True))
        baked = engine.image("baked", base(shell=True), (f"ENV SECRET={TOKEN}",))
        labels = {PROJECT_LABEL: PROJECT, "com.docker.compose.service": "palace"}
        environment = {"PUBLIC": "two\nlines", "SECRET": TOKEN, "OTHER": "x"}
        engine.run(
            image,
            *("/bin/busybox", "sh", "-c", "exec /bin/busybox sleep 3600", "sh"),
            *("--token", TOKEN, "--host=0.0.0.0"),
            name="palace",
            environment=environment,
            labels=labels,
            ports={"8765/tcp": ("127.0.0.1", None), "9000/tcp": None},
            volumes={"/tmp": {"bind": "/data dir", "mode": "ro"}},
            restart_policy={"Name": "unless-stopped"},
        )
        labels = {PROJECT_LABEL: PROJECT, "com.docker.compose.service": "bound"}
        with pytest.raises(docker.errors.APIError):
            engine.run(image, name="bound", labels=labels, ports={"8765/tcp": (NOWHERE, 18765)})
        engine.run(baked, name="baked", labels={PROJECT_LABEL: PROJECT})
        engine.run(image, name="other", labels={PROJECT_LABEL: f"{PROJECT}-2"})
        engine.run(image, "/bin/false", name="ended", labels={PROJECT_LABEL: PROJECT})
        engine.client.containers.get("fleet-conn-test-ended").wait()
        yield ask()
    finally:
        engine.close()


def ask() -> Facts:
    question = ContainerQuestion(PROJECT, public=("PUBLIC",), secret=("SECRET", "MISSING"))
    request = Request(NONCE, containers=(question, ContainerQuestion("fleet-no-such-project")))
    shell = Shell(("sh",), f"{Path(str(CLIENT)).parent}:/usr/bin:/bin")
    done = shell.run(probe_script(request))
    assert TOKEN.encode() not in done.stdout + done.stderr
    return parse_answer(
        done.stdout, request, target="box", address="local:", kind="host", taken_at=NOON
    )


def named(facts: Facts, name: str) -> ContainerFact:
    return next(c for c in facts.containers[PROJECT] if c.name == f"fleet-conn-test-{name}")


def test_all_of_the_project_and_no_others(facts: Facts) -> None:
    assert facts.unseen == {}
    names = [container.name.rpartition("-")[2] for container in facts.containers[PROJECT]]
    assert names == ["baked", "bound", "ended", "palace"]
    assert facts.containers["fleet-no-such-project"] == ()


def test_a_running_one(facts: Facts) -> None:
    palace = named(facts, "palace")
    assert (palace.state, palace.service, palace.restart) == ("running", "palace", "unless-stopped")
    assert palace.image.startswith("sha256:")
    assert palace.exit_code is None
    assert palace.health is None
    assert palace.mounts == {"/data dir": "/tmp"}
    assert palace.flags == {"--host": "0.0.0.0"}
    assert palace.secret_flags == ("--token",)
    ports = {(port.inner, port.address) for port in palace.ports}
    assert (8765, "127.0.0.1") in ports
    assert (9000, "0.0.0.0") in ports
    assert all(port.port for port in palace.ports)
    assert palace.variables == {
        "PUBLIC": EnvValue(set=True, length=9, value="two\nlines"),
        "SECRET": EnvValue(set=True, length=len(TOKEN), digest=keyed_digest(NONCE, TOKEN)),
        "MISSING": EnvValue(set=False),
    }


def test_c07_one_that_could_not_be_bound(facts: Facts) -> None:
    bound = named(facts, "bound")
    assert bound.state == "created"
    assert NOWHERE in bound.error
    assert bound.exit_code == 128
    assert [(port.address, port.port) for port in bound.ports] == [(NOWHERE, 18765)]


def test_an_image_that_holds_the_secret_itself(facts: Facts) -> None:
    assert "env SECRET" in (named(facts, "baked").baked or ())
    assert named(facts, "palace").baked == ()  # there it is given to the container alone


def test_one_that_ended(facts: Facts) -> None:
    ended = named(facts, "ended")
    assert (ended.state, ended.exit_code, ended.service) == ("exited", 1, "")
