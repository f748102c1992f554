"""Two containers, each with a palace of its own behind one URL: they look alike, and are not."""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import docker
import pytest
from click.testing import CliRunner
from docker.models.containers import Container
from support.rig import LABELS, NAME, PALACE, executed

from fleet.cli.main import cli

pytestmark = pytest.mark.e2e

URL = "http://127.0.0.1:8765/mcp"
TOKEN = "tok-EXAMPLE-two-palaces"
Found = dict[tuple[str, str], dict[str, object]]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two containers, and where the inventory of them lies."""

    folder: Path

    def audit(self, meant: str) -> Found:
        """Audit both; findings by target and gate. ``meant`` is the palace that is declared."""
        inventory = self.folder / "fleet.yml"
        inventory.write_text(
            f"vars:\n  palace_url: {URL}\n  palace_path: {meant}\n"
            "  allow_empty: true\n  bind: loopback\n  palace_token: !secret env:FLEET_TEST_TOKEN\n"
            "containers:\n"
            + "".join(
                f"  {name}:\n    container: {NAME}-{name}\n    vars: {{device: {name}}}\n"
                "    systems: [env, mempalace-bridge, mempalace-serve]\n"
                for name in ("one", "two")
            )
        )
        words = ["audit", "-i", str(inventory), "--format", "json"]
        result = CliRunner().invoke(cli, words, env={"FLEET_TEST_TOKEN": TOKEN})
        assert result.stdout, result.output
        assert TOKEN not in result.output
        return {(f["target"], f["gate"]): f for f in json.loads(result.stdout)["findings"]}


def started(engine: docker.DockerClient, name: str) -> Container:
    """Start a container with a palace of its own, and with all that a client of it needs."""
    made = engine.containers.run(
        PALACE,
        ["serve", "--host", "127.0.0.1", "--port", "8765", "--palace", f"/data/{name}"],
        name=f"{NAME}-{name}",
        labels=LABELS,
        detach=True,
        init=True,
        environment={
            "MEMPALACE_MCP_HTTP_TOKEN": TOKEN,
            "MEMPALACE_MCP_IDLE_HOURS": "0",
            "MEMPALACE_REMOTE_URL": URL,
            "MEMPALACE_REMOTE_TOKEN": TOKEN,
            "MEMPALACE_PI_DEVICE": name,
        },
    )
    until = time.monotonic() + 60
    while f":{8765:X} " not in executed(made, ["cat", "/proc/net/tcp"]):
        assert time.monotonic() < until, made.logs()
        time.sleep(0.2)
    return made


@pytest.fixture(scope="module")
def pair(
    engine: docker.DockerClient, images: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Pair]:
    made: list[Container] = []
    try:
        made.extend(started(engine, name) for name in ("one", "two"))
        yield Pair(tmp_path_factory.mktemp("pair"))
    finally:
        for container in made:
            container.remove(force=True, v=True)


def test_one_url_with_two_palaces_behind_it_is_told(pair: Pair) -> None:
    found = pair.audit("/data/one")
    told = found["fleet", "fleet.palace"]
    assert told["verdict"] == "fail", told
    assert told["message"] == "clients of one URL do not reach one palace"
    for name in ("one", "two"):
        assert f"{URL}: /data/{name}, mempalace 3.11.0: {name}" in str(told["evidence"])
    for gate in ("env.container", "env.loaded", "env.url", "flip.symptom"):
        assert found["two", gate]["verdict"] == "pass", found["two", gate]
    verdicts = {(name, gate): found[name, gate]["verdict"] for name, gate in WANTED}
    assert verdicts == WANTED


#: Both look healthy; only the palace's own word tells that one of them is not what is declared.
WANTED = {
    ("one", "flip.path"): "pass",
    ("two", "flip.path"): "fail",
    ("one", "serve.palace"): "pass",
    ("two", "serve.palace"): "fail",
}


def test_a_palace_in_a_container_is_judged_in_it(pair: Pair) -> None:
    found = pair.audit("/data/one")
    good = ("auth", "version", "origin", "routes", "stays", "writer", "stale", "token")
    verdicts = {gate: found["one", f"serve.{gate}"]["verdict"] for gate in good}
    assert verdicts == dict.fromkeys(good, "pass")
    assert found["fleet", "bridge.fresh"]["verdict"] == "not-applicable"  # there is none
    # It listens on loopback, and nothing of that is published: nobody outside reaches it.
    assert found["one", "serve.reach"]["verdict"] == "warn"
    assert "not from the controller" in str(found["one", "serve.reach"]["message"])
    assert found["one", "serve.bind"]["verdict"] == "not-checked"
