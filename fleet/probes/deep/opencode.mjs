// What opencode itself makes of its files, asked of copies: it writes into the folders that it
// reads, and installs packages there.

import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { NotTried, hide, objectOf, readText } from "./entries.mjs";
import { which } from "./surroundings.mjs";

const NAMES = ["config.json", "opencode.json", "opencode.jsonc"];
const QUIET = {
  ...{ OPENCODE_PURE: "1", OPENCODE_DISABLE_AUTOUPDATE: "1", OPENCODE_DISABLE_MODELS_FETCH: "1" },
  ...{ OPENCODE_DISABLE_DEFAULT_PLUGINS: "1", OPENCODE_DISABLE_LSP_DOWNLOAD: "1", npm_config_offline: "true" },
};
const SHOWN = 5;

export async function opencodeEntry(trial, { folder, own, mark, children, seconds, hidden }) {
  const program = which("opencode", own.PATH ?? "");
  if (program === undefined) throw new NotTried("there is no opencode on the PATH");
  const root = path.join(folder, "trials", String(trial.number));
  const env = { ...own, ...QUIET, ...copied(trial, root, own), ...Object.fromEntries([mark.split("=")]) };
  const cwd = path.join(root, "project");
  const ended = await children.run(program, ["debug", "config"], { env, cwd, seconds });
  if (ended.error) throw new NotTried(`opencode cannot be started: ${ended.error}`);
  if (ended.late) throw new NotTried(`opencode took longer than ${Math.round(seconds)} s; it needs a longer --timeout`);
  const config = objectOf(ended.out);
  if (ended.status !== 0 || config === undefined) {
    const said = `${ended.out}\n${ended.err}`.split("\n").filter((line) => line.trim() !== "");
    return { state: "failed", why: "opencode refuses its configuration", status: ended.status, said: said.slice(0, SHOWN).map((line) => line.replaceAll(root, "<copy>")) };
  }
  const entry = config.mcp?.[trial.form];
  for (const value of Object.values({ ...entry?.headers, ...entry?.environment })) hide(String(value), hidden);
  return { state: "answered", resolved: shape(entry) };
}

/** Copies of every file that it reads, and the environment that leads it to them. */
function copied(trial, root, own) {
  const home = path.join(root, "home");
  const project = path.join(root, "project");
  const config = own.XDG_CONFIG_HOME || path.join(own.HOME || os.homedir(), ".config");
  const folders = [
    [path.join(config, "opencode"), path.join(home, ".config/opencode")],
    [path.join(own.HOME || os.homedir(), ".opencode"), path.join(home, ".opencode")],
  ];
  fs.mkdirSync(project, { recursive: true });
  if (trial.project) folders.push([trial.project, project], [path.join(trial.project, ".opencode"), path.join(project, ".opencode")]);
  const env = { HOME: home, XDG_CONFIG_HOME: path.join(home, ".config") };
  for (const name of ["DATA", "STATE", "CACHE"]) env[`XDG_${name}_HOME`] = path.join(root, name.toLowerCase());
  if (own.OPENCODE_CONFIG_DIR) {
    env.OPENCODE_CONFIG_DIR = path.join(root, "named-folder");
    folders.push([own.OPENCODE_CONFIG_DIR, env.OPENCODE_CONFIG_DIR]);
  }
  for (const [from, to] of folders) for (const name of NAMES) copy(path.join(from, name), path.join(to, name), own);
  if (own.OPENCODE_CONFIG) {
    env.OPENCODE_CONFIG = path.join(root, "named", path.basename(own.OPENCODE_CONFIG));
    copy(path.resolve(own.OPENCODE_CONFIG), env.OPENCODE_CONFIG, own);
  }
  return env;
}

/** A copy that still finds the files that it names. */
function copy(from, to, own) {
  const text = readText(from);
  if (text === undefined) return;
  const led = text.replace(/\{file:([^{}]+)\}/g, (_, file) => {
    const absolute = file.startsWith("~/") ? path.join(own.HOME || os.homedir(), file.slice(2)) : path.resolve(path.dirname(from), file);
    return `{file:${absolute}}`;
  });
  fs.mkdirSync(path.dirname(to), { recursive: true });
  fs.writeFileSync(to, led);
}

/** What of an entry may be told: no value that could hold a credential. */
function shape(entry) {
  if (entry === null || typeof entry !== "object") return {};
  const told = {};
  for (const name of ["type", "url", "enabled", "oauth"]) {
    const value = entry[name];
    if (["string", "boolean"].includes(typeof value) && !/[@?=]/.test(String(value))) told[name] = String(value);
  }
  if (Array.isArray(entry.command) && typeof entry.command[0] === "string") told.command = entry.command[0];
  return told;
}
