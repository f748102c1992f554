// Load the extensions with pi's own loader, and tell what each registers: load.mjs PI_PACKAGE OUT

import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [, , root, out] = process.argv;
const told = { extensions: [], errors: [] };

function described(extension) {
  const target = fs.existsSync(extension.resolvedPath) ? fs.realpathSync(extension.resolvedPath) : "";
  return {
    path: String(extension.path),
    target,
    events: [...extension.handlers.keys()].map(String),
    tools: [...extension.tools.keys()].map(String),
    commands: [...extension.commands.keys()].map(String),
  };
}

try {
  const pi = await import(pathToFileURL(path.join(root, "dist/index.js")));
  const cwd = process.cwd();
  const agentDir = pi.getAgentDir();
  const settingsManager = pi.SettingsManager.create(cwd, agentDir, { projectTrusted: false });
  const loader = new pi.DefaultResourceLoader({ cwd, agentDir, settingsManager });
  await loader.reload();
  const loaded = loader.getExtensions();
  told.extensions = loaded.extensions.map(described);
  told.errors = loaded.errors.map((e) => ({ path: String(e.path ?? ""), error: String(e.error) }));
} catch (error) {
  told.errors.push({ path: "", error: String(error?.message ?? error) });
}
fs.writeFileSync(out, JSON.stringify(told));
process.exit(0); // What the extensions started may keep it alive.
