"""Run the real pi headless, in a home of its own, against a fake model."""

from __future__ import annotations

import json
import os
import subprocess
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
    ) -> Ended:
        """Run pi once in print mode."""
        provider = {
            "baseUrl": f"{model.url}/v1",
            "apiKey": "tok-EXAMPLE-model",
            "api": "openai-completions",
            "models": [{"id": "fake"}],
        }
        work = self.home / "work"
        work.mkdir(parents=True, exist_ok=True)
        self.agent.mkdir(parents=True, exist_ok=True)
        (self.agent / "models.json").write_text(json.dumps({"providers": {"fake": provider}}))
        ended = subprocess.run(
            [self.tool.pi_cli, "--offline", *options, "--model", "fake/fake", "-p", prompt],
            cwd=work,
            env=self.environment(env),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=RUN_SECONDS,
            check=False,
        )
        return Ended(ended.returncode, ended.stdout, ended.stderr)


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
