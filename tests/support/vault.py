"""A machine with a real palace on it, audited by the command itself."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from click.testing import CliRunner
from support.tools import mempalace_tool

from fleet.cli.main import cli
from fleet.demo.palace import Palace, serving
from fleet.secrets import Secret

TOKEN = "tok-EXAMPLE-real-2"

Findings = dict[str, dict[str, Any]]


@dataclass
class Vault:
    """A machine that serves a palace, and the inventory that says how."""

    folder: Path
    palace: Palace

    def audit(self, url: str, **variables: object) -> Findings:
        """Audit it; findings by the gate's last word."""
        given = {
            "palace_url": url,
            "palace_path": str(self.palace.path),
            "direct_url": self.palace.url,
            "serve_home": str(self.palace.home),
            "bind": "loopback",
            "port": self.palace.port,
            "allow_empty": True,
            **variables,
        }
        inventory = self.folder / "fleet.yml"
        told = "".join(f"  {name}: {json.dumps(value)}\n" for name, value in given.items())
        inventory.write_text(
            f"vars:\n  palace_token: !secret env:FLEET_TEST_TOKEN\n{told}"
            f"hosts:\n  vault:\n    systems: [mempalace-serve]\n    local: {self.palace.home}\n"
        )
        words = ["audit", "-i", str(inventory), "--format", "json"]
        result = CliRunner().invoke(cli, words, env={"FLEET_TEST_TOKEN": TOKEN})
        assert result.exception is None or isinstance(result.exception, SystemExit), result.output
        assert TOKEN not in result.output
        assert result.stdout, result.output
        found = json.loads(result.stdout)["findings"]
        return {f["gate"].removeprefix("serve."): f for f in found}


@contextmanager
def vault(
    folder: Path,
    version: str = "3.11",
    program: Path | None = None,
    more: Mapping[str, str] | None = None,
) -> Iterator[Vault]:
    """Serve a palace until the block ends; ``more`` is of the server's environment."""
    program = program or mempalace_tool(version) / "mempalace"
    home = folder / "home"
    home.mkdir()
    with serving(program, home, folder / "log", token=Secret(TOKEN), more=more) as palace:
        yield Vault(folder, palace)
