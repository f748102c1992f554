"""The gate `serve.compose`: the rendering, the file on the machine, and the container."""

from dataclasses import replace
from typing import Any

import pytest
from support.facts import NONCE
from support.serve import DOCKER0, VALUE, Serving, container, failing, healthy, secret_value, target

from fleet.data import shipped
from fleet.facts.environment import command_text
from fleet.facts.paths import State
from fleet.facts.running import ContainerFact, EnvValue, Publication
from fleet.inventory.model import Target
from fleet.inventory.render import render
from fleet.secrets import keyed_digest
from fleet.systems.catalogue import load_catalogue
from fleet.systems.mempalace_serve.server import derived
from fleet.systems.resolve import resolve
from fleet.verifier.model import Finding, Verdict

FAIL, PASS, NOT_CHECKED = Verdict.FAIL, Verdict.PASS, Verdict.NOT_CHECKED
FOLDER = "~/mempalace-serve"
FILE = f"{FOLDER}/compose.yml"
WORDS = ("mempalace", "serve", "--host", "0.0.0.0", "--port", "8765", "--palace", "/data/palace")
TEMPLATE = "serve/compose.yml.j2"


def composed(**variables: Any) -> Target:
    return target(serve_mode="compose", image="palace:3.11", **variables)


def rendered(where: Target, world: Serving) -> bytes:
    (resolved,) = resolve([load_catalogue().system("mempalace-serve")], where)
    text = (shipped("templates") / TEMPLATE).read_text()
    variables = {**resolved.variables, **derived(resolved.variables, world.facts(where))}
    return render(text, variables, where="test").encode()


def started(**changed: Any) -> ContainerFact:
    """The container as compose makes it of the rendering."""
    plain = {"HOME": "/data", "MEMPALACE_MCP_IDLE_HOURS": "0"}
    made: dict[str, Any] = {
        "service": "palace",
        "image": "sha256:now",
        "image_name": "palace:3.11",
        "image_now": "sha256:now",
        "restart": "unless-stopped",
        "mounts": {"/data": "mempalace_palace"},
        "command": keyed_digest(NONCE, command_text(WORDS)),
        "variables": {
            "MEMPALACE_MCP_HTTP_TOKEN": secret_value(VALUE),
            **{n: EnvValue(set=True, length=len(v), value=v) for n, v in plain.items()},
        },
    }
    return container(**{**made, **changed})


def deployed(*containers: ContainerFact, content: bytes | None = None) -> Serving:
    world = healthy().containers(*containers)
    world.templates = {TEMPLATE: (shipped("templates") / TEMPLATE).read_text()}
    world.file(FILE, rendered(composed(), world) if content is None else content)
    world.env_file(f"{FOLDER}/.env", f"MEMPALACE_MCP_HTTP_TOKEN='{VALUE}'\n".encode())
    world.folder(FOLDER, "compose.yml", ".env")
    return world


def judged(world: Serving, **variables: Any) -> Finding:
    return world.judged(composed(**variables))["compose"]


def test_file_and_container_are_as_rendered() -> None:
    found = deployed(started()).judged(composed())
    assert failing(found) == set()
    assert found["compose"].verdict is PASS, found["compose"].evidence


def test_a_file_that_was_edited() -> None:
    edited = rendered(composed(), healthy()).replace(b"unless-stopped", b"always")
    found = judged(deployed(started(restart="always"), content=edited))
    assert found.verdict is FAIL
    (line,) = found.evidence
    assert line.startswith("the compose file differs from its rendering from line ")
    assert found.remedy == "deploy again; it recreates the container"


def test_another_declaration_is_drift_too() -> None:
    found = judged(deployed(started()), port=9000, bind=DOCKER0)
    assert found.verdict is FAIL
    assert "differs from its rendering" in found.evidence[0]


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"image_name": "palace:3.10"}, "made of the image palace:3.10"),
        ({"image": "sha256:old"}, "made of an older image than palace:3.11 is today"),
        ({"command": "0" * 64}, "its command is not the one in the file"),
        ({"restart": "no"}, "restart is no, the file says unless-stopped"),
        ({"mounts": {"/data": "other"}}, "other is mounted at /data, the file says palace"),
        ({"mounts": {}}, "nothing is mounted at /data"),
        (
            {"mounts": {"/data": "mempalace_palace", "/host": "/"}},
            "/ is mounted at /host, which the file does not say",
        ),
        ({"ports": ()}, f"does not publish {DOCKER0}:8765:8765"),
        (
            {
                "ports": (
                    Publication(address=DOCKER0, port=8765, inner=8765),
                    Publication(address="0.0.0.0", port=80, inner=8765),
                )
            },
            "publishes 0.0.0.0:80:8765, which the file does not say",
        ),
        ({"state": "exited"}, "is exited"),
        (
            {"variables": {"MEMPALACE_MCP_IDLE_HOURS": EnvValue(set=True, value="8")}},
            "MEMPALACE_MCP_IDLE_HOURS is '8', declared is '0'",
        ),
        (
            {"variables": {"MEMPALACE_MCP_HTTP_TOKEN": secret_value("tok-EXAMPLE-old")}},
            "MEMPALACE_MCP_HTTP_TOKEN is not the declared value",
        ),
    ],
)
def test_a_container_that_is_not_what_the_file_says(changed: dict[str, Any], told: str) -> None:
    found = judged(deployed(started(**changed)))
    assert found.verdict is FAIL
    assert any(told in line for line in found.evidence), found.evidence
    assert "--force-recreate" in str(found.remedy)  # to deploy the same file changes nothing
    assert "tok-EXAMPLE" not in str(found)


def test_a_volume_that_the_image_declares_itself_is_no_drift() -> None:
    anonymous = {"/data": "mempalace_palace", "/cache": "a" * 64}
    assert judged(deployed(started(mounts=anonymous))).verdict is PASS


def test_an_env_file_that_was_not_seen_makes_no_drift() -> None:
    world = deployed(started())
    world.broken(f"{FOLDER}/.env", State.UNREADABLE, why="permission denied")
    assert judged(world).verdict is PASS


def test_no_container_at_all() -> None:
    found = judged(deployed())
    assert (found.verdict, found.evidence) == (
        FAIL,
        ("no container of the service palace is there",),
    )


def test_what_was_not_seen_is_not_passed() -> None:
    hidden = deployed().seen(containers={}, unseen={"containers": "neither docker nor podman"})
    found = judged(hidden)
    assert (found.verdict, found.evidence) == (NOT_CHECKED, ("neither docker nor podman",))
    assert judged(deployed(started(command=None))).verdict is NOT_CHECKED
    assert judged(deployed(started(image_name=""))).verdict is NOT_CHECKED
    without = deployed(started())
    without.templates = {}
    assert judged(without).verdict is NOT_CHECKED


def test_a_file_that_is_not_there() -> None:
    world = deployed(started())
    world.broken(FILE, State.ABSENT)
    assert judged(world).verdict is FAIL
    world.broken(FILE, State.UNREADABLE, why="permission denied")
    assert judged(world).verdict in (NOT_CHECKED, Verdict.ERROR)


def test_a_host_without_compose_is_not_asked() -> None:
    assert healthy().judged()["compose"].verdict is Verdict.NOT_APPLICABLE


def test_an_address_of_version_6_and_a_folder() -> None:
    where = composed(bind="fd00::1", data_dir="/srv/memory")
    world = healthy()
    port = Publication(address="fd00::1", port=8765, inner=8765)
    world.containers(started(ports=(port,), mounts={"/data": "/srv/memory"}))
    world.templates = {TEMPLATE: (shipped("templates") / TEMPLATE).read_text()}
    world.file(FILE, rendered(where, world))
    found = world.judged(replace(where))["compose"]
    assert found.verdict is PASS, found.evidence
