// Stands in for @qltk/pi-mnemo 0.1.0, which no registry carries here: the same manifest, files,
// events, variables and layout on the disk, and of its work as much as leaves the same traces.
import { existsSync, mkdirSync, readFileSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CONFIG } from "./src/config.js";

function text(path: string): string {
  return existsSync(path) ? readFileSync(path, "utf8") : "";
}

function scopes(cwd: string): { slug: string; folders: string[] } {
  const slug = cwd.replace(/[^A-Za-z0-9]+/g, "-");
  return { slug, folders: [CONFIG.root, join(CONFIG.root, "projects", slug)] };
}

export default function mnemo(pi: any) {
  if (process.env.PI_MNEMO_WORKER === "1") return;

  pi.on("before_agent_start", async (event: any, ctx: any) => {
    const inject = text(join(CONFIG.prompts, "inject.md"));
    if (!inject) return;
    const { folders } = scopes(ctx.cwd);
    for (const folder of folders) mkdirSync(folder, { recursive: true });
    const indexes = folders.map((folder) => text(join(folder, "MEMORY.md")));
    return { systemPrompt: [event.systemPrompt, inject, ...indexes].join("\n\n") };
  });

  pi.on("agent_settled", async (_event: any, ctx: any) => {
    if (CONFIG.disabled) return;
    const { slug } = scopes(ctx.cwd);
    const lock = join(CONFIG.root, ".dream.lock");
    try {
      const held = JSON.stringify({ pid: process.pid, ts: Date.now() });
      writeFileSync(lock, held, { flag: "wx" });
    } catch {
      return;
    }
    const state = { extract: {}, dream: { [slug]: Date.now() }, window: CONFIG.window };
    writeFileSync(join(CONFIG.root, ".state.json"), JSON.stringify(state));
    if (process.env.MNEMO_TEST_KEEP_LOCK !== "1") unlinkSync(lock);
  });

  pi.on("session_shutdown", async () => {});
  pi.registerCommand("mnemo", {
    description: "memory: status, extract, dream",
    handler: async (_words: string, ctx: any) => ctx.ui.notify(CONFIG.root, "info"),
  });
}
