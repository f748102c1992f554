// A copy of pi's agent folder that pi finds the same things in, and may write to.
//
// What is copied: settings, key bindings, extensions. Packages are linked, because they are large
// and only read. What is not: sessions, credentials, models, trust, and every MCP server but the
// palace, which then leads to the scratch one.

import fs from "node:fs";
import path from "node:path";

const MAX_FILE = 4 * 1024 * 1024;
const MAX_TOTAL = 32 * 1024 * 1024;
const MAX_ENTRIES = 5000;
const LINKED = ["npm", "git", "skills", "prompts", "themes", "node_modules"];
// Settings that lead out of the copy, or that the check decides itself.
const DROPPED = ["httpProxy", "sessionDir", "defaultProvider", "defaultModel", "enabledModels", "trackingId", "deviceId"];
const MCP_KEPT = ["directTools", "exposure", "toolExposure", "lifecycle", "toolPrefix", "excludeTools", "includeTools", "enabled"];

export class AgentCopy {
  #bytes = 0;
  #entries = 0;

  /**
   * @param {string} from the target's own agent folder
   * @param {string} to where the copy goes; must not exist
   * @param {string} home the user's real home, for paths that begin with "~"
   */
  constructor(from, to, home) {
    this.from = from;
    this.to = to;
    this.home = home;
  }

  make({ model, palace, token }) {
    fs.mkdirSync(this.to, { recursive: true });
    this.#tree(path.join(this.from, "extensions"), path.join(this.to, "extensions"));
    for (const name of LINKED) this.#link(name);
    this.#file("keybindings.json");
    this.#settings();
    this.#mcp(palace, token);
    const provider = { baseUrl: model, apiKey: "scratch", api: "openai-completions", models: [{ id: "fake" }] };
    this.#write("models.json", { providers: { fake: provider } });
  }

  #write(name, value) {
    fs.writeFileSync(path.join(this.to, name), JSON.stringify(value, null, 2));
  }

  #link(name) {
    const from = path.join(this.from, name);
    if (fs.existsSync(from)) fs.symlinkSync(fs.realpathSync(from), path.join(this.to, name));
  }

  #file(name) {
    const text = readText(path.join(this.from, name));
    if (text !== undefined) fs.writeFileSync(path.join(this.to, name), text);
  }

  /** Copy a folder; a link stays a link, with its target made absolute, dangling ones too. */
  #tree(from, to) {
    let names;
    try {
      names = fs.readdirSync(from);
    } catch {
      return; // Absent or not ours to read: pi sees no extensions there either.
    }
    fs.mkdirSync(to);
    for (const name of names.sort()) this.#entry(path.join(from, name), path.join(to, name), name);
  }

  #entry(from, to, name) {
    const info = fs.lstatSync(from);
    this.#entries += 1;
    if (this.#entries > MAX_ENTRIES) throw new Error(`more than ${MAX_ENTRIES} files in its extensions`);
    if (info.isSymbolicLink()) {
      const base = fs.realpathSync(path.dirname(from));
      fs.symlinkSync(path.resolve(base, fs.readlinkSync(from)), to);
    } else if (info.isDirectory()) {
      if (name === "node_modules" || name === ".git") fs.symlinkSync(from, to);
      else this.#tree(from, to);
    } else if (info.isFile()) {
      this.#bytes += info.size;
      if (info.size > MAX_FILE || this.#bytes > MAX_TOTAL) fs.symlinkSync(from, to);
      else fs.copyFileSync(from, to);
    }
  }

  /** Settings as pi reads them, with relative paths that lead out of the folder made absolute. */
  #settings() {
    const text = readText(path.join(this.from, "settings.json"));
    const settings = parsed(text);
    if (settings === undefined) return this.#file("settings.json"); // pi ignores it, and says so.
    for (const name of DROPPED) delete settings[name];
    if (Array.isArray(settings.extensions)) {
      settings.extensions = settings.extensions.map((entry) => this.#extension(entry));
    }
    if (Array.isArray(settings.packages)) {
      settings.packages = settings.packages.map((entry) =>
        entry?.source === undefined ? this.#package(entry) : { ...entry, source: this.#package(entry.source) },
      );
    }
    this.#write("settings.json", settings);
  }

  #extension(entry) {
    if (typeof entry !== "string" || /^[!+-]|^builtin:/.test(entry)) return entry;
    return this.#absolute(entry);
  }

  #package(source) {
    return typeof source === "string" && /^(?:\.{1,2}(?:\/|$)|~\/|\/)/.test(source) ? this.#absolute(source) : source;
  }

  /** A path inside the folder stays relative, so that the copy's own file is loaded. */
  #absolute(entry) {
    if (entry.startsWith("~/")) return path.join(this.home, entry.slice(2));
    const absolute = path.resolve(fs.realpathSync(this.from), entry);
    const inside = path.relative(this.from, absolute);
    return inside.startsWith("..") || path.isAbsolute(entry) ? absolute : entry;
  }

  #mcp(palace, token) {
    const config = parsed(readText(path.join(this.from, "mcp.json")));
    const servers = Object.entries(config?.mcpServers ?? {}).filter(
      ([name, server]) => /mempalace/i.test(name) || /mempalace/i.test(`${server?.url} ${server?.command}`),
    );
    if (servers.length === 0) return;
    const scratch = servers.map(([name, server]) => {
      const kept = Object.fromEntries(MCP_KEPT.filter((key) => key in server).map((key) => [key, server[key]]));
      return [name, { ...kept, url: palace, headers: { Authorization: `Bearer ${token}` } }];
    });
    this.#write("mcp.json", { mcpServers: Object.fromEntries(scratch) });
  }
}

function readText(file) {
  try {
    return fs.statSync(file).size > MAX_FILE ? undefined : fs.readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}

function parsed(text) {
  try {
    const value = JSON.parse(text ?? "");
    return value !== null && typeof value === "object" && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
