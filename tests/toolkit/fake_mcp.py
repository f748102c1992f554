"""Stand in for `mempalace-mcp`: each start follows the next word of a plan.

The plan is FAKE_MCP_PLAN, words between spaces; the last one repeats. FAKE_MCP_DIR gets one file
a start, with its process id and what it was sent.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path

NAMES = ("status", "diary_read", "mine", "event_wait", "event_list", "add_drawer")
TOOLS = [
    {"name": f"mempalace_{name}", "inputSchema": {"type": "object", "properties": {}}}
    for name in NAMES
]


def main() -> None:
    """Serve until stdin ends, or behave as badly as the plan says."""
    folder = Path(os.environ["FAKE_MCP_DIR"])
    number = len(list(folder.glob("start-*")))
    log = folder / f"start-{number}"
    log.write_text(f"{os.getpid()}\n")
    plan = os.environ.get("FAKE_MCP_PLAN", "serve").split()
    behaviour = plan[min(number, len(plan) - 1)]
    if behaviour == "exit":
        sys.exit(3)
    if behaviour == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    calls = 0
    for line in sys.stdin:
        with log.open("a") as out:
            out.write(line)
        message = json.loads(line)
        if message.get("method") == "tools/call":
            calls += 1
            misbehave(behaviour, calls, message["params"]["name"])
        if behaviour == "slow-init" and message.get("method") == "initialize":
            time.sleep(0.6)
        if "id" in message and "method" in message:
            answer(message)


def misbehave(behaviour: str, calls: int, tool: str) -> None:
    """Do what this start is meant to do wrong on a tool call."""
    if behaviour in ("hang", "stubborn") or (behaviour == "hang-mine" and tool.endswith("mine")):
        time.sleep(60)
    if behaviour == "slow":
        time.sleep(0.6)
    if behaviour == "die" or (behaviour == "once" and calls == 2):
        sys.exit(4)


def answer(message: dict[str, object]) -> None:
    """Answer one request, after a print and a question of the server's own."""
    results: dict[object, object] = {
        "initialize": {"protocolVersion": "2025-06-18"},
        "tools/list": {"tools": TOOLS},
        "tools/call": {"content": [{"type": "text", "text": '{"success": true}'}]},
    }
    sys.stdout.write("a stray print\n")
    sys.stdout.write('{"jsonrpc": "2.0", "id": 7, "method": "ping"}\n')
    reply = {"jsonrpc": "2.0", "id": message["id"], "result": results.get(message["method"])}
    sys.stdout.write(json.dumps(reply) + "\n")
    sys.stdout.flush()


main()
