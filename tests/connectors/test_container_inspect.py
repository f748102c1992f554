"""What an engine says becomes facts at once, and no secret value passes."""

from collections.abc import Mapping

import pytest

from fleet.connectors.container_inspect import (
    container_fact,
    image_fact,
    launch_variables,
    read_inspected,
)
from fleet.errors import ProbeError
from fleet.facts.images import ImageFact
from fleet.facts.request import ContainerQuestion, LaunchQuestion, Request
from fleet.facts.running import EnvValue
from fleet.secrets import keyed_digest

SECRET = "tok-EXAMPLE-inspect"
NONCE = "inspect-nonce"


def inspected(**parts: object) -> dict[str, object]:
    return {
        "Id": "abc",
        "Name": "/palace",
        "Created": "2026-11-01T08:00:00Z",
        "Image": "sha256:1",
        "Path": "mempalace",
        "Args": ["serve", "--host", "0.0.0.0", "--port=8765", "--token", SECRET, "--host"],
        "State": {"Status": "running", "ExitCode": 0, "Error": "", "Health": None},
        "Config": {"Env": [f"TOKEN={SECRET}", "A=1=2", "BARE"], "Labels": None, "User": None},
        "HostConfig": {
            "NetworkMode": "bridge",
            "RestartPolicy": {"Name": "always"},
            "PortBindings": {"8765/tcp": [{"HostIp": "172.17.0.1", "HostPort": "8765"}]},
        },
        "NetworkSettings": {"Ports": {"8765/tcp": None}},
        "Mounts": None,
        **parts,
    }


def test_secret_flags_and_variables_keep_no_value() -> None:
    told = read_inspected(inspected(), where="box")
    request = Request(NONCE, containers=(ContainerQuestion("p", public=("A",), secret=("N",)),))
    fact = container_fact(told, request)
    assert SECRET not in fact.model_dump_json()
    assert fact.flags == {"--host": "", "--port": "8765"}
    assert fact.secret_flags == ("--token",)
    assert fact.variables == {
        "TOKEN": EnvValue(set=True, length=len(SECRET), digest=keyed_digest(NONCE, SECRET)),
        "A": EnvValue(set=True, length=3, value="1=2"),
        "N": EnvValue(set=False),
    }


def test_a_name_asked_for_as_secret_is_never_public() -> None:
    launches = (LaunchQuestion("container", public=("TOKEN",), secret=("TOKEN",)),)
    told = launch_variables({"TOKEN": SECRET}, Request(NONCE, launches=launches))
    assert told is not None
    assert told["TOKEN"].value is None


def test_ports_are_those_bound_now_or_those_declared() -> None:
    request = Request(NONCE)
    running = container_fact(read_inspected(inspected(), where="box"), request)
    assert [(port.address, port.port, port.inner) for port in running.ports] == [("", 0, 8765)]
    state = {"Status": "exited", "ExitCode": 125, "Error": "cannot assign requested address"}
    ended = container_fact(read_inspected(inspected(State=state), where="box"), request)
    assert [(port.address, port.port) for port in ended.ports] == [("172.17.0.1", 8765)]
    assert (ended.exit_code, ended.error) == (125, "cannot assign requested address")


@pytest.mark.parametrize(
    "told",
    [
        None,
        [],
        {},
        inspected(State="running"),
        inspected(Config={"Env": [5]}),
        inspected(Config={"Env": {"A": SECRET}}),
        inspected(Mounts=[{}]),
    ],
)
def test_what_is_not_understood_is_an_error_without_values(told: object) -> None:
    with pytest.raises(ProbeError) as caught:
        read_inspected(told, where="box")
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("port", ["", "http", "-1", "70000", "\u0661", "1" * 4000])
def test_a_port_that_is_none_is_zero(port: str) -> None:
    ports = {"Ports": {f"{port}/tcp": [{"HostIp": "", "HostPort": port}]}}
    fact = container_fact(
        read_inspected(inspected(NetworkSettings=ports), where=""), Request(NONCE)
    )
    assert [(each.port, each.inner) for each in fact.ports] == [(0, 0)]


def test_an_image_that_is_gone_keeps_its_name() -> None:
    assert image_fact(None, "sha256:1", Request(NONCE), where="") == ImageFact(id="sha256:1")


@pytest.mark.parametrize(
    ("told", "platform"),
    [
        ({"Os": "linux", "Architecture": "arm64", "Variant": "v8"}, "linux/arm64/v8"),
        ({"Os": "linux", "Architecture": "amd64", "Config": None}, "linux/amd64"),
    ],
)
def test_an_image_is_told_as_images_are(told: Mapping[str, object], platform: str) -> None:
    assert image_fact(dict(told), "sha256:1", Request(NONCE), where="").platform == platform


def test_the_labels_of_compose_are_kept_and_no_other() -> None:
    labels = {
        "com.docker.compose.project": "p",
        "com.docker.compose.service": "s",
        "com.docker.compose.project.working_dir": "/srv/p",
        "com.docker.compose.project.config_files": "compose.yml,/etc/more.yml",
        "com.docker.compose.project.environment_file": "own.env",
        "token": SECRET,
    }
    config: dict[str, object] = {
        "Env": [],
        "Labels": labels,
        "User": None,
        "Cmd": None,
        "Image": "pi",
    }
    fact = container_fact(
        read_inspected(inspected(Config=config), where="box"), Request(NONCE), "sha256:2"
    )
    assert (fact.project, fact.service, fact.compose_folder) == ("p", "s", "/srv/p")
    assert fact.compose_files == ("/srv/p/compose.yml", "/etc/more.yml")
    assert fact.compose_env == ("/srv/p/own.env",)
    assert (fact.image, fact.image_name, fact.image_now) == ("sha256:1", "pi", "sha256:2")
    assert SECRET not in fact.model_dump_json()
