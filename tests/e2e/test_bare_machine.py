"""A bare machine with ssh and Python gets everything with one command, and pi wakes up there."""

from __future__ import annotations

import json
import subprocess
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import docker
import pytest
from click.testing import CliRunner
from docker.models.containers import Container
from support.bare_host import BARE, bare_host, bare_image
from support.http import EmbeddingStub, FakeModel
from support.mnemo import PACKAGE
from support.pi import models_of, said_to_model
from support.rig import LABELS, NAME, PALACE, SshHost, docker0, ssh_files
from support.story import wait_for_port

from fleet.cli.main import cli

pytestmark = [pytest.mark.e2e, pytest.mark.network, pytest.mark.timeout(900)]

TOKEN = "tok-EXAMPLE-e2e-bare-51c7"
SEEN = "The keeper of the northern lock saw a heron."
INVENTORY = """\
vars:
  toolkit: ~/mempalace-toolkit
  toolkit_source: builtin
  pi_toolkit_source: builtin
  palace_url: http://{palace}:8765/mcp
  palace_path: /data/palace
  palace_token: !secret env:FLEET_E2E_TOKEN
  private_hosts: {palace}
  install_pi: true
  apt_sudo: {sudo}
  mempalace_version: 3.11.0
  install_opencode: true
  mnemo_install: link
  mnemo_folder: ~/src/pi-mnemo
  mnemo_source: {mnemo}
  install_mcp_adapter: true
  mcp_adapter_version: 2.36.0
  mcp_register: true
  mcp_clients: [generic, cursor]
hosts:
  fresh:
    ssh: fresh
    shell: bash -lc
    systems: [opencode, claude-code, mcp-clients, pi-mcp, mempalace-cli, pi-mnemo, skills,
      mempalace-bridge, pi-toolkit, env, pi]
    require: [remote, stamp]
    vars: {{device: fresh}}
"""


@dataclass(frozen=True)
class Stage:
    """The machine, the palace it is to reach, and the inventory of both."""

    host: SshHost
    palace: str
    folder: Path

    def inventory(self, *, sudo: bool = True) -> str:
        """Write the inventory; returns its path."""
        path = self.folder / "fleet.yml"
        text = INVENTORY.format(palace=self.palace, sudo=str(sudo).lower(), mnemo=PACKAGE)
        path.write_text(text)
        return str(path)

    def run(self, *words: str, sudo: bool = True) -> tuple[int, str]:
        """Run a command of fleet on the machine."""
        result = CliRunner().invoke(cli, [*words, "-i", self.inventory(sudo=sudo)])
        unexpected = result.exception and not isinstance(result.exception, SystemExit)
        assert not unexpected, result.exception
        assert TOKEN not in result.output
        return result.exit_code, result.output

    def launch(self, command: str) -> str:
        """Run a command as a login on the machine would."""
        ssh = ["ssh", "-F", str(self.folder / "ssh_config"), "fresh"]
        ended = subprocess.run(
            [*ssh, f"bash -lc '{command} </dev/null'"], capture_output=True, text=True, check=False
        )
        assert ended.returncode == 0, ended.stdout + ended.stderr
        return ended.stdout


@pytest.fixture(scope="module")
def palace(engine: docker.DockerClient, images: None) -> Iterator[str]:
    """A real shared palace with one thing in it; yields its address."""
    with EmbeddingStub(address=docker0()) as embedding:
        container: Container = engine.containers.run(
            PALACE,
            ["serve", "--host", "0.0.0.0", "--port", "8765"],
            name=f"{NAME}-bare-palace",
            labels=LABELS,
            detach=True,
            init=True,
            environment={
                "MEMPALACE_MCP_HTTP_TOKEN": TOKEN,
                "MEMPALACE_PALACE_PATH": "/data/palace",
                **embedding.environment,
            },
        )
        try:
            container.reload()
            address = str(container.attrs["NetworkSettings"]["IPAddress"])
            wait_for_port(address, 8765)
            told = {"agent_name": "pi", "entry": SEEN, "topic": "birds"}
            assert '"success": true' in _called(address, "mempalace_diary_write", told)
            yield address
        finally:
            container.remove(force=True, v=True)


def _called(address: str, tool: str, arguments: dict[str, str]) -> str:
    body = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": tool, "arguments": arguments},
    }
    request = urllib.request.Request(
        f"http://{address}:8765/mcp",
        json.dumps(body).encode(),
        {"Content-Type": "application/json", "Authorization": f"Bearer {TOKEN}"},
    )
    with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310 - http, as above
        return str(json.load(answer)["result"]["content"][0]["text"])


@pytest.fixture(scope="module")
def stage(
    engine: docker.DockerClient, palace: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stage]:
    folder = tmp_path_factory.mktemp("bare")
    bare_image(engine, folder)
    with (
        bare_host(engine, "fresh", folder) as host,
        ssh_files(folder, [host]) as config,
        pytest.MonkeyPatch.context() as environment,
    ):
        environment.setenv("FLEET_E2E_TOKEN", TOKEN)
        environment.setenv("FLEET_SSH_CONFIG", str(config))
        yield Stage(host, palace, folder)
    engine.images.remove(BARE, force=True)


def test_1_nothing_is_there_and_without_root_that_is_said_before_anything_is_done(
    stage: Stage,
) -> None:
    before = stage.host.snapshot()
    code, printed = stage.run("plan", "--no-diff", sudo=False)
    assert code == 2
    output = " ".join(printed.split())
    assert "python3-venv is not there; apt installs it as root only, and fleet is u" in output
    assert "it needs pi.venv, which cannot be brought" in output
    assert "set apt_sudo" in output
    assert stage.host.snapshot() == before


def test_2_one_command_brings_everything_in_its_order(stage: Stage) -> None:
    code, output = stage.run("provision", "fresh", "--yes", "--no-diff")
    assert code == 0, output
    order = [output.index(f"+ {key}:") for key in ("pi.venv", "pi.uv", "pi.node", "pi.pi")]
    assert order == sorted(order)
    assert order[-1] < output.index("+ mempalace-bridge.bridge:")
    for key in ("opencode.opencode", "mempalace-cli.with-uv", "pi-mnemo.link", "pi-mcp.adapter"):
        assert order[-1] < output.index(f"+ {key}:"), key
    code, output = stage.run("plan", "--no-diff")
    assert (code, "nothing to change" in output) == (0, True), output
    code, output = stage.run("audit", "--format", "json")
    bad = [f for f in json.loads(output)["findings"] if f["verdict"] in ("fail", "error")]
    assert (code, bad) == (0, []), output


def test_3_pi_wakes_up_with_what_the_palace_says(stage: Stage) -> None:
    with FakeModel(address=docker0()) as model:
        models = json.dumps(models_of(model))
        stage.host.run(f"echo '{models}' > ~/.pi/agent/models.json")
        stage.launch("pi --offline --no-session --model fake/fake -p hello")
    heard = said_to_model(model.bodies[0])
    assert f"http://{stage.palace}:8765/mcp" in heard
    assert '"palace": "/data/palace"' in heard
    assert SEEN in heard
    stage.host.run("rm ~/.pi/agent/models.json")


def test_4_uninstall_takes_all_of_it_away(stage: Stage) -> None:
    code, output = stage.run("uninstall", "--yes")
    assert code == 0, output
    left = stage.host.run(
        "find ~/.local/bin ~/.local/lib ~/.pi ~/mempalace-toolkit -type f -o -type l"
        " 2>/dev/null || true"
    )
    assert [line for line in left.splitlines() if "/.pi/agent/" not in line] == []
    assert "fleet" not in stage.host.run("cat ~/.profile")
    with pytest.raises(AssertionError):
        stage.host.run("command -v git || command -v tmux || command -v uv || command -v pi")
