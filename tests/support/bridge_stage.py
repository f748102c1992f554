"""Play steps against the bridge alone: pi's loader, no pi, no model, and a fake `mempalace-mcp`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from support.http import Json
from support.pi import BRIDGE
from support.places import ROOT
from support.tools import PiTool

HERE = ROOT / "tests" / "toolkit"
START: Json = {"fire": "session_start", "event": {"reason": "startup"}}
QUIT: Json = {"fire": "session_shutdown", "event": {"reason": "quit"}}
SETTLED: Json = {"fire": "agent_settled"}
STATUS: Json = {"tool": "mempalace_status"}
WAKE: Json = {"fire": "before_agent_start"}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a step led to: its error or None, its value, and how long it took in milliseconds."""

    error: str | None
    value: object
    ms: float


@dataclass(frozen=True, slots=True)
class Played:
    """What a play led to."""

    steps: list[Outcome]
    stderr: str
    schemas: dict[str, Json]
    messages: list[str]
    notices: list[str]
    sent: list[Json]
    terminal: str


@dataclass(slots=True)
class Stage:
    """A scratch folder with a fake `mempalace-mcp` and a fake exporter on the PATH."""

    folder: Path
    pi: PiTool
    env: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.script("mempalace-mcp", f"exec '{sys.executable}' '{HERE / 'fake_mcp.py'}'")

    def script(self, name: str, body: str) -> None:
        """Place a shell program on the PATH."""
        programs = self.folder / "bin"
        programs.mkdir(exist_ok=True)
        (programs / name).write_text(f"#!/bin/sh\n{body}\n")
        (programs / name).chmod(0o755)

    def exporter(self, body: str = "echo MINE_SOURCE=/staged") -> None:
        """Place a `mempalace-pi-session` that logs how it was called."""
        self.script("mempalace-pi-session", f"echo \"$*\" >> '{self.folder}/exports'\n{body}")

    def play(self, *steps: Mapping[str, object], **env: object) -> Played:
        """Load the bridge in a node of its own and take the steps."""
        modules = self.pi.bin_dir.parent
        search = [str(self.folder / "bin"), str(self.pi.bin_dir), "/usr/bin", "/bin"]
        ended = subprocess.run(
            [self.pi.node, HERE / "drive.mjs", modules, BRIDGE],
            input=json.dumps(steps),
            env={
                "PATH": os.pathsep.join(search),
                "HOME": str(self.folder),
                "FAKE_MCP_DIR": str(self.folder),
                "MEMPALACE_MCP_RESPAWN_BACKOFF_MS": "10",
                "MEMPALACE_FEED": "0",
                **self.env,
                **{name: str(value) for name, value in env.items()},
            },
            capture_output=True,
            text=True,
            timeout=30,
            check=True,
        )
        told = json.loads(ended.stdout)
        steps_told = [Outcome(r.get("error"), r.get("value"), r["ms"]) for r in told["results"]]
        names = ("schemas", "messages", "notices", "sent", "terminal")
        return Played(steps_told, ended.stderr, **{name: told[name] for name in names})

    @property
    def starts(self) -> int:
        """How often the fake server was started."""
        return len(list(self.folder.glob("start-*")))

    def sent(self, start: int = 0) -> list[Json]:
        """The messages that one start of the fake server got."""
        lines = (self.folder / f"start-{start}").read_text().splitlines()[1:]
        return [json.loads(line) for line in lines]

    def calls(self) -> list[Json]:
        """The tool calls that all starts of the fake server got."""
        everything = [message for start in range(self.starts) for message in self.sent(start)]
        params = [m["params"] for m in everything if m.get("method") == "tools/call"]
        return [found for found in params if isinstance(found, dict)]

    def alive(self, start: int) -> bool:
        """Whether the process of one start still runs."""
        pid = int((self.folder / f"start-{start}").read_text().splitlines()[0])
        return Path(f"/proc/{pid}").exists()

    @property
    def exports(self) -> list[str]:
        """How the exporter was called, a line a call."""
        log = self.folder / "exports"
        return log.read_text().splitlines() if log.exists() else []

    @property
    def reasons(self) -> list[str]:
        """The reasons that the exporter was given."""
        return [line.split()[2] for line in self.exports]


def errors(played: Played) -> list[str | None]:
    """Return the error of each step, or None."""
    return [step.error for step in played.steps]
