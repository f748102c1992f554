"""What lies on the hosts: the good state, brought by `fleet provision`."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.hosts.faults import GOOD, SETTINGS, write_faults
from benchmarks.hosts.rig import Host, RigError, rig

TOKEN = "bench-EXAMPLE-canary-5f2d1c7a9b"  # noqa: S105 - of nothing
TOKEN_VARIABLE = "FLEET_BENCH_TOKEN"  # noqa: S105 - a name
VARIABLES = {
    "AWS_BEARER_TOKEN_BEDROCK": TOKEN,
    "MEMPALACE_AGENT_NAME": "bench",
    "MEMPALACE_FEED": "1",
    "MEMPALACE_MAILBOX_NOTIFY": "0",
}
_INVENTORY = """\
vars:
  toolkit: ~/mempalace-toolkit
  toolkit_source: builtin
  agent_name: bench
  feed: "1"
  mailbox_notify: "0"
  aws_bearer_token: !secret env:{token}
groups:
  machines:
    systems: [pi, env, mempalace-bridge]
    require: [feed, stamp, mailbox, remote, stall, heal, schema]
    hosts:
"""


def write_inventory(file: Path, hosts: Sequence[tuple[str, str]]) -> Path:
    """Write an inventory of hosts, given by name and address."""
    lines = [f"      {name}: {{ssh: root@{address}, shell: bash -lc}}\n" for name, address in hosts]
    file.write_text(_INVENTORY.format(token=TOKEN_VARIABLE) + "".join(lines))
    return file


def environment(config: Path) -> dict[str, str]:
    """Return the environment that `fleet` is run in."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("FLEET_", "SSH_", "PYTHON"))}
    state = str(config.with_name("state"))  # runs are kept, as they are for a user
    return {
        **kept,
        "FLEET_SSH_CONFIG": str(config),
        "XDG_STATE_HOME": state,
        TOKEN_VARIABLE: TOKEN,
    }


def write_layers(folder: Path, root: Path) -> None:
    """Make one host good, and write below ``folder`` what it has then, and each fault's layer.

    Raises:
        RigError: the provisioning failed.
    """
    good = folder / GOOD
    with tempfile.TemporaryDirectory(prefix="fleet-bench-") as scratch:
        place = Path(scratch)
        with rig(place, root, [""]) as made:
            host = made.hosts[0]
            _provision(place, host, made.config)
            good.mkdir()
            shutil.copytree(made.root(host) / "root", good / "root", symlinks=True)
    shutil.rmtree(good / "root/.ssh")
    (good / "root").chmod(0o700)
    (good / "root/.pi/agent/settings.json").write_text(SETTINGS)
    write_faults(folder)


def _provision(place: Path, host: Host, config: Path) -> None:
    inventory = write_inventory(place / "fleet.yml", [(host.name, host.address)])
    ended = subprocess.run(
        [str(Path(sys.executable).with_name("fleet")), "provision", "-i", str(inventory), "--yes"],
        env=environment(config),
        capture_output=True,
        check=False,
        timeout=120,
    )
    if ended.returncode != 0:
        raise RigError(f"fleet provision: {(ended.stdout + ended.stderr).decode()[-2000:]}")
