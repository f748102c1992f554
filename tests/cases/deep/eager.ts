// A bridge of the older kind: it connects and registers its tools while pi loads it.
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { Type } from "typebox";

const URL_ = process.env.MEMPALACE_REMOTE_URL ?? "";
const TOKEN = process.env.MEMPALACE_REMOTE_TOKEN ?? "";
let last = 0;

async function rpc(method: string, params: object): Promise<any> {
  const response = await fetch(URL_, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${TOKEN}` },
    body: JSON.stringify({ jsonrpc: "2.0", id: ++last, method, params }),
  });
  const message: any = await response.json();
  return message.result ?? { content: [{ type: "text", text: JSON.stringify({ error: message.error.message }) }] };
}

export default async function (pi: ExtensionAPI) {
  await rpc("initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "eager", version: "1" } });
  for (const tool of (await rpc("tools/list", {})).tools) {
    pi.registerTool({
      name: tool.name,
      label: tool.name,
      description: tool.description,
      parameters: Type.Unsafe(tool.inputSchema),
      execute: async (_id: string, args: object) => ({ ...(await rpc("tools/call", { name: tool.name, arguments: args })), details: {} }),
    });
  }
  pi.on("before_agent_start", async () => {
    const status = await rpc("tools/call", { name: "mempalace_status", arguments: {} });
    return { message: { customType: "wakeup", content: status.content[0].text, display: true } };
  });
}
