// A bridge of 10 August: it connects and wakes the agent up, and that is all.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { Type } from "typebox";

class StdioMcpClient {
  private child = spawn("mempalace-mcp", [], { stdio: ["pipe", "pipe", "ignore"] });
  private waiting = new Map<number, (message: any) => void>();
  private last = 0;

  constructor() {
    createInterface({ input: this.child.stdout! }).on("line", (line) => {
      const message = JSON.parse(line);
      this.waiting.get(message.id)?.(message);
    });
  }

  async call(method: string, params: object = {}): Promise<any> {
    const id = ++this.last;
    this.child.stdin!.write(JSON.stringify({ jsonrpc: "2.0", id, method, params }) + "\n");
    const message: any = await new Promise((resolve) => this.waiting.set(id, resolve));
    return message.result;
  }

  stop(): void {
    this.child.kill();
  }
}

export default async function (pi: ExtensionAPI) {
  const client = new StdioMcpClient();
  for (const tool of (await client.call("tools/list")).tools) {
    pi.registerTool({
      name: tool.name,
      label: tool.name,
      description: tool.description,
      parameters: Type.Unsafe(tool.inputSchema),
      execute: async (_id: string, args: object) =>
        client.call("tools/call", { name: tool.name, arguments: args }),
    });
  }
  pi.on("session_shutdown", async () => client.stop());
}
