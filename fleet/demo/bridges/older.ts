// The bridge as it was in August, before the mailbox.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { Type } from "typebox";

const AGENT = process.env.MEMPALACE_AGENT_NAME ?? "pi";
// since 2026-08-12 {
const FEED = process.env.MEMPALACE_FEED !== "0";
const WING = process.env.MEMPALACE_FEED_WING ?? "wing_conversations";
const WINDOW_MS = Number(process.env.MEMPALACE_FEED_DEBOUNCE_MS ?? 600_000);

function prepare(reason: string): Promise<string | undefined> {
  const helper = process.env.MEMPALACE_FEED_BIN ?? "mempalace-pi-session";
  return new Promise((resolve) => {
    const child = spawn(helper, ["--prepare", "--reason", reason, "--wing", WING]);
    let told = "";
    child.stdout.on("data", (chunk) => (told += chunk));
    child.on("error", () => resolve(undefined));
    child.on("close", () => resolve(/^MINE_SOURCE=(.+)$/m.exec(told)?.[1]));
  });
}
// }
// since 2026-08-25 {
const REMOTE_URL = process.env.MEMPALACE_REMOTE_URL;
const DEVICE = REMOTE_URL ? process.env.MEMPALACE_PI_DEVICE : undefined;
const WRITER: Record<string, string> = {
  mempalace_add_drawer: "added_by",
  mempalace_checkpoint: "added_by",
  mempalace_event_append: "from_agent",
  mempalace_artifact_put: "created_by",
};

function stamped(tool: string, args: any): any {
  if (!DEVICE) return args;
  if (tool === "mempalace_diary_write") return { ...args, entry: `HOST:${DEVICE}|${args.entry}` };
  const field = WRITER[tool];
  return field && !args[field] ? { ...args, [field]: `pi@${DEVICE}` } : args;
}

class RemoteMcpClient {
  private last = 0;

  async request(method: string, params: object = {}): Promise<any> {
    const headers: Record<string, string> = { "content-type": "application/json" };
    const token = process.env.MEMPALACE_REMOTE_TOKEN;
    if (token) headers.authorization = `Bearer ${token}`;
    const body = JSON.stringify({ jsonrpc: "2.0", id: ++this.last, method, params });
    const response = await fetch(REMOTE_URL!, { method: "POST", headers, body });
    if (!response.ok) throw new Error(`HTTP ${response.status}`);
    const reply: any = await response.json();
    if (reply.error) throw new Error(reply.error.message);
    return reply.result;
  }

  stop(): void {}
}
// }

class StdioMcpClient {
  private child = spawn("mempalace-mcp", [], { stdio: ["pipe", "pipe", "ignore"] });
  private waiting = new Map<number, (reply: any) => void>();
  private last = 0;
  private ended: string | undefined;

  constructor() {
    createInterface({ input: this.child.stdout! }).on("line", (line) => {
      const message = line.startsWith("{") ? JSON.parse(line) : {};
      if (!message.method) this.waiting.get(message.id)?.(message);
    });
    this.child.on("error", (error) => this.end(error.message));
    this.child.on("exit", () => this.end("mempalace-mcp ended"));
    this.child.stdin!.on("error", () => undefined);
  }

  async request(method: string, params: object = {}): Promise<any> {
    if (this.ended) throw new Error(this.ended);
    const id = ++this.last;
    const reply: any = await new Promise((resolve) => {
      this.waiting.set(id, resolve);
      this.child.stdin!.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    });
    if (reply.error) throw new Error(reply.error.message);
    return reply.result;
  }

  stop(): void {
    this.child.kill();
  }

  private end(message: string): void {
    this.ended = message;
    for (const settle of this.waiting.values()) settle({ error: { message } });
  }
}

interface Client {
  request(method: string, params?: object): Promise<any>;
  stop(): void;
}

function createClient(): Client {
  // since 2026-08-25 {
  if (REMOTE_URL) return new RemoteMcpClient();
  // }
  return new StdioMcpClient();
}

export default async function (pi: ExtensionAPI) {
  const client = createClient();
  const call = async (name: string, given: any): Promise<any> => {
    let args = given;
    // since 2026-08-25 {
    args = stamped(name, args);
    // }
    return client.request("tools/call", { name, arguments: args });
  };

  try {
    await client.request("initialize", {
      protocolVersion: "2025-06-18",
      capabilities: {},
      clientInfo: { name: "mempalace-pi-bridge", version: "0" },
    });
    for (const tool of (await client.request("tools/list")).tools) {
      let schema = tool.inputSchema;
      // since 2026-08-25 {
      const given = DEVICE && WRITER[tool.name];
      if (given) schema = { ...schema, required: schema.required?.filter((name: string) => name !== given) };
      // }
      pi.registerTool({
        name: tool.name,
        label: tool.name,
        description: tool.description,
        parameters: Type.Unsafe(schema),
        execute: async (_id: string, args: any) => ({ ...(await call(tool.name, args)), details: {} }),
      });
    }
  } catch (error) {
    console.error(`mempalace: continuing without palace tools: ${(error as Error).message}`);
    client.stop();
    return;
  }

  let woken = false;
  pi.on("session_start", (_event, ctx) => {
    woken = ctx.sessionManager.getEntries().some((entry) => entry.type === "message");
  });
  pi.on("before_agent_start", async () => {
    if (woken) return undefined;
    woken = true;
    const parts: string[] = [];
    for (const [name, args] of [["mempalace_status", {}], ["mempalace_diary_read", { agent_name: AGENT }]] as const) {
      const result = await call(name, args);
      parts.push(`## ${name}\n${result.content[0].text}`);
    }
    return { message: { customType: "mempalace-wakeup", content: parts.join("\n\n"), display: true } };
  });

  // since 2026-08-12 {
  let feeding: Promise<void> | undefined;
  let fedAt = Number.NEGATIVE_INFINITY;
  const feed = (reason: string): Promise<void> => {
    fedAt = performance.now();
    feeding ??= prepare(reason)
      .then((source) => source && call("mempalace_mine", { source, mode: "convos", wing: WING }))
      .catch((error) => console.error(`mempalace feed: ${error.message}`))
      .finally(() => (feeding = undefined));
    return feeding;
  };
  pi.on("agent_settled", () => {
    if (FEED && performance.now() - fedAt >= WINDOW_MS) void feed("agent_settled");
  });
  pi.on("session_shutdown", async () => {
    if (FEED) await feed("session_shutdown");
  });
  // }
  pi.on("session_shutdown", async () => client.stop());
}
