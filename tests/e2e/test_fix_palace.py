"""Every gate of the palace that an installer can put right: broken for real, and fixed by name."""

import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import docker
import pytest
from support.homes import Homes
from support.loopback import free_port
from support.rig import NAME, PALACE, docker0
from support.story import wait_for_port

from fleet.systems.catalogue import load_catalogue

pytestmark = pytest.mark.e2e

PROJECT = f"{NAME}-fix"
TOKEN = "tok-EXAMPLE-e2e-fix-77d1"
INVENTORY = """\
vars:
  palace_url: http://{docker0}:{port}/mcp
  palace_path: /data/palace
  palace_token: !secret env:FLEET_E2E_TOKEN
hosts:
  vault:
    local: {vault}
    systems: [mempalace-serve]
    vars:
      serve_mode: compose
      bind: docker0
      port: {port}
      image: {image}
      compose_project: {project}
      compose_dir: {vault}/serve
      allow_empty: true
"""


@dataclass
class Vault:
    """A machine whose palace compose keeps."""

    homes: Homes
    port: int
    engine: docker.DockerClient

    @property
    def folder(self) -> Path:
        return self.homes.home("vault") / "serve"

    def edit(self, old: str, new: str, name: str = "compose.yml") -> None:
        """Change a deployed file by hand."""
        text = (self.folder / name).read_text()
        assert old in text
        (self.folder / name).write_text(text.replace(old, new))

    def recreate(self) -> None:
        """Bring the palace up past fleet, as an operator in a hurry does."""
        words = ["-p", PROJECT, "-f", "compose.yml", "--env-file", ".env", "up", "-d"]
        program = self.homes.home("vault") / ".local/bin/docker-compose"
        subprocess.run(
            [program, *words], cwd=self.folder, check=True, capture_output=True, timeout=120
        )
        wait_for_port(docker0(), self.port)

    def gate(self, gate: str) -> dict[str, object]:
        _, found = self.homes.audit()
        return found["vault", gate]


def everywhere(vault: Vault) -> None:
    vault.edit(f"{docker0()}:", "0.0.0.0:")
    vault.recreate()


def other_token(vault: Vault) -> None:
    vault.edit(TOKEN, "tok-EXAMPLE-of-another", ".env")
    vault.recreate()


def other_palace(vault: Vault) -> None:
    vault.edit('"/data/palace"', '"/data/other"')
    vault.recreate()


def idle(vault: Vault) -> None:
    vault.edit('MEMPALACE_MCP_IDLE_HOURS: "0"', 'MEMPALACE_MCP_IDLE_HOURS: "8"')
    vault.edit("restart: unless-stopped", 'restart: "no"')
    vault.recreate()


def wide(vault: Vault) -> None:
    (vault.folder / ".env").chmod(0o644)


def restarted_never(vault: Vault) -> None:
    (container,) = vault.engine.containers.list(
        filters={"label": f"com.docker.compose.project={PROJECT}"}
    )
    words = ["docker", "update", "--restart", "no", str(container.id)]
    subprocess.run(words, check=True, capture_output=True, timeout=60)


def trapped(vault: Vault) -> None:
    vault.edit(f"{docker0()}:", "0.0.0.0:")  # what runs is still as it was


@dataclass(frozen=True, slots=True)
class Broken:
    """How it is broken, and how that is told."""

    how: Callable[[Vault], None]
    verdict: str
    words: str


BREAKS = {
    "serve.bind": Broken(everywhere, "fail", "on every interface"),
    "serve.auth": Broken(other_token, "fail", "refuses the declared token"),
    "serve.palace": Broken(other_palace, "fail", "serves another palace"),
    "serve.stays": Broken(idle, "warn", "ends by itself after idle hours"),
    "serve.token": Broken(wide, "fail", "others can read the token"),
    "serve.compose": Broken(restarted_never, "fail", "what runs is not what is meant"),
    "serve.compose-lint": Broken(trapped, "warn", "the compose file holds a trap"),
}


@pytest.fixture(scope="module")
def vault(
    engine: docker.DockerClient,
    images: None,
    compose_client: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Vault]:
    folder = tmp_path_factory.mktemp("vault")
    (folder / "vault/.local/bin").mkdir(parents=True)
    (folder / "vault/.local/bin/docker-compose").symlink_to(compose_client)
    port = free_port(docker0())
    inventory = folder / "fleet.yml"
    inventory.write_text(
        INVENTORY.format(
            docker0=docker0(), port=port, vault=folder / "vault", image=PALACE, project=PROJECT
        )
    )
    os.environ["FLEET_E2E_TOKEN"] = TOKEN
    homes = Homes(folder, inventory, ("vault",))
    try:
        code, output = homes.run("provision", "--yes")
        assert code == 0, output
        yield Vault(homes, port, engine)
        homes.run("uninstall", "--yes")
        assert TOKEN not in "".join(homes.printed)
    finally:
        del os.environ["FLEET_E2E_TOKEN"]
        label = f"com.docker.compose.project={PROJECT}"
        for container in engine.containers.list(all=True, filters={"label": label}):
            container.remove(force=True, v=True)
        for volume in engine.volumes.list(filters={"label": label}):
            volume.remove(force=True)
        for network in engine.networks.list(filters={"label": label}):
            network.remove()


def test_every_gate_that_can_be_fixed_is_tried_here() -> None:
    gates = load_catalogue().system("mempalace-serve").gates
    assert {gate.id for gate in gates if gate.fixed_by} == set(BREAKS)


@pytest.mark.parametrize("gate", BREAKS)
def test_what_is_broken_is_put_right_by_name(vault: Vault, gate: str) -> None:
    case = BREAKS[gate]
    assert vault.gate(gate)["verdict"] == "pass"
    case.how(vault)

    found = vault.gate(gate)
    assert (found["verdict"], found["fixed_by"]) == (case.verdict, ["compose"]), found
    assert case.words in str(found["message"])
    code, output = vault.homes.run("fix", gate, "--yes", "--adopt")
    assert code == 0, vault.homes.printed[-1]

    _, after = vault.homes.audit()
    wrong = {g for (_, g), f in after.items() if f["verdict"] in ("fail", "error", "not-checked")}
    assert (after["vault", gate]["verdict"], wrong) == ("pass", set()), after["vault", gate]
    code, output = vault.homes.run("plan")
    assert (code, "nothing to change" in output) == (0, True), output
