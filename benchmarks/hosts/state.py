"""What lies on the hosts: the good state, brought by `fleet provision`, and the planted faults."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.hosts.rig import Host, RigError, rig
from fleet.demo.history import bridge_of

TOKEN = "bench-EXAMPLE-canary-5f2d1c7a9b"  # noqa: S105 - of nothing
TOKEN_VARIABLE = "FLEET_BENCH_TOKEN"  # noqa: S105 - a name
OLD_BRIDGE, OPEN_FILE, OTHER_COPY, OTHER_VALUE, CUT_SETTINGS = (
    "old-bridge",
    "open-file",
    "other-copy",
    "other-value",
    "cut-settings",
)
FAULTS = (OLD_BRIDGE, OPEN_FILE, OTHER_COPY, OTHER_VALUE, CUT_SETTINGS)
#: The layer that is the same on every host, good or not.
GOOD = "good"
SETTINGS = '{\n  "theme": "dark",\n  "quietStartup": true\n}\n'
VARIABLES = {
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
_EXTENSION = "root/.pi/agent/extensions/mempalace.ts"
_BRIDGE = "root/mempalace-toolkit/extensions/pi/mempalace.ts"


def planted(count: int) -> list[str]:
    """Return the fault of each of ``count`` hosts; every second one has one."""
    of_ten = {3: OLD_BRIDGE, 5: OPEN_FILE, 7: OTHER_COPY, 9: OTHER_VALUE, 0: CUT_SETTINGS}
    return [of_ten.get(number % 10, "") for number in range(1, count + 1)]


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
    _write_faults(folder)


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


def _write_faults(folder: Path) -> None:
    good = folder / GOOD
    _put(folder, OLD_BRIDGE, _BRIDGE, bridge_of("2026-08-10.ts"))
    _put(folder, CUT_SETTINGS, "root/.pi/agent/settings.json", SETTINGS[:-3].encode())
    env = ("root/.config/pi/.env", (good / "root/.config/pi/.env").read_bytes())
    _put(folder, OPEN_FILE, *env).chmod(0o644)
    other = env[1].replace(b"NAME='bench'", b"NAME='another'")
    _put(folder, OTHER_VALUE, env[0], other).chmod(0o600)
    _put(folder, OTHER_COPY, "root/copy.ts", (good / _BRIDGE).read_bytes())
    link = folder / OTHER_COPY / _EXTENSION
    link.parent.mkdir(parents=True)
    link.symlink_to("/root/copy.ts")


def _put(folder: Path, fault: str, path: str, content: bytes) -> Path:
    """Write a file of a fault's layer; its folders are as those of the good state."""
    file = folder / fault / path
    file.parent.mkdir(parents=True)
    file.write_bytes(content)
    for made in file.relative_to(folder / fault).parents:
        like = folder / GOOD / made
        (folder / fault / made).chmod(like.stat().st_mode & 0o7777)
    return file
