"""The demo's scratch folder: a toolkit, two homes, three images, and the inventory of them."""

import hashlib
import json
import os
import stat
from pathlib import Path

from fleet.dataclass import dataclass
from fleet.demo.bake import bake
from fleet.demo.history import BRIDGE, bridge_of, build_toolkit
from fleet.demo.palace import Palace

TOKEN = "FLEET_DEMO_TOKEN"  # noqa: S105 - the name of an environment variable

INVENTORY = """\
# The demo's fleet: one machine to provision, one that somebody flipped by half, the palace they
# share, and three images that were built at three dates of one toolkit.
vars:
  toolkit: ~/mempalace-toolkit
  toolkit_source: {toolkit}
  toolkit_clone: {toolkit}
  palace_url: {url}
  palace_path: {palace}
  palace_token: !secret env:{token}

groups:
  machines:
    systems: [mempalace-bridge, env]
    require: [remote, stamp, stall, heal, schema]
    hosts:
      laptop: {{local: {laptop}, shell: bash -lc, vars: {{device: laptop}}}}
      desktop: {{local: {desktop}, shell: bash -lc, vars: {{device: desktop}}}}
  palaces:
    systems: [mempalace-serve]
    hosts:
      vault: {{local: {vault}, vars: {{bind: loopback, port: {port}, serve_mode: none,
        allow_empty: true}}}}

images:
  devbox-2026-08-10: {{image: "oci-archive:{images}/2026-08-10.tar"}}
  devbox-2026-08-12: {{image: "oci-archive:{images}/2026-08-12.tar"}}
  devbox-2026-08-25: {{image: "oci-archive:{images}/2026-08-25.tar"}}
"""
IMAGE_KEYS = """, systems: [mempalace-bridge], require: [feed, stamp],
    vars: {toolkit: /opt/mempalace-toolkit, bin_dir: /usr/local/bin}}"""


@dataclass(frozen=True, slots=True)
class Stage:
    """Where everything of the demo lies."""

    folder: Path

    @property
    def toolkit(self) -> Path:
        """The toolkit's clone on the controller."""
        return self.folder / "toolkit"

    @property
    def images(self) -> Path:
        """The folder of the image archives."""
        return self.folder / "images"

    @property
    def inventory(self) -> Path:
        """The inventory's file."""
        return self.folder / "fleet.yml"

    def home(self, name: str) -> Path:
        """The home of one of the demo's machines."""
        return self.folder / "homes" / name

    def build(self) -> None:
        """Make the toolkit, the homes and the images."""
        build_toolkit(self.toolkit)
        self.images.mkdir()
        for date in ("2026-08-10", "2026-08-12", "2026-08-25"):
            bake(self.images / f"{date}.tar", bridge_of(f"{date}.ts"), date=date)
        for name in ("laptop", "desktop", "vault"):
            furnish(self.home(name))
            (self.home(name) / "notes.txt").write_text("not fleet's\n")

    def flip_by_half(self, palace: Palace) -> None:
        """Set up ``desktop`` by hand, as one does: everything is there, and no shell reads it."""
        home = self.home("desktop")
        (home / "mempalace-toolkit").symlink_to(self.toolkit)
        extensions = home / ".pi/agent/extensions"
        extensions.mkdir(parents=True)
        (extensions / "mempalace.ts").symlink_to(home / "mempalace-toolkit" / BRIDGE)
        config = home / ".config/pi"
        config.mkdir(parents=True)
        descriptor = os.open(config / ".env", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as stream:
            stream.write(
                f"MEMPALACE_REMOTE_URL={palace.url}\n"
                f"MEMPALACE_REMOTE_TOKEN={palace.token.reveal()}\n"
                "MEMPALACE_PI_DEVICE=desktop\n"
            )
        (home / ".profile").write_text("# set -a; . ~/.config/pi/.env; set +a\n")

    def write_inventory(self, palace: Palace) -> None:
        """Write the inventory that describes it all."""
        text = INVENTORY.format(
            toolkit=self.toolkit,
            url=palace.url,
            palace=palace.path,
            token=TOKEN,
            laptop=self.home("laptop"),
            desktop=self.home("desktop"),
            vault=palace.home,
            port=palace.port,
            images=self.images,
        )
        self.inventory.write_text(text.replace('.tar"}', f'.tar"{IMAGE_KEYS}'))


def furnish(home: Path) -> None:
    """Make a home with pi in it, by its manifest only: gates read that, and run nothing."""
    package = home / ".local/lib/node_modules/@earendil-works/pi-coding-agent"
    (package / "dist").mkdir(parents=True)
    manifest = {"name": "@earendil-works/pi-coding-agent", "version": "1.6.0"}
    (package / "package.json").write_text(json.dumps(manifest))
    program, programs = package / "dist/cli.js", home / ".local/bin"
    program.write_text("#!/usr/bin/env node\n")
    program.chmod(0o755)
    programs.mkdir()
    (programs / "pi").symlink_to(os.path.relpath(program, programs))


def snapshot(folder: Path) -> dict[str, str]:
    """Describe every path below a folder: kind, mode, and content or link target."""
    seen: dict[str, str] = {}
    for base, folders, names in os.walk(folder):
        for name in [*folders, *names]:
            path = Path(base) / name
            status = path.lstat()
            if stat.S_ISLNK(status.st_mode):
                told = f"link {path.readlink()}"
            elif stat.S_ISDIR(status.st_mode):
                told = f"folder {stat.S_IMODE(status.st_mode):o}"
            else:
                digest = hashlib.sha256(path.read_bytes()).hexdigest()
                told = f"file {stat.S_IMODE(status.st_mode):o} {digest} {status.st_mtime_ns}"
            seen[str(path.relative_to(folder))] = told
    return seen
