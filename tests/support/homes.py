"""A small fleet of local homes, driven by the commands themselves."""

import json
from dataclasses import dataclass, field
from pathlib import Path

from click.testing import CliRunner

from fleet.cli.main import cli

CANARY = "tok-EXAMPLE-canary-5f3e9d71"
VARIABLE = "FLEET_TEST_TOKEN"


@dataclass
class Homes:
    """Local homes and the inventory of them; everything printed is kept."""

    folder: Path
    inventory: Path
    names: tuple[str, ...]
    printed: list[str] = field(default_factory=list)

    def home(self, name: str) -> Path:
        return self.folder / name

    def run(self, *words: str) -> tuple[int, str]:
        result = CliRunner().invoke(cli, [*words, "-i", str(self.inventory)])
        unexpected = result.exception and not isinstance(result.exception, SystemExit)
        assert not unexpected, result.exception
        self.printed.append(result.output)
        return result.exit_code, result.stdout

    def audit(self, *words: str) -> tuple[int, dict[tuple[str, str], dict[str, object]]]:
        code, output = self.run("audit", "--format", "json", *words)
        return code, {(f["target"], f["gate"]): f for f in json.loads(output)["findings"]}
