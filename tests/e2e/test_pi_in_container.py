"""A real pi that runs in a container: what it was started with, and what it has started."""

import json
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import docker
import pytest
from click.testing import CliRunner
from docker.models.containers import Container
from support.pi import BRIDGE
from support.rig import NAME, executed

from fleet.cli.main import cli

pytestmark = pytest.mark.e2e

FOLDER = ".pi/agent/extensions"
URL = "http://palace.example.net/mcp"
PROGRAM = "/usr/local/bin/mempalace-mcp"
PUT = f"""set -e
mkdir -p ~/{FOLDER} /usr/local/bin
cp -p {BRIDGE} ~/{FOLDER}/
printf '#!/bin/sh\\nread line\\n' > {PROGRAM}
chmod +x {PROGRAM}
"""
#: A pi that starts a server as an extension does: a child of its own.
LOCAL = """
import { spawn } from "node:child_process";
export default function () { spawn("mempalace-mcp", [], { stdio: ["pipe", "ignore", "ignore"] }); }
"""


@pytest.fixture
def box(engine: docker.DockerClient, pi_image: str) -> Iterator[Container]:
    """A container with pi and the bridge in it, in which nothing runs yet."""
    made = engine.containers.run(
        pi_image,
        name=f"{NAME}-running",
        detach=True,
        init=True,
        network_mode="none",
        environment={"MEMPALACE_REMOTE_URL": URL},
    )
    try:
        executed(made, ["sh", "-c", PUT])
        yield made
    finally:
        made.remove(force=True, v=True)


def start(box: Container, **environment: str) -> None:
    """Let pi run there, its input held open, until the container ends."""
    held = "sleep 600 | exec pi --offline --no-session --mode rpc >/dev/null 2>&1"
    box.exec_run(["sh", "-c", held], detach=True, environment=environment)
    until(box, "pi")


def until(box: Container, comm: str) -> None:
    end = time.monotonic() + 60
    script = "cat /proc/[0-9]*/comm 2>/dev/null; true"
    while comm not in executed(box, ["sh", "-c", script]).split():
        assert time.monotonic() < end, f"there is no {comm}"
        time.sleep(0.2)


def found(box: Container, folder: Path) -> Mapping[str, Mapping[str, object]]:
    """Audit it; findings by gate."""
    inventory = folder / "fleet.yml"
    inventory.write_text(
        f"containers:\n  box:\n    container: {box.name}\n"
        f"    systems: [pi, env, mempalace-bridge]\n    vars: {{palace_url: '{URL}'}}\n"
    )
    words = ["audit", "-i", str(inventory), "--format", "json"]
    told = json.loads(CliRunner().invoke(cli, words).stdout)["findings"]
    return {f["gate"]: f for f in told}


def test_a_pi_of_today_is_stale_when_its_code_is_written_again(
    box: Container, tmp_path: Path
) -> None:
    start(box)
    good = found(box, tmp_path)
    assert good["pi.running"]["verdict"] == "pass", good["pi.running"]
    assert good["flip.no-local"]["verdict"] == "pass", good["flip.no-local"]
    executed(box, ["sh", "-c", f"touch -d '1 hour' ~/{FOLDER}/mempalace.ts"])
    stale = found(box, tmp_path)["pi.running"]
    assert stale["verdict"] == "fail", stale
    assert "mempalace.ts was written" in str(stale["evidence"])


def test_a_pi_with_another_environment_than_the_containers_is_stale(
    box: Container, tmp_path: Path
) -> None:
    start(box, MEMPALACE_REMOTE_URL="http://old.example.net/mcp")
    told = found(box, tmp_path)
    assert told["env.container"]["verdict"] == "pass", told["env.container"]
    assert told["pi.running"]["verdict"] == "fail", told["pi.running"]
    assert "old.example.net" in str(told["pi.running"]["evidence"])


def test_a_pi_that_starts_a_local_palace_is_half_flipped(box: Container, tmp_path: Path) -> None:
    script = f"cat > ~/{FOLDER}/local.ts <<'END'\n{LOCAL}END\n"
    executed(box, ["sh", "-c", script])
    start(box)
    until(box, "mempalace-mcp")
    told = found(box, tmp_path)["flip.no-local"]
    assert told["verdict"] == "fail", told
    assert "under pi" in str(told["evidence"])
