"""The real opencode in a home of its own."""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path

from support.tools import opencode_tool

SYSTEM = "/usr/bin:/bin"


def run(
    home: Path, *words: str, folder: Path | None = None, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run opencode in a home; no network but loopback is needed for what tests ask of it."""
    return subprocess.run(
        [str(opencode_tool() / "opencode"), *words],
        cwd=folder or home,
        env={"HOME": str(home), "PATH": SYSTEM, **(env or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )


def resolved(
    home: Path, *, folder: Path | None = None, env: Mapping[str, str] | None = None
) -> dict[str, object] | None:
    """Return the servers of the configuration that opencode makes of its files; None: refused."""
    ended = run(home, "debug", "config", folder=folder, env=env)
    if ended.returncode or not ended.stdout.lstrip().startswith("{"):
        assert "invalid" in ended.stdout + ended.stderr or "valid JSON" in ended.stderr
        return None
    servers = json.loads(ended.stdout).get("mcp", {})
    assert isinstance(servers, dict)
    return servers
