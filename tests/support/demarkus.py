"""A package of the shape that demarkus documents: a manifest, a skill, and a gate of publishing.

The code is the tests' own. Its gate hands every tool call to ``~/.demarkus/bin/demarkus-plugin
gate`` and lets it pass where that is missing, as the documented one does.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

MEMORY, KNOWLEDGE = "demarkus-pi-memory", "demarkus-pi-knowledge"
SKILLS = {MEMORY: "memory", KNOWLEDGE: "knowledge-promote"}

#: A gate that sees a call through the proxy tool of the adapter.
UNWRAPS = """\
import { decide } from "./plugin.js";

interface Call { toolName: string; input: Record<string, unknown> }

function normalizeToolCall(call: Call): Call {
  if (call.toolName !== "mcp" || typeof call.input.tool !== "string") return call;
  const { tool, args } = call.input;
  try {
    const input = typeof args === "string" ? JSON.parse(args) : (args ?? {});
    return { toolName: tool, input };
  } catch {
    return { toolName: tool, input: {} };
  }
}

export default function demarkus(pi: any): void {
  pi.on("tool_call", async (event: Call) => {
    const call = normalizeToolCall(event);
    const reason = await decide(call.toolName, call.input);
    return reason ? { block: true, reason } : undefined;
  });
}
"""

#: The same gate as it was before: it looks at the event as it comes.
BLIND = """\
import { decide } from "./plugin.js";

// normalizeToolCall would be needed where toolName === "mcp" wraps input.tool and input.args.
export default function demarkus(pi: any): void {
  pi.on("tool_call", async (event: { toolName: string; input: Record<string, unknown> }) => {
    const reason = await decide(event.toolName, event.input);
    return reason ? { block: true, reason } : undefined;
  });
}
"""

#: The decision is made in the package itself, as it was before there was a program for it.
OWN_DECISION = """\
export async function decide(tool: string, input: any): Promise<string> {
  const publishes = /mark_publish$/.test(tool);
  return publishes && !input?.metadata?.tags ? "it has no tags" : "";
}
"""

#: The decision is that of the program that all harnesses share; without it everything passes.
SHARED_DECISION = """\
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

const PROGRAM = join(homedir(), ".demarkus", "bin", "demarkus-plugin");

export function decide(tool: string, input: unknown): Promise<string> {
  return new Promise((resolve) => {
    if (!existsSync(PROGRAM)) return resolve("");
    const child = execFile(PROGRAM, ["gate"], (error, told) => {
      try {
        const answer = error ? {} : JSON.parse(told);
        resolve(answer.decision === "block" ? (answer.reason ?? "blocked") : "");
      } catch {
        resolve("");
      }
    });
    child.stdin?.end(JSON.stringify({ tool, input }));
  });
}
"""

#: What stands for the program: `gate` holds back a publishing without tags, and `mcp-serve` is an
#: MCP server that notes in `~/.demarkus/published` what was published.
PROGRAM = """\
#!/usr/bin/env node
const { appendFileSync } = require("node:fs");
const { createInterface } = require("node:readline");

const publish = {
  name: "mark_publish",
  description: "Publish a document.",
  inputSchema: {
    type: "object",
    properties: { url: { type: "string" }, metadata: { type: "object" } },
    required: ["url"],
  },
};

function result({ method, params }) {
  if (method === "initialize") {
    const { protocolVersion } = params;
    const serverInfo = { name: "demarkus", version: "0" };
    return { protocolVersion, capabilities: { tools: {} }, serverInfo };
  }
  if (method === "tools/list") return { tools: [publish] };
  if (method !== "tools/call") return {};
  const line = JSON.stringify(params.arguments);
  appendFileSync(`${process.env.HOME}/.demarkus/published`, `${line}\\n`);
  return { content: [{ type: "text", text: "published" }] };
}

const lines = createInterface({ input: process.stdin });
lines.on("line", (line) => {
  const message = JSON.parse(line);
  if (process.argv[2] === "gate") {
    const bad = /mark_publish$/.test(message.tool) && !message.input?.metadata?.tags;
    const decision = bad ? "block" : "allow";
    console.log(JSON.stringify({ decision, reason: bad ? "it has no tags" : undefined }));
  } else if (message.id !== undefined) {
    console.log(JSON.stringify({ jsonrpc: "2.0", id: message.id, result: result(message) }));
  }
});
"""


def manifest(
    name: str = MEMORY,
    *,
    extensions: Sequence[object] = ("./src/index.ts",),
    skills: Sequence[object] | None = None,
) -> dict[str, object]:
    """Return a ``package.json`` of the documented shape."""
    skills = [f"./skills/{SKILLS[name]}/SKILL.md"] if skills is None else skills
    gives = {"extensions": list(extensions), "skills": list(skills)}
    return {"name": name, "version": "0.13.83", "type": "module", "pi": gives}


def sources(index: str = UNWRAPS, plugin: str = OWN_DECISION) -> dict[str, str]:
    """Return the source files of a package, by their names in ``src``."""
    return {"index.ts": index, "plugin.ts": plugin}


def write_package(folder: Path, name: str = MEMORY, files: Mapping[str, str] | None = None) -> Path:
    """Write a whole package to a folder, and return it."""
    skill = folder / "skills" / SKILLS[name] / "SKILL.md"
    skill.parent.mkdir(parents=True)
    about = f"---\nname: {SKILLS[name]}\ndescription: What is kept, and where.\n---\nKeep it.\n"
    skill.write_text(about)
    (folder / "src").mkdir()
    for file, text in (files or sources()).items():
        (folder / "src" / file).write_text(text)
    (folder / "package.json").write_text(json.dumps(manifest(name)))
    return folder


def write_program(home: Path, text: str = PROGRAM) -> Path:
    """Place what stands for the program that decides."""
    path = home / ".demarkus" / "bin" / "demarkus-plugin"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def write_state(home: Path) -> None:
    """Set up the memory as the program does when a session begins for the first time."""
    state = home / ".demarkus"
    (state / "plugin-memory.conf").write_text(f"SOUL_DIR={state}/soul\nPORT=6310\nMODE=default\n")
    token = state / "plugin-memory.token"
    token.touch(0o600)
    token.write_text("tok-EXAMPLE-demarkus\n")
