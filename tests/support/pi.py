"""Run the real pi headless, in a home of its own, against a fake model."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import select
import struct
import subprocess
import termios
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from support.http import FakeModel
from support.places import ROOT
from support.tools import PiTool

BRIDGE = ROOT / "toolkit" / "extensions" / "pi" / "mempalace.ts"
HELPER = ROOT / "toolkit" / "bin" / "mempalace-pi-session"
RUN_SECONDS = 90


@dataclass(frozen=True, slots=True)
class Ended:
    """How a pi run ended, and what it printed."""

    returncode: int
    stdout: str
    stderr: str


@dataclass(frozen=True, slots=True)
class PiHome:
    """A scratch home with pi's agent folder; nothing outside it is read or written."""

    home: Path
    tool: PiTool
    path: tuple[Path, ...] = ()

    @property
    def agent(self) -> Path:
        """The agent folder of pi."""
        return self.home / ".pi" / "agent"

    def link_extension(self, source: Path, name: str | None = None) -> Path:
        """Place an extension as a deployment does: a link in the extensions folder."""
        link = self.agent / "extensions" / (name or source.name)
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(source)
        return link

    def configure(self, name: str, content: object) -> None:
        """Write one of pi's configuration files."""
        self.agent.mkdir(parents=True, exist_ok=True)
        (self.agent / name).write_text(json.dumps(content))

    def environment(self, extra: dict[str, str] | None = None) -> dict[str, str]:
        """Return the environment of a run: nothing of the caller's but the system's PATH."""
        search = [str(folder) for folder in (self.tool.bin_dir, *self.path)]
        return {
            "PATH": os.pathsep.join([*search, "/usr/local/bin", "/usr/bin", "/bin"]),
            "HOME": str(self.home),
            "PI_CODING_AGENT_DIR": str(self.agent),
            "LANG": "C.UTF-8",
            "MEMPALACE_MCP_RESPAWN_BACKOFF_MS": "20",
            **(extra or {}),
        }

    def run(
        self,
        model: FakeModel,
        prompt: str,
        env: dict[str, str] | None = None,
        options: tuple[str, ...] = (),
        *,
        then: tuple[str, ...] = (),
    ) -> Ended:
        """Run pi once in print mode; it is prompted again with `then`, in the same session."""
        ended = subprocess.run(
            [*self._command(model), *options, "-p", prompt, *then],
            cwd=self.work,
            env=self.environment(env),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=RUN_SECONDS,
            check=False,
        )
        return Ended(ended.returncode, ended.stdout, ended.stderr)

    def on_screen(
        self, model: FakeModel, prompt: str, env: dict[str, str], until: Callable[[bytes], bool]
    ) -> bytes:
        """Run pi on a terminal of its own; return what it wrote there until that was enough."""
        command = [*self._command(model), prompt]
        environment = self.environment({"TERM": "xterm-256color", **env})
        here, there = pty.openpty()
        fcntl.ioctl(there, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        with subprocess.Popen(
            command, cwd=self.work, env=environment, stdin=there, stdout=there, stderr=there
        ) as running:
            os.close(there)
            try:
                return _read(here, until)
            finally:
                running.kill()
                os.close(here)

    @property
    def work(self) -> Path:
        """The folder that pi works in."""
        return self.home / "work"

    def _command(self, model: FakeModel) -> list[str]:
        self.work.mkdir(parents=True, exist_ok=True)
        self.configure("models.json", models_of(model))
        return [str(self.tool.pi_cli), "--offline", "--model", "fake/fake"]


def models_of(model: FakeModel) -> dict[str, object]:
    """Return what pi's `models.json` says so that `fake/fake` is this model."""
    provider = {
        "baseUrl": f"{model.url}/v1",
        "apiKey": "tok-EXAMPLE-model",
        "api": "openai-completions",
        "models": [{"id": "fake"}],
    }
    return {"providers": {"fake": provider}}


def _read(terminal: int, until: Callable[[bytes], bool]) -> bytes:
    """Read what a program writes to its terminal, until that is enough or time is up."""
    seen = b""
    end = time.monotonic() + RUN_SECONDS
    while not until(seen) and time.monotonic() < end:
        if select.select([terminal], [], [], 0.2)[0]:
            seen += os.read(terminal, 65_536)
    return seen


def declared_tools(body: dict[str, object]) -> dict[str, set[str]]:
    """Return the tools declared in a model request, each with its parameter names."""
    tools = body.get("tools")
    found: dict[str, set[str]] = {}
    for tool in tools if isinstance(tools, list) else []:
        function = tool["function"]
        found[function["name"]] = set(function["parameters"].get("properties", {}))
    return found


def said_to_model(body: dict[str, object]) -> str:
    """Return the text of every message of a model request, the system prompt left out."""
    texts: list[str] = []
    messages = body.get("messages")
    for message in messages if isinstance(messages, list) else []:
        content = message.get("content")
        if message.get("role") in ("system", "developer"):
            continue
        blocks = content if isinstance(content, list) else [{"text": content}]
        texts += [block.get("text") or "" for block in blocks]
    return "\n".join(texts)
