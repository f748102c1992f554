"""The fleet of the whole story: its inventory, what ran on it, and how it is watched."""

import json
import time
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path

import docker
from click.testing import CliRunner
from support.rig import BASE, LABELS, NAME, SshHost, executed

from fleet.cli.main import cli
from fleet.data import shipped
from fleet.demo.history import BRIDGE

IMAGE = f"{NAME}-image"
TOKEN = "tok-EXAMPLE-e2e-canary-0a1b2c3d"
DATES = ("2026-08-10", "2026-08-12", "2026-08-25")

INVENTORY = """\
vars:
  toolkit: ~/mempalace-toolkit
  toolkit_source: builtin
  palace_url: http://{docker0}:{port}/mcp
  palace_path: /data/palace
  palace_token: !secret env:FLEET_E2E_TOKEN
groups:
  machines:
    systems: [mempalace-bridge, env]
    require: [remote, stamp, stall, heal, schema]
    hosts:
      alpha: {{ssh: alpha, shell: bash -lc, vars: {{device: alpha}}}}
      beta: {{ssh: beta, shell: zsh -ic, vars: {{device: beta}}}}
      gamma: {{ssh: gamma, shell: [bash -ic, bash -lc], vars: {{device: gamma}}}}
  palaces:
    systems: [mempalace-serve]
    require: [serve]
    hosts:
      vault:
        local: {vault}
        vars:
          serve_mode: compose
          bind: docker0
          port: {port}
          image: {palace}
          compose_project: {name}
          compose_dir: {vault}/serve
          allow_empty: true
containers:
  devbox:
    container: {name}-devbox
    systems: [mempalace-bridge, env]
    require: [remote, stamp]
    vars: {{device: devbox, toolkit: /opt/mempalace-toolkit, agent_dir: /home/u/.pi/agent}}
images:
  image-2026-08-10:
    image: docker-daemon:{image}:2026-08-10
    systems: [mempalace-bridge]
    require: [feed, stamp]
    vars: {{toolkit: /opt/mempalace-toolkit}}
  image-2026-08-12:
    image: docker-daemon:{image}:2026-08-12
    systems: [mempalace-bridge]
    require: [feed, stamp]
    vars: {{toolkit: /opt/mempalace-toolkit}}
  image-2026-08-25:
    image: docker-daemon:{image}:2026-08-25
    systems: [mempalace-bridge]
    require: [feed, stamp]
    vars: {{toolkit: /opt/mempalace-toolkit}}
  image-empty:
    image: docker-daemon:{image}:empty
    systems: [mempalace-bridge]
    require: [feed]
    vars: {{toolkit: /opt/mempalace-toolkit}}
"""


@dataclass
class Fleet:
    """The fleet under test, and everything ``fleet`` printed about it."""

    inventory: Path
    vault: Path
    port: int
    hosts: dict[str, SshHost]
    engine: docker.DockerClient
    before: dict[str, str] = field(default_factory=dict)
    printed: list[str] = field(default_factory=list)

    def run(self, *words: str) -> tuple[int, str]:
        result = CliRunner().invoke(cli, [*words, "-i", str(self.inventory)])
        assert result.exception is None or isinstance(result.exception, SystemExit), result.output
        self.printed.append(result.output)
        return result.exit_code, result.stdout

    def audit(self, *limit: str) -> tuple[int, dict[str, dict[str, dict[str, object]]]]:
        words = [word for name in limit for word in ("--limit", name)]
        code, output = self.run("audit", "--format", "json", *words)
        found: dict[str, dict[str, dict[str, object]]] = {}
        for finding in json.loads(output)["findings"]:
            found.setdefault(finding["target"], {})[finding["gate"]] = finding
        return code, found

    def failing(self, name: str) -> dict[str, str]:
        """Audit one target: its required gates that fail, with what they say."""
        _, found = self.audit(name)
        return {
            gate: f"{f['message']} {f['evidence']}"
            for gate, f in found[name].items()
            if f["required"] and f["verdict"] in ("fail", "error", "unreachable")
        }


def wait_for_port(address: str, port: int, seconds: float = 60) -> None:
    """Wait until a palace behind a published port takes requests: a proxy answers before it."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            with urllib.request.urlopen(f"http://{address}:{port}/healthz", timeout=2):
                return
        except OSError:
            time.sleep(0.2)
    raise TimeoutError(f"nothing answers at {address}:{port}")


def devbox(engine: docker.DockerClient, url: str, token: str, *, device: str = "devbox") -> None:
    """Run a container as a user would: the toolkit baked in, the environment given at creation."""
    for old in engine.containers.list(all=True, filters={"name": f"{NAME}-devbox"}):
        old.remove(force=True)
    container = engine.containers.run(
        BASE,
        ["sleep", "infinity"],
        name=f"{NAME}-devbox",
        detach=True,
        user="u",
        init=True,
        labels=LABELS,
        environment={
            "MEMPALACE_REMOTE_URL": url,
            "MEMPALACE_REMOTE_TOKEN": token,
            "MEMPALACE_PI_DEVICE": device,
        },
    )
    bridge = (shipped("toolkit") / BRIDGE).read_text()
    script = (
        f"mkdir -p /opt/mempalace-toolkit/{Path(BRIDGE).parent} /home/u/.pi/agent/extensions; "
        f"cat > /opt/mempalace-toolkit/{BRIDGE} <<'END_OF_BRIDGE'\n{bridge}END_OF_BRIDGE\n"
        f"ln -s /opt/mempalace-toolkit/{BRIDGE} /home/u/.pi/agent/extensions/mempalace.ts; "
        "chown -Rh u:u /home/u/.pi"
    )
    executed(container, ["sh", "-c", script])
