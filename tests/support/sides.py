"""One thing with several sides in a real engine: images, containers, a compose file, a clone."""

import json
import os
import subprocess
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import docker
import docker.errors
from click.testing import CliRunner
from support.containers import Root, base
from support.rig import compose_binary
from support.toolkit_history import History

from fleet.cli.main import cli

LABEL = "net.example.fleet-drift"
EXTENSIONS = "/home/dev/.pi/agent/extensions"
BRIDGE = f"{EXTENSIONS}/mempalace.ts"
TOOLKIT = "/opt/toolkit"
PLACED = f"{TOOLKIT}/extensions/pi/mempalace.ts"


def root(bridge: bytes) -> Root:
    """Return a small Linux whose user `dev` has a bridge, linked from the toolkit in it."""
    made = base(shell=True)
    for path in ("/home/dev", "/home/dev/.pi", "/home/dev/.pi/agent", EXTENSIONS):
        made.folder(path, uid=1000)
    for path in ("/opt", TOOLKIT, f"{TOOLKIT}/extensions", f"{TOOLKIT}/extensions/pi"):
        made.folder(path)
    made.file(PLACED, bridge)
    made.link(BRIDGE, PLACED, uid=1000)
    return made


@dataclass
class Sides:
    """What was made in the engine goes when it is closed; all of it has one name."""

    client: docker.DockerClient
    folder: Path
    history: History
    name: str = field(default_factory=lambda: f"fleet-drift-{uuid.uuid4().hex[:8]}")
    images: set[str] = field(default_factory=set)

    @property
    def image(self) -> str:
        return f"{self.name}:latest"

    def build(self, level: str, *changes: str, tag: str = "") -> str:
        """Bake a level of the toolkit into the image; an earlier one loses its name."""
        packed = root(self.history.level(level).bridge).packed()
        made = ("USER dev", f"LABEL {LABEL}={self.name}", 'CMD ["sleep", "3600"]', *changes)
        self.client.api.import_image_from_data(
            packed, repository=self.name, tag=tag or "latest", changes=made
        )
        identity = str(self.client.images.get(f"{self.name}:{tag or 'latest'}").id)
        self.images.add(identity)
        return identity

    def start(self, name: str = "", **options: Any) -> str:
        """Run a container of the image."""
        name = f"{self.name}-{name}" if name else self.name
        made = self.client.containers.create(
            self.image, name=name, labels={LABEL: self.name}, stop_signal="SIGKILL", **options
        )
        made.start()
        return name

    def compose(self, text: str, dotenv: str = "") -> Path:
        """Write a compose file and bring it up; a later call only writes it."""
        place = self.folder / "compose.yml"
        first = not place.exists()
        place.write_text(text)
        (place.parent / ".env").write_text(dotenv)
        if first:
            self.up()
        return place

    def up(self, *words: str) -> None:
        """Bring the project up, as a person would."""
        told = ["-p", self.name, "-f", str(self.folder / "compose.yml"), "up", "-d", *words]
        environment = {**os.environ, "HOME": str(self.folder)}
        subprocess.run(
            [str(compose_binary()), *told], check=True, capture_output=True, env=environment
        )

    def clone(self, level: str) -> Path:
        """Write a clone's working tree of one level, to mount over what is baked."""
        clone = self.folder / "clone"
        self.history.place(level, clone / "extensions" / "pi")
        return clone

    def drift(self, *words: str) -> tuple[int, dict[str, Any]]:
        """Ask by the command itself; returns the exit code and the document."""
        code, output = self.told(*words, "--format", "json")
        return code, json.loads(output)

    def run(self, *words: str) -> tuple[int, dict[str, Any]]:
        """Run a command that prints a document, with the inventory that lies here."""
        result = CliRunner().invoke(cli, [*words, "-q"])
        assert not result.exception or isinstance(result.exception, SystemExit), result.exception
        return result.exit_code, json.loads(result.output)

    def read(self, *words: str) -> str:
        """Return what a person reads of a command."""
        return CliRunner().invoke(cli, list(words)).output

    def told(self, *words: str) -> tuple[int, str]:
        """Return the exit code and what a person reads."""
        given = ["drift", *words, "-e", f"toolkit_clone={self.history.folder}", "-q"]
        result = CliRunner().invoke(cli, given)
        assert not result.exception or isinstance(result.exception, SystemExit), result.exception
        return result.exit_code, result.output

    def close(self) -> None:
        for container in self.client.containers.list(all=True, ignore_removed=True):
            if container.name and container.name.startswith(self.name):
                container.remove(force=True, v=True)
        for network in self.client.networks.list(names=[self.name]):
            network.remove()
        for volume in self.client.volumes.list(filters={"name": self.name}):
            volume.remove(force=True)
        for image in self.images:
            try:
                self.client.images.remove(image, force=True)
            except docker.errors.ImageNotFound:
                continue
        self.client.close()
