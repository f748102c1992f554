"""A machine with a real pi and a deployed bridge, checked by the command itself."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path

from click.testing import CliRunner
from support.pi import BRIDGE, HELPER
from support.tools import PiTool

from fleet.cli.main import cli

CANARY = "tok-EXAMPLE-canary-deep-41c7"
Finding = dict[str, object]


@dataclass
class Machine:
    """A home on this machine; each method deploys something or takes it away."""

    home: Path
    tool: PiTool
    url: str
    exports: dict[str, str] = field(default_factory=dict)
    search: list[Path] = field(default_factory=list)
    only: bool = False  # whether nothing else is on the PATH

    @classmethod
    def healthy(cls, folder: Path, tool: PiTool, url: str = "http://127.0.0.1:9/mcp") -> Machine:
        """Deploy the shipped toolkit with everything it needs."""
        made = cls(folder / "home", tool, url)
        made.extensions.mkdir(parents=True)
        made.bin.mkdir(parents=True)
        (made.extensions / BRIDGE.name).symlink_to(BRIDGE)
        (made.bin / HELPER.name).symlink_to(HELPER)
        made.exports = {
            "MEMPALACE_REMOTE_URL": url,
            "MEMPALACE_REMOTE_TOKEN": CANARY,
            "MEMPALACE_PI_DEVICE": "laptop",
            "MEMPALACE_PI_SSH_TARGET": "me@palace.example.net",
        }
        made.search = [tool.bin_dir, made.bin]
        return made

    @property
    def agent(self) -> Path:
        return self.home / ".pi" / "agent"

    @property
    def extensions(self) -> Path:
        return self.agent / "extensions"

    @property
    def bin(self) -> Path:
        return self.home / ".local" / "bin"

    def bridge(self, text: str) -> None:
        """Deploy another bridge, behind a link as a deployment makes it."""
        file = self.home / "toolkit" / BRIDGE.name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
        link = self.extensions / BRIDGE.name
        link.unlink()
        link.symlink_to(file)

    def inventory(self, *require: str) -> Path:
        """Write the login file and an inventory of this one machine."""
        lines = [f"export {name}='{value}'" for name, value in self.exports.items()]
        search = os.pathsep.join(map(str, self.search))
        further = "" if self.only else ":/usr/bin:/bin"
        lines += ["echo a banner", f"export PATH='{search}'{further}"]
        profile, text = self.home / ".bash_profile", "\n".join(lines) + "\n"
        if not profile.exists() or profile.read_text() != text:
            profile.write_text(text)
        path = self.home.parent / "fleet.yml"
        path.write_text(
            f"vars: {{palace_url: '{self.url}', pi_ssh_target: me@palace.example.net}}\n"
            "groups:\n  machines:\n    systems: [mempalace-bridge]\n"
            f"    require: [{', '.join(require)}]\n    hosts:\n"
            f"      laptop: {{local: '{self.home}', shell: bash -lc, vars: {{device: laptop}}}}\n"
        )
        return path

    def run(self, *words: str, require: tuple[str, ...] = ()) -> tuple[int, str]:
        """Run a command on the inventory; returns the exit code and all that was printed."""
        inventory = self.inventory(*require)
        result = CliRunner().invoke(cli, [*words, "-i", str(inventory)])
        unexpected = result.exception and not isinstance(result.exception, SystemExit)
        assert not unexpected, result.exception
        assert CANARY not in result.output
        return result.exit_code, result.stdout

    def audit(self, *words: str, require: tuple[str, ...] = ()) -> dict[str, Finding]:
        """Audit it; findings by gate."""
        _code, output = self.run("audit", "--format", "json", *words, require=require)
        return {found["gate"]: found for found in json.loads(output)["findings"]}

    def deep(self, *words: str) -> dict[str, Finding]:
        """Audit it deeply, with time for a busy machine; findings by gate."""
        return self.audit("--deep", "--timeout", "90", *words)


def told(found: Finding) -> str:
    """Return all that a finding says."""
    evidence = found["evidence"]
    assert isinstance(evidence, list)
    return "\n".join([str(found["message"]), *map(str, evidence)])


def carrying(text: str) -> list[int]:
    """Return the processes of this machine whose environment or arguments hold a text."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        for part in ("environ", "cmdline"):
            try:
                if text.encode() in (entry / part).read_bytes():
                    found.append(int(entry.name))
                    break
            except OSError:
                continue
    return found
